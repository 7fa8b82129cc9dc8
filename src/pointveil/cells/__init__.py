"""Every question there is: handed real records, of which each class looks at one at a time."""

from pointveil.cells.arrays import NOWHERE as NOWHERE
from pointveil.cells.arrays import Bools as Bools
from pointveil.cells.arrays import Bounds as Bounds
from pointveil.cells.arrays import Floats as Floats
from pointveil.cells.arrays import Ints as Ints
from pointveil.cells.arrays import blocks as blocks
from pointveil.cells.arrays import numbered as numbered
from pointveil.cells.everywhere import Everywhere as Everywhere
from pointveil.cells.grid import Grid as Grid
from pointveil.cells.leaves import Leaves as Leaves
from pointveil.cells.nested_grid import NestedGrid as NestedGrid
from pointveil.cells.raster import Distances as Distances
from pointveil.cells.raster import Raster as Raster
from pointveil.cells.regions import Regions as Regions
from pointveil.cells.rounding import COARSER as COARSER
from pointveil.cells.rounding import Precision as Precision
from pointveil.cells.sites import RegionSites as RegionSites
from pointveil.cells.street_cells import RoadBins as RoadBins
from pointveil.cells.street_cells import RoadCells as RoadCells
from pointveil.cells.street_offsets import ON_THE_ROAD as ON_THE_ROAD
from pointveil.cells.street_offsets import EdgeOffsets as EdgeOffsets
from pointveil.cells.street_offsets import KindOffsets as KindOffsets
from pointveil.cells.streets import Nearest as Nearest
from pointveil.cells.streets import Streets as Streets
from pointveil.cells.voronoi import Voronoi as Voronoi
from pointveil.cells.voronoi import nearest_of as nearest_of
