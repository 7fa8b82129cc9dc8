"""The nearest segment of each record, exactly and fast: cells that know which segments can be nearest."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import NOWHERE, Floats, Ints, ShortInts, blocks
from pointveil.cells.grid import Grid
from pointveil.cells.segments import Segments

BLOCK = 1 << 16  # records at a time
FLAT, MOST_SQUARES = 3, 1 << 24  # so often are cells cut in the table that finds most nodes, if it stays this small
FARTHEST = 1e9  # metres: what is farther away than this is not on Earth, and its squares might overflow


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """A grid whose cells are cut into four, again and again, until few segments can be nearest to a place in one."""

    segments: Segments  # what to search
    grid: Grid  # its cells are the first nodes
    children: ShortInts  # (nodes,): the south-western quarter of each, -1 for one that is not cut
    strides: Ints  # (levels,): how far the numbers of a node's quarters lie apart
    first: Ints  # (nodes + 1,): where candidates begin; a node that is not cut and has none is far away
    candidates: ShortInts  # numbers of segments, rising for each node

    def nearest(self, xy: Floats) -> tuple[Ints, Floats]:
        """Return the nearest segment of each record, the first of equals, and its distance; -1 if it is nowhere."""
        return self._in_blocks(xy, self.counts, measured=True)

    def segment(self, xy: Floats) -> Ints:
        """Return the nearest segment alone: a record with one candidate is not measured."""
        return self._in_blocks(xy, self.counts, measured=False)[0]

    def of_nearest_edge(self, xy: Floats) -> Ints:
        """Return some segment of the nearest edge: a record with candidates of one edge is not measured."""
        return self._in_blocks(xy, self.counts_of_edges, measured=False)[0]

    def _in_blocks(self, xy: Floats, counts: NDArray[Any], *, measured: bool) -> tuple[Ints, Floats]:
        segment = np.full(len(xy), NOWHERE, dtype=np.int64)
        distance = np.full(len(xy), np.inf)
        for block in blocks(len(xy), BLOCK):
            segment[block], distance[block] = self._search(xy[block], counts, least=0 if measured else 1)
        left = np.flatnonzero(segment == NOWHERE)
        left = left[(np.abs(xy[left]) < FARTHEST).all(axis=1)]
        if len(left):
            segment[left], distance[left] = self._search_tree(xy[left])
        return segment, distance

    def measured(self, xy: Floats, segment: ShortInts) -> tuple[Ints, Floats]:
        """Return the same for records whose nearest segment is known: by the same sums, so to the same bit."""
        distance = np.sqrt(self.segments.squared_distances(xy[:, 0], xy[:, 1], segment))
        distance[segment == NOWHERE] = np.inf
        return segment.astype(np.int64), distance

    def _search(self, xy: Floats, counts: NDArray[Any], least: int) -> tuple[Ints, Floats]:
        """Compare each record with all its candidates, if it has more than `least`."""
        node = self._nodes(xy)
        count, first = counts.take(node, mode="wrap"), self.first.take(node)
        segment, squared = np.full(len(xy), NOWHERE, dtype=np.int64), np.full(len(xy), np.inf)
        if least:
            known = np.flatnonzero(count == 1)
            segment[known] = self.candidates.take(first[known])
        some = np.flatnonzero(count > least)
        if not len(some):
            return segment, squared
        count = count[some].astype(np.intp)
        begin = np.cumsum(count) - count
        owner, place = np.repeat(np.arange(len(some)), count), np.repeat(first[some] - begin, count)
        place += np.arange(len(place))
        x, y = xy[some, 0].take(owner), xy[some, 1].take(owner)
        candidate = self.candidates.take(place).astype(np.intp)
        distance = self.segments.squared_distances(x, y, candidate)
        best = np.minimum.reduceat(distance, begin)
        nearest = np.flatnonzero(distance == best.take(owner))[::-1]  # so that the first of equals is set last
        segment[some[owner[nearest]]] = candidate[nearest]
        squared[some] = best
        return segment, np.sqrt(squared)

    def _nodes(self, xy: Floats) -> ShortInts:
        """Return the last node that holds each record, or -1 outside the grid."""
        squares, columns = self.squares.ravel(), self.squares.shape[1]
        # In squares, the rim included; a rounding too far is far less than the slack.
        x, y = (self._place(xy, axis) for axis in (0, 1))
        column, row = x.astype(np.int32), y.astype(np.int32)
        node: ShortInts = squares.take(row * columns + column)
        going = np.flatnonzero(self.children.take(node, mode="wrap") >= 0)
        x, y = (at[going] - start[going] for at, start in ((x, column), (y, row)))  # where in its square, from 0 to 1
        for stride in self.strides[self._flat :]:
            child = self.children[node[going]]
            cut = child >= 0
            going, child, x, y = going[cut], child[cut], x[cut] * 2, y[cut] * 2
            right, up = x >= 1, y >= 1
            x -= right
            y -= up
            node[going] = child + stride * (right + 2 * up)
        return node

    def _place(self, xy: Floats, axis: int) -> Floats:
        """Return in which column (axis 0) or row (axis 1) of squares each record is, and how far through it."""
        low, high, count = self.grid.bounds[axis], self.grid.bounds[axis + 2], self.squares.shape[1 - axis] - 2
        place = xy[:, axis] - low
        place *= count / (high - low)
        place += 1
        # Unlike maximum and minimum these two take NaN to the rim, where nothing is.
        np.fmax(place, 0, out=place)
        np.fmin(place, count + 1, out=place)
        return place

    @property
    def _flat(self) -> int:
        return max(0, min(FLAT, int(math.log(MOST_SQUARES / len(self.grid), 4))))

    @cached_property
    def squares(self) -> ShortInts:
        """The node of each cell of the grid that is cut in four so often, in rows, with a rim of nowhere around."""
        node = np.arange(len(self.grid), dtype=np.int32).reshape(self.grid.rows, self.grid.columns)
        for stride in self.strides[: self._flat]:
            child = self.children[node]
            finer = np.empty((2 * node.shape[0], 2 * node.shape[1]), dtype=np.int32)
            for up, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
                finer[up::2, right::2] = np.where(child >= 0, child + stride * (right + 2 * up), node)
            node = finer
        return np.pad(node, 1, constant_values=NOWHERE)

    @cached_property
    def counts(self) -> NDArray[Any]:
        """How many candidates each node has, and none for nowhere."""
        counts = np.append(np.diff(self.first), 0)
        return counts.astype(np.min_scalar_type(counts.max()))

    @cached_property
    def counts_of_edges(self) -> NDArray[Any]:
        """The same, but 1 for a node all of whose candidates are of one edge."""
        counts, edge = self.counts.copy(), self.segments.edge[self.candidates]
        some = np.flatnonzero(np.diff(self.first))
        first = self.first[some]
        # Candidates rise, and edges with them.
        counts[some[edge[first] == edge[self.first[some + 1] - 1]]] = 1
        return counts

    def _search_tree(self, xy: Floats) -> tuple[Ints, Floats]:
        """Search where records are few: by a tree, and then by the same sums as elsewhere."""
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
