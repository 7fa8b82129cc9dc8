"""How far from a road the points are (MEDD)."""

from weakref import WeakKeyDictionary

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Streets
from pointveil.evaluation.base import XY, Place, UnmeasuredError, need_points
from pointveil.network import streets_of
from pointveil.world import Roads

_SEARCHES: WeakKeyDictionary[Roads, Streets] = WeakKeyDictionary()


def road_distances(world: Place, xy: XY) -> NDArray[np.float64]:
    """Return the distance of each point to its nearest road, as the roads were given, in metres.

    Parameters
    ----------
    world
        Where the roads are.
    xy
        The points, in metres.
    """
    if world.roads not in _SEARCHES:
        lines = shapely.get_parts(np.atleast_1d(world.roads.lines_m))
        _SEARCHES[world.roads] = streets_of(lines, world.bounds)
    known = np.isfinite(xy).all(axis=1)
    nearest = np.full(len(xy), np.nan)
    nearest[known] = _SEARCHES[world.roads].distances(xy[known])
    return nearest


def need_roads(name: str, world: Place) -> None:
    """Refuse to measure in a world without roads."""
    if world.roads is None or not len(np.atleast_1d(world.roads.lines_m)):
        raise UnmeasuredError(f"{name} needs roads in the world")


def mean_edge_distance_difference(real: XY, synthetic: XY, world: Place) -> float:
    """Return the paper's MEDD: how much the mean distance to the nearest road differs, in metres.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are; needs roads.
    """
    need_roads("MEDD", world)
    need_points("MEDD", real, "real")
    need_points("MEDD", synthetic, "synthetic")
    return float(abs(road_distances(world, real).mean() - road_distances(world, synthetic).mean()))


def off_road_difference(real: XY, synthetic: XY, world: Place, *, farther_than: float = 25.0) -> float:
    """Return how much the share of points off the road differs, synthetic less real.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are; needs roads.
    farther_than
        A point farther than this from every road is off the road, in metres.
    """
    need_roads("the share off the road", world)
    need_points("the share off the road", real, "real")
    need_points("the share off the road", synthetic, "synthetic")
    shares = [float((road_distances(world, xy) > farther_than).mean()) for xy in (real, synthetic)]
    return shares[1] - shares[0]
