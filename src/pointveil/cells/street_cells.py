"""Cells along roads, and cells for everyone who is far from all of them: each point is in exactly one."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.grid import NOWHERE, Grid
from pointveil.cells.nested_grid import NestedGrid
from pointveil.network.network import Nearest, Network
from pointveil.world.projection import Bounds, Floats
from pointveil.world.world import World

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_FAR_CELLS = 1 << 18
PROBES = (4, 16)  # places along a side of a cell where it is tried, first few, then many
PROBED = 1 << 20  # places tried at a time
LEAST_DRY = 1.0  # metres of a bridge that must be on land, if people are to be there


@dataclass(frozen=True, eq=False)
class RoadCells:
    """Every edge with all that is within reach of it, then the cells of a grid with all that is not.

    Parameters
    ----------
    world
        Says where land is.
    network
        The edges.
    reach
        How far from an edge a point may be to belong to it, in metres.
    far
        The grid for points out of reach.
    open_far
        Which of its cells have land out of reach. A point out of reach anywhere else belongs to its edge all the same.
    dry
        Which edges have land: all but bridges that are wholly over water.
    """

    world: World
    network: Network
    reach: float
    far: Grid
    open_far: Bools
    dry: Bools

    def __len__(self) -> int:
        return len(self.network) + len(self.far)

    def locate(self, xy: Floats) -> Ints:
        """Return the one cell that holds each point: its nearest edge, or the far cell it is in."""
        return self.find(xy)[0]

    def find(self, xy: Floats) -> tuple[Ints, Nearest]:
        """Return the cell of each point, and where the point lies from its nearest edge."""
        near = self.network.nearest(xy)
        cell = near.edge.copy()
        beyond = np.flatnonzero(near.offset > self.reach)
        far = self.far.locate(np.asarray(xy)[beyond])
        is_open = (far != NOWHERE) & self.open_far[far]
        cell[beyond[is_open]] = far[is_open] + len(self.network)
        return cell, near

    @property
    def habitable(self) -> Bools:
        """Which cells can have people: edges on land, and open far cells."""
        return np.concatenate([self.dry, self.open_far])


@lru_cache(maxsize=8)
def road_cells(world: World, reach: float, far_side: float) -> RoadCells:
    """Return the cells along the roads of a world; public, and the same always.

    Parameters
    ----------
    world
        With roads.
    reach
        How far from an edge a point may be to belong to it, in metres.
    far_side
        The side of a cell far from roads, in metres; larger where there would be too many.
    """
    network = Network.of(world)
    far = _far_grid(world.bounds, far_side)
    return RoadCells(world, network, reach, far, _open_cells(far, network, world, reach), _dry_edges(network, world))


@dataclass(frozen=True, eq=False)
class RoadBins:
    """Each edge cut along its length, and each far cell cut along both sides.

    Parameters
    ----------
    cells
        What is cut.
    bins
        Into how many parts of equal length each edge is cut; 0 leaves the edge out.
    far
        The far cells with their parts.
    """

    cells: RoadCells
    bins: Ints
    far: NestedGrid

    def __len__(self) -> int:
        return int(self.first[-1]) + len(self.far)

    @cached_property
    def first(self) -> Ints:
        """The number of the first part of each edge, and the number of all edges' parts."""
        return np.concatenate([[0], np.cumsum(self.bins)])

    @cached_property
    def owner(self) -> Ints:
        """The edge or far cell that each part belongs to, as the road cells number them."""
        edges = np.repeat(np.arange(len(self.bins)), self.bins)
        return np.concatenate([edges, self.far.owner + len(self.bins)])

    def locate(self, xy: Floats) -> Ints:
        """Return the one part that holds each point, or -1 on an edge that is left out."""
        cell, near = self.cells.find(xy)
        beyond = cell >= len(self.bins)
        edge = np.where(beyond | (cell < 0), 0, cell)
        bins, length = self.bins[edge], self.cells.network.lengths[edge]
        part = np.clip((near.along / length * bins).astype(np.int64), 0, np.maximum(bins - 1, 0))
        found = np.where((cell >= 0) & (bins > 0), self.first[edge] + part, NOWHERE)
        found[beyond] = self.far.locate(np.asarray(xy)[beyond]) + self.first[-1]
        return found

    @cached_property
    def open_parts(self) -> Bools:
        """Which parts can have people: of dry edges, and those far parts that have land out of reach."""
        return np.concatenate([np.repeat(self.cells.dry, self.bins), self._open_far_parts()])

    def _open_far_parts(self) -> Bools:
        """Return which far parts are open; all parts of an open cell, if none of them seems to be."""
        cells, owner = self.cells, self.far.owner
        maybe = cells.open_far[owner]
        tried = np.flatnonzero(maybe & (self.far.sides[owner] > 1))
        rectangles = self.far.rectangles()[tried]
        is_open = maybe.copy()
        is_open[tried] = _have_places(rectangles, PROBES[0], cells.network, cells.world, cells.reach)
        lost = np.bincount(owner, weights=is_open, minlength=len(cells.far)) == 0
        return np.asarray(is_open | (maybe & lost[owner]))


def _far_grid(bounds: Bounds, side: float) -> Grid:
    west, south, east, north = bounds
    side = max(side, math.sqrt((east - west) * (north - south) / MOST_FAR_CELLS))
    return Grid(bounds, max(1, math.ceil((east - west) / side)), max(1, math.ceil((north - south) / side)))


def _open_cells(far: Grid, network: Network, world: World, reach: float) -> Bools:
    """Return which cells have land out of reach, at one of the places where they are tried."""
    rectangles = far.rectangles()
    # A cell whose middle is this near to a road lies wholly within reach of it.
    middle = (rectangles[:, :2] + rectangles[:, 2:]) / 2
    untried = network.distances(middle) > reach - math.hypot(*far.cell_size) / 2
    is_open = np.zeros(len(far), dtype=bool)
    for probes in PROBES:
        is_open[untried] = _have_places(rectangles[untried], probes, network, world, reach)
        untried &= ~is_open
    return is_open


def _have_places(rectangles: Floats, probes: int, network: Network, world: World, reach: float) -> Bools:
    """Return which rectangles have land out of reach, at one of the places spread evenly over them."""
    steps = (np.arange(probes) + 0.5) / probes
    inside = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    found = np.zeros(len(rectangles), dtype=bool)
    for start in range(0, len(rectangles), PROBED // len(inside)):
        block = slice(start, start + PROBED // len(inside))
        corner, size = rectangles[block, None, :2], (rectangles[block, 2:] - rectangles[block, :2])[:, None, :]
        places = (corner + inside * size).reshape(-1, 2)
        found[block] = out_of_reach(places, network, world, reach).reshape(-1, len(inside)).any(axis=1)
    return found


def out_of_reach(xy: Floats, network: Network, world: World, reach: float) -> Bools:
    """Return which points are on land and farther than the reach from every road."""
    fitting = world.on_land(xy)
    fitting[fitting] = network.distances(xy[fitting]) > reach
    return fitting


def _dry_edges(network: Network, world: World) -> Bools:
    """Return which edges are on land: all but the bridges with none below them."""
    dry = np.ones(len(network), dtype=bool)
    bridges = np.flatnonzero(network.edges.bridge)
    number = np.maximum(2, np.ceil(network.lengths[bridges] / LEAST_DRY)).astype(np.int64)
    for edge, count in zip(bridges, number, strict=True):
        along = (np.arange(count) + 0.5) / count * network.lengths[edge]
        dry[edge] = world.on_land(network.segments.places(np.full(count, edge), along)[0]).any()
    return dry
