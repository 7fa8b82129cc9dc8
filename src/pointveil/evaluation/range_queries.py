"""How wrong "how many people within r metres of here?" is."""

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.evaluation.base import XY, Place, UnmeasuredError


def road_nodes(world: Place) -> XY:
    """Return the ends of the roads that lie on land, each once, in order of x and then y.

    Ends within the same centimetre are one node.
    """
    if world.roads is None:
        return np.zeros((0, 2))
    lines = shapely.get_parts(np.atleast_1d(world.roads.lines_m))
    lines = lines[shapely.get_num_points(lines) > 1]
    ends = np.concatenate([shapely.get_coordinates(shapely.get_point(lines, end)) for end in (0, -1)])
    nodes = np.unique(np.round(ends, 2), axis=0)
    return np.asarray(nodes[world.on_land(nodes)], dtype=np.float64)


def land_points(world: Place, count: int, rng: np.random.Generator) -> XY:
    """Return up to `count` even random points on land; fewer only where there is next to no land."""
    west, south, east, north = world.bounds
    found = np.zeros((0, 2))
    for _ in range(100):
        drawn = rng.uniform((west, south), (east, north), size=(10 * count, 2))
        found = np.concatenate([found, drawn[world.on_land(drawn)]])
        if len(found) >= count:
            break
    return found[:count]


def choose_centres(world: Place, *, count: int = 100, seed: int = 0) -> XY:
    """Return `count` places to ask about: random road nodes, or random places on land if there are no roads.

    They are chosen from public knowledge and the seed only, never from the points.

    Parameters
    ----------
    world
        Where to ask.
    count
        How many places; all nodes if there are fewer.
    seed
        Chooses them.
    """
    rng = np.random.default_rng(seed)
    nodes = road_nodes(world)
    if not len(nodes):
        return land_points(world, count, rng)
    return nodes[rng.choice(len(nodes), size=min(count, len(nodes)), replace=False)]


def counts_within(xy: XY, centres: XY, radius: float) -> NDArray[np.int64]:
    """Count the points at most `radius` metres from each centre."""
    if not len(xy):
        return np.zeros(len(centres), dtype=np.int64)
    return np.asarray(cKDTree(xy).query_ball_point(centres, radius, return_length=True), dtype=np.int64)


def range_query_error(
    real: XY, synthetic: XY, world: Place, *, radius: float = 500.0, centres: XY | None = None, seed: int = 0
) -> float:
    """Return the paper's MAE: the mean over centres of |real − synthetic| points within the radius.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    radius
        In metres; a point at exactly this distance counts.
    centres
        Where to ask, in metres; 100 road nodes if not given.
    seed
        Chooses the centres if they are not given.
    """
    places = choose_centres(world, seed=seed) if centres is None else np.asarray(centres, dtype=np.float64)
    if not len(places):
        raise UnmeasuredError("range queries need centres: there are none, and no road node or land to take")
    difference = counts_within(real, places, radius) - counts_within(synthetic, places, radius)
    return float(np.abs(difference).mean())
