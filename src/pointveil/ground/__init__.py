"""Geometry of public places: builds rasters, triangles and sites; handed public shapes, never a record."""

from pointveil.ground.clipping import LandOf as LandOf
from pointveil.ground.clipping import clip_to_land as clip_to_land
from pointveil.ground.fans import Fans as Fans
from pointveil.ground.fans import cut_into_fans as cut_into_fans
from pointveil.ground.packing import pack as pack
from pointveil.ground.picking import SitePlaces as SitePlaces
from pointveil.ground.picking import pick_in_entries as pick_in_entries
from pointveil.ground.quadtree import leaves_from_levels as leaves_from_levels
from pointveil.ground.quadtree import pooled as pooled
from pointveil.ground.quadtree import split_levels as split_levels
from pointveil.ground.rasters import peopled_area as peopled_area
from pointveil.ground.rasters import raster_of as raster_of
from pointveil.ground.rounding import Rounding as Rounding
from pointveil.ground.rounding import precision as precision
from pointveil.ground.rounding import roundings as roundings
from pointveil.ground.triangles import Triangulation as Triangulation
