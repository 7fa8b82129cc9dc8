"""Roundings that records of a file may share: in the file's own CRS, and in degrees."""

from typing import NamedTuple

import numpy as np
from pyproj import Transformer

from pointveil.cells import COARSER, SLACK, Floats, Precision, Ruler
from pointveil.files.crs import DEGREES, is_geographic, same_crs, transform
from pointveil.files.lattice import steps_per_unit
from pointveil.world.world import World

MOST_SITES = 2e7
EDGE = 32  # places along each edge of the bounds, which may be bent in another CRS


class Rounding(NamedTuple):
    """A CRS, and how many steps of its lattice coordinates are multiples of."""

    crs: str
    steps: int


def roundings(crs: str) -> tuple[Rounding, ...]:
    """Return what can be told of a file in this CRS, as the cells of `precision` have it."""
    # A file in metres or feet may have been made of degrees. That is one cell, as every cell adds noise to the total.
    made = () if is_geographic(crs) else (Rounding(DEGREES, COARSER[-1]),)
    return (*(Rounding(crs, steps) for steps in COARSER), *made)


def precision(world: World, crs: str) -> Precision:
    """Return the question how records of a file in this CRS are rounded."""
    by_crs: dict[str, list[int]] = {}
    for rounding in roundings(crs):
        by_crs.setdefault(rounding.crs, []).append(rounding.steps)
    return Precision(world.projection.plane, tuple(_ruler(world, own, crs, steps) for own, steps in by_crs.items()))


def _ruler(world: World, own: str, crs: str, steps: list[int]) -> Ruler:
    here = world.projection.crs
    transformer = None if same_crs(here, own) else Transformer.from_crs(here, own, always_xy=True)
    untouched = transformer is None and same_crs(own, crs)  # records are on the lattice as they were written
    return Ruler(tuple(steps), steps_per_unit(own), transformer, 0.0 if untouched else SLACK)


def rounded_places(world: World, rounding: Rounding) -> Floats:
    """Return all places on land whose coordinates are so rounded, (places, 2) metres; none if they are too many."""
    projection = world.projection
    there, back = transform(projection.crs, rounding.crs), transform(rounding.crs, projection.crs)
    steps = steps_per_unit(rounding.crs) / rounding.steps
    edges = there(projection.plane.to_units(_around(*world.size)))
    x, y = (_multiples(axis.min(), axis.max(), steps) for axis in edges.T)
    if not len(x) * len(y) <= MOST_SITES:
        return np.zeros((0, 2))
    across, along = np.meshgrid(x, y, indexing="ij")
    places = projection.to_metres(back(np.column_stack([across.ravel(), along.ravel()])))
    return places[world.on_land(places)]


def _around(width: float, height: float) -> Floats:
    """Return places along the edges of a box from (0, 0), in metres."""
    x, y = (np.linspace(0, size, EDGE) for size in (width, height))
    low, wide, high = np.zeros(EDGE), np.full(EDGE, width), np.full(EDGE, height)
    return np.concatenate([np.column_stack(pair) for pair in ((x, low), (x, high), (low, y), (wide, y))])


def _multiples(low: float, high: float, steps: float) -> Floats:
    """Return the rounded coordinates from `low` to `high`; none if these are no numbers."""
    if not np.isfinite([low, high]).all():
        return np.zeros(0)
    first, last = np.ceil(low * steps - 1e-9), np.floor(high * steps + 1e-9)
    return np.asarray(np.arange(first, last + 1) / steps)
