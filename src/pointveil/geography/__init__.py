"""Public knowledge: places, shapes and projections, and no private data."""

from pointveil.geography.grid import Grid
from pointveil.geography.layers import LINES, POLYGONS, Layer, read_layer
from pointveil.geography.projection import Projection
from pointveil.geography.roads import Roads
from pointveil.geography.world import World

__all__ = ["LINES", "POLYGONS", "Grid", "Layer", "Projection", "Roads", "World", "read_layer"]
