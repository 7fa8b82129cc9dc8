"""Public knowledge about a place: boundary, land, layers and projection; handed public shapes, never a record."""

from pointveil.files.vector_layer import LINES as LINES
from pointveil.files.vector_layer import POLYGONS as POLYGONS
from pointveil.world.layers import Layer as Layer
from pointveil.world.layers import read_layer as read_layer
from pointveil.world.prior import Prior as Prior
from pointveil.world.projection import Projection as Projection
from pointveil.world.world import World as World
