"""How: place points within a region; handed noisy answers, never a record, and for drawing not even the vault."""

from pointveil.placement.along_roads import AlongRoads as AlongRoads
from pointveil.placement.base import PLACEMENTS as PLACEMENTS
from pointveil.placement.base import Placement as Placement
from pointveil.placement.base import placement as placement
from pointveil.placement.base import shuffled_regions as shuffled_regions
from pointveil.placement.density import Density as Density
from pointveil.placement.kernel_density import KernelDensity as KernelDensity
from pointveil.placement.uniform import Uniform as Uniform
from pointveil.placement.weighted_uniform import WeightedUniform as WeightedUniform
