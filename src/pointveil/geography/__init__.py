"""Public knowledge: places, shapes and projections, and no private data."""

from pointveil.geography.clipping import LandOf, Regions, clip_to_land
from pointveil.geography.grid import Grid
from pointveil.geography.layers import LINES, POLYGONS, Layer, read_layer
from pointveil.geography.projection import Projection
from pointveil.geography.roads import Roads
from pointveil.geography.triangles import Triangulation
from pointveil.geography.world import World

__all__ = [
    "LINES",
    "POLYGONS",
    "Grid",
    "LandOf",
    "Layer",
    "Projection",
    "Regions",
    "Roads",
    "Triangulation",
    "World",
    "clip_to_land",
    "read_layer",
]
