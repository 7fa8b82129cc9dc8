"""How: place points within a region."""

from pointveil.placement.base import Placement as Placement
from pointveil.placement.uniform import Uniform as Uniform
