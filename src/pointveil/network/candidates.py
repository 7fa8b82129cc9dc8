"""The nearest segment of each point, exactly and fast: cells that know which segments can be nearest."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.grid import NOWHERE, Grid
from pointveil.network.candidate_cells import Cells, far_from
from pointveil.network.segments import Segments
from pointveil.world.projection import Bounds, Floats

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

BLOCK = 1 << 16  # points at a time
SEGMENTS_PER_CELL = 4  # of the grid, on average
MOST_HALVINGS, MOST_FIRST = 10, 8  # from the first cells to those of the grid; and how many of the first in a row
FEW = 2  # a cell with so few candidates is fine enough
CUTS = 2  # how often other cells near roads are cut
MANY, MOST_CUTS = 16, 12  # cells with many candidates are cut more often than that
MOST_PAIRS, PAIRS_PER_SEGMENT = 1 << 18, 64  # cells are not cut if they have more candidates in all
STUCK = 0.95  # a cell with many candidates, and more than this part of those of the cell it was cut from, is not cut


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """A grid whose cells are cut into four, again and again, until few segments can be nearest to a point in one.

    Parameters
    ----------
    segments
        What to search.
    grid
        Its cells are the first nodes.
    children
        The south-western quarter of each node, or -1 for one that is not cut.
    strides
        For each level, how far the numbers of a node's quarters lie apart.
    first
        Where the candidates of each node begin, and where the last ones end. A node that is not cut and has none is
        far from everything.
    candidates
        Numbers of segments, rising for each node.
    """

    segments: Segments
    grid: Grid
    children: Numbers
    strides: Ints
    first: Ints
    candidates: Numbers

    @classmethod
    def over(cls, segments: Segments, bounds: Bounds) -> "CandidateGrid":
        """Make cells over the part of a box that has segments, then cut those with many candidates."""
        grid, halvings = _grid(segments, bounds)
        level = Cells.of(segments, grid, halvings)
        nodes = _Nodes([], [], [], [])
        place, size = level.row * grid.columns + level.column, len(grid)
        for depth in range(MOST_CUTS + 1):
            near = level.distance <= far_from(grid)
            cut = _worth_cutting(level, near, depth, len(segments))
            nodes.add(level, cut, place, size)
            if not cut.any():
                break
            level = level.only(cut).halved(segments)
            place, size = np.arange(len(level)), len(level)
        first = np.concatenate([[0], np.cumsum(np.concatenate(nodes.counts))])
        children, candidates = np.concatenate(nodes.children), np.concatenate(nodes.candidates)
        return cls(segments, grid, children, np.array(nodes.strides), first, candidates)

    def nearest(self, xy: Floats) -> tuple[Ints, Floats]:
        """Return the nearest segment of each point, the first of equals, and its distance; -1 for no point at all."""
        segment = np.full(len(xy), NOWHERE, dtype=np.int64)
        distance = np.full(len(xy), np.inf)
        for start in range(0, len(xy), BLOCK):
            block = slice(start, start + BLOCK)
            segment[block], distance[block] = self._search(xy[block])
        left = np.flatnonzero((segment == NOWHERE) & np.isfinite(xy).all(axis=1))
        if len(left):
            segment[left], distance[left] = self._search_tree(xy[left])
        return segment, distance

    def _search(self, xy: Floats) -> tuple[Ints, Floats]:
        """Compare each point with its candidates, one after the other."""
        node = self._nodes(xy)
        count = np.where(node == NOWHERE, 0, self.first[node + 1] - self.first[node])
        # Those with many candidates last: the points still searching are always the tail.
        order = np.argsort(count.astype(np.min_scalar_type(count.max())), kind="stable")
        place = self.first[node[order]]
        x, y, count = xy[order, 0], xy[order, 1], count[order]
        found, best = np.full(len(xy), NOWHERE, dtype=np.int64), np.full(len(xy), np.inf)
        for number in range(int(count[-1])):
            left = int(np.searchsorted(count, number, side="right"))
            candidate = self.candidates.take(place[left:] + number)
            distance = self.segments.squared_distances(x[left:], y[left:], candidate)
            nearer = distance < best[left:]
            np.copyto(found[left:], candidate, where=nearer)
            np.copyto(best[left:], distance, where=nearer)
        segment, squared = np.empty_like(found), np.empty_like(best)
        segment[order], squared[order] = found, best
        return segment, np.sqrt(squared)

    def _nodes(self, xy: Floats) -> Ints:
        """Return the last node that holds each point, or -1 outside the grid."""
        node = self.grid.locate(xy)
        going = np.flatnonzero(node != NOWHERE)
        row, column = np.divmod(node[going], self.grid.columns)
        west, south, _, _ = self.grid.bounds
        width, height = self.grid.cell_size
        # Where in its cell a point is, from 0 to 1; a rounding too far is far less than the slack.
        x, y = (xy[going, 0] - west) / width - column, (xy[going, 1] - south) / height - row
        for stride in self.strides:
            child = self.children[node[going]]
            cut = child >= 0
            going, child, x, y = going[cut], child[cut], x[cut] * 2, y[cut] * 2
            right, up = x >= 1, y >= 1
            x -= right
            y -= up
            node[going] = child + stride * (right + 2 * up)
        return node

    def _search_tree(self, xy: Floats) -> tuple[Ints, Floats]:
        """Search where points are few: by a tree, and then by the same sums as elsewhere."""
        near, segment = self.tree.query_nearest(shapely.points(xy), all_matches=True, exclusive=False)
        squared = self.segments.squared_distances(xy[near, 0], xy[near, 1], segment)
        order = np.lexsort((segment, squared, near))
        best = order[np.searchsorted(near[order], np.arange(len(xy)))]
        return segment[best], np.sqrt(squared[best])

    @cached_property
    def tree(self) -> shapely.STRtree:
        """A search tree of all segments."""
        lines = np.stack([self.segments.start, self.segments.end], axis=1)
        return shapely.STRtree(shapely.linestrings(lines))


@dataclass(frozen=True, eq=False)
class _Nodes:
    """What is known of each level of nodes, while the grid is made."""

    children: list[Numbers]
    strides: list[int]
    counts: list[Ints]
    candidates: list[Numbers]

    def add(self, level: Cells, cut: Bools, place: Ints, size: int) -> None:
        """Add a level of `size` nodes, of which these cells stand at these places, some of them to be cut."""
        known = sum(map(len, self.children)) + size
        children, counts = np.full(size, -1, dtype=np.int32), np.zeros(size, dtype=np.int64)
        children[place[cut]] = known + np.arange(cut.sum())
        counts[place[~cut]] = level.counts[~cut]
        self.children.append(children)
        self.strides.append(int(cut.sum()))
        self.counts.append(counts)
        self.candidates.append(level.candidates[np.repeat(~cut, level.counts)])


def _worth_cutting(level: Cells, near: Bools, depth: int, segments: int) -> Bools:
    """Return which cells to cut: those with many candidates, as far as memory allows, and first of all near roads."""
    many = level.counts > np.where(near & (depth < CUTS), FEW, MANY)
    many &= (level.counts <= MANY) | (level.counts <= STUCK * level.before)
    most = max(MOST_PAIRS, PAIRS_PER_SEGMENT * segments) if depth < MOST_CUTS else 0
    choices = (many, many & near, np.zeros(len(level), dtype=bool))
    return next(choice for choice in choices if level.counts[choice].sum() <= most)


def _grid(segments: Segments, bounds: Bounds) -> tuple[Grid, int]:
    """Return a grid over the part of the box that has segments, and how often its columns and rows can be halved."""
    points = np.concatenate([segments.start, segments.end])
    low = np.clip(points.min(axis=0), bounds[:2], bounds[2:])
    high = np.clip(points.max(axis=0), bounds[:2], bounds[2:])
    # A margin of a tenth, because people are around roads, and a little more, so that there is an area.
    margin = np.maximum((high - low).max() / 10, 1.0)
    low, high = np.maximum(low - margin, bounds[:2]), np.minimum(high + margin, bounds[2:])
    width, height = (float(side) for side in high - low)
    first = min(max(width, height) / min(width, height), MOST_FIRST)
    columns, rows = (round(first), 1) if width > height else (1, round(first))
    wanted = len(segments) / SEGMENTS_PER_CELL / (columns * rows)
    halvings = min(max(0, math.ceil(math.log(wanted, 4))), MOST_HALVINGS)
    box = (float(low[0]), float(low[1]), float(high[0]), float(high[1]))
    return Grid(box, columns << halvings, rows << halvings), halvings
