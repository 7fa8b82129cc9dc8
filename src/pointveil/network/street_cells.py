"""Make the cells along the roads of a world: which are open, and where people can be."""

import math
from functools import lru_cache

import numpy as np

from pointveil.cells import Bools, Floats, Grid, Ints, RoadBins, RoadCells, Streets, blocks, numbered
from pointveil.cells.arrays import rows
from pointveil.network.lines import places_along
from pointveil.network.network import Network
from pointveil.world.world import World

MOST_FAR_CELLS = 1 << 18
PROBES = (4, 16)  # places along a side of a cell where it is tried, first few, then many
PROBED = 1 << 20  # places tried at a time
LEAST_DRY = 1.0  # metres of a bridge that must be on land, if people are to be there
LEAST_OF_ALL = 0.1  # of the length of all roads: a class with less has no bins of its own


@lru_cache(maxsize=8)
def road_cells(world: World, reach: float, far_side: float) -> RoadCells:
    """Return the cells along the roads of a world; public, and the same always.

    `reach` and `far_side` are metres; far cells are larger where there would be too many.
    """
    network = Network.of(world)
    side = max(far_side, math.sqrt(math.prod(world.size) / MOST_FAR_CELLS))
    far = Grid(world.bounds, *(max(1, math.ceil(metres / side)) for metres in world.size))
    open_far = _open_cells(far, network.streets, world, reach)
    return RoadCells(network.streets, _kinds(network), reach, far, open_far, _dry_edges(network, world))


def open_parts(bins: RoadBins, world: World) -> Bools:
    """Return which parts can have people: of dry edges, and those far parts that have land out of reach."""
    # All far parts of an open cell are open, if none of them seems to be.
    cells, owner = bins.cells, bins.far.owner
    maybe = cells.open_far[owner]
    tried = np.flatnonzero(maybe & (bins.far.sides[owner] > 1))
    is_open = maybe.copy()
    boxes = bins.far.rectangles(tried)
    middle, within = (boxes[:, :2] + boxes[:, 2:]) / 2, np.hypot(*(boxes[:, 2:] - boxes[:, :2]).T) / 2
    distance = cells.streets.distances(middle)
    is_open[tried] = world.on_land(middle) & (distance > cells.reach)
    # Of a part whose middle does not fit, other places may, unless all of it is within reach.
    doubtful = np.flatnonzero(~is_open[tried] & (distance > cells.reach - within))
    is_open[tried[doubtful]] = _have_places(boxes[doubtful], PROBES[0], cells.streets, world, cells.reach)
    lost = np.bincount(owner, weights=is_open, minlength=len(cells.far)) == 0
    return np.concatenate([np.repeat(cells.dry, bins.bins), is_open | (maybe & lost[owner])])


def _kinds(network: Network) -> Ints:
    """Number the common classes of road, and all others together as one."""
    lengths = np.bincount(network.edges.road_class, network.lengths)
    rare = lengths < LEAST_OF_ALL * lengths.sum()
    number = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
    return np.asarray(number[network.edges.road_class])


def _open_cells(far: Grid, streets: Streets, world: World, reach: float) -> Bools:
    """Return which cells have land out of reach, at one of the places where they are tried."""
    rectangles = far.rectangles()
    # A cell whose middle is this near to a road lies wholly within reach of it.
    middle = (rectangles[:, :2] + rectangles[:, 2:]) / 2
    untried = streets.distances(middle) > reach - math.hypot(*far.cell_size) / 2
    is_open = np.zeros(len(far), dtype=bool)
    for probes in PROBES:
        is_open[untried] = _have_places(rectangles[untried], probes, streets, world, reach)
        untried &= ~is_open
    return is_open


def _have_places(rectangles: Floats, probes: int, streets: Streets, world: World, reach: float) -> Bools:
    """Return which rectangles have land out of reach, at one of the places spread evenly over them."""
    steps = (np.arange(probes) + 0.5) / probes
    inside = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    found = np.zeros(len(rectangles), dtype=bool)
    for block in blocks(len(rectangles), PROBED // len(inside)):
        corner, size = rectangles[block, None, :2], (rectangles[block, 2:] - rectangles[block, :2])[:, None, :]
        places = (corner + inside * size).reshape(-1, 2)
        fitting = world.on_land(places)
        fitting[fitting] = streets.distances(rows(places, fitting)) > reach
        found[block] = fitting.reshape(-1, len(inside)).any(axis=1)
    return found


def _dry_edges(network: Network, world: World) -> Bools:
    """Return which edges are on land: all but the bridges with none below them."""
    dry = np.ones(len(network), dtype=bool)
    bridges = np.flatnonzero(network.edges.bridge)
    tries = np.maximum(2, np.ceil(network.lengths[bridges] / LEAST_DRY)).astype(np.int64)
    bridge, number = numbered(tries)
    along = (number + 0.5) / tries[bridge] * network.lengths[bridges[bridge]]
    places, _ = places_along(network.streets.segments, bridges[bridge], along)
    dry[bridges] = np.bincount(bridge, world.on_land(places), len(bridges)) > 0
    return dry
