"""Every question there is; each class is handed real records, and looks at one at a time."""

from pointveil.cells.grid import Grid as Grid
from pointveil.cells.nested_grid import NestedGrid as NestedGrid
from pointveil.cells.rounding import COARSER as COARSER
from pointveil.cells.rounding import Precision as Precision
from pointveil.cells.sites import RegionSites as RegionSites
from pointveil.cells.voronoi import Voronoi as Voronoi
from pointveil.cells.voronoi import nearest_of as nearest_of
