"""How much land is near roads, where people mostly are."""

from weakref import WeakKeyDictionary

import numpy as np

from pointveil.ground.rasterizing import road_lines
from pointveil.ground.road_distance import NEAR, cell_distances
from pointveil.world.world import World

AREA_CELL = 25.0
MOST_CELLS = 4e7

_AREAS: WeakKeyDictionary[World, float] = WeakKeyDictionary()


def peopled_area(world: World) -> float:
    """Return the area of land near roads in square metres, or of all land where there are no roads."""
    if world not in _AREAS:
        _AREAS[world] = _peopled_area(world)
    return _AREAS[world]


def _peopled_area(world: World) -> float:
    lines = road_lines(world)
    width, height = world.size
    side = max(AREA_CELL, float(np.sqrt(width * height / MOST_CELLS)))
    shape = int(np.ceil(width / side)), int(np.ceil(height / side))
    near = cell_distances(lines, side, shape) <= NEAR
    if not near.any():
        return float(world.land_area)
    column, row = np.nonzero(near)
    middle = np.asarray((np.column_stack([column, row]) + 0.5) * side, dtype=np.float64)
    return max(float(world.on_land(middle).sum()), 1.0) * side * side
