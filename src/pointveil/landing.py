"""Put drawn points onto the public lattice of a file's coordinate system, all on land."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import blocks
from pointveil.files.crs import transform
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.world import World

# (48, 2) the lattice steps around a point, the nearest first, in a fixed order.
NEARBY = np.array(sorted(product(range(-3, 4), repeat=2), key=lambda step: max(map(abs, step)))[1:], dtype=np.float64)


def to_lattice(xy: NDArray[np.float64], world: World, crs: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Turn points into coordinates on the public lattice of `crs`, all on land, in place.

    Snapping may push a point at the water's edge over it, by less than a step; then a step next to it is taken. A point
    that finds no land within reach of its place is put onto the place of another.
    """
    metres = world.projection
    there, back = transform(metres.crs, crs), transform(crs, metres.crs)

    def dry(coordinates: NDArray[np.float64]) -> NDArray[np.bool_]:
        return world.on_land(metres.to_metres(back(coordinates)))

    coordinates, on_land = xy, np.empty(len(xy), dtype=bool)  # in place: there may be many
    for block in blocks(len(xy)):
        placed = snap(there(metres.from_metres(xy[block])), crs)
        coordinates[block], on_land[block] = placed, dry(placed)
    wet = np.flatnonzero(~on_land)
    for step in NEARBY / steps_per_unit(crs):
        if not len(wet):
            return coordinates
        moved = snap(coordinates[wet] + step, crs)
        found = dry(moved)
        coordinates[wet[found]] = moved[found]
        wet = wet[~found]
    others = np.setdiff1d(np.arange(len(coordinates)), wet)
    if not len(others):
        return coordinates[others]
    coordinates[wet] = coordinates[rng.choice(others, len(wet))]
    return coordinates
