"""Public knowledge: places, shapes and projections, and no private data."""

from pointveil.geography.clipping import LandOf, Regions, clip_to_land
from pointveil.geography.fans import Fans, cut_into_fans
from pointveil.geography.grid import Grid
from pointveil.geography.layers import LINES, POLYGONS, Layer, read_layer
from pointveil.geography.nested_grid import NestedGrid
from pointveil.geography.network import Nearest, Network
from pointveil.geography.packing import pack
from pointveil.geography.peopled import peopled_area
from pointveil.geography.precision import COARSER, Precision
from pointveil.geography.projection import Projection
from pointveil.geography.quadtree import Leaves, leaves_from_levels, pooled, split_levels
from pointveil.geography.raster import Distances, Raster
from pointveil.geography.rasters import raster_of
from pointveil.geography.roads import Roads
from pointveil.geography.sites import RegionSites
from pointveil.geography.triangles import Triangulation
from pointveil.geography.voronoi import Voronoi, nearest_of
from pointveil.geography.world import World

__all__ = [
    "COARSER",
    "LINES",
    "POLYGONS",
    "Distances",
    "Fans",
    "Grid",
    "LandOf",
    "Layer",
    "Leaves",
    "Nearest",
    "NestedGrid",
    "Network",
    "Precision",
    "Projection",
    "Raster",
    "RegionSites",
    "Regions",
    "Roads",
    "Triangulation",
    "Voronoi",
    "World",
    "clip_to_land",
    "cut_into_fans",
    "leaves_from_levels",
    "nearest_of",
    "pack",
    "peopled_area",
    "pooled",
    "raster_of",
    "read_layer",
    "split_levels",
]
