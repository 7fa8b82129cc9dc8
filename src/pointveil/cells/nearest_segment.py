"""The nearest segment of each record, exactly and fast: cells that know which segments can be nearest."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from pointveil.cells.arrays import NOWHERE, Floats, Ints, ShortInts, blocks
from pointveil.cells.grid import Grid
from pointveil.cells.segments import Segments

BLOCK = 1 << 16  # records at a time
FLAT, MOST_SQUARES = 3, 1 << 24  # so often are cells cut in the table that finds most nodes, if it stays this small
SLACK = 1e-6  # metres, and of a distance: far more than any rounding
FARTHEST = 1e9  # metres: what is farther away than this is not on Earth, and its squares might overflow


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """A grid whose cells are cut into four, again and again, until few segments can be nearest to a place in one."""

    segments: Segments  # what to search
    grid: Grid  # its cells are the first nodes
    children: ShortInts  # (nodes,): the south-western quarter of each, -1 for one that is not cut
    strides: Ints  # (levels,): how far the numbers of a node's quarters lie apart
    first: ShortInts  # (nodes + 1,): where candidates begin; a node that is not cut and has none is far away
    candidates: ShortInts  # numbers of segments, rising for each node

    def nearest(self, xy: Floats) -> tuple[ShortInts, Floats]:
        """Return the nearest segment of each record, the first of equals, and its distance; -1 if it is nowhere."""
        segment = self.segment(xy)
        return segment, self.measured(xy, segment)[0]

    def measured(self, xy: Floats, segment: ShortInts) -> tuple[Floats, Floats]:
        """Return the distance of each record to its nearest segment, infinite if there is none; and how far through."""
        squared, away_y, part = self.segments.away(xy[:, 0], xy[:, 1], segment)
        squared *= squared
        away_y *= away_y
        squared += away_y
        distance = np.sqrt(squared, out=squared)
        distance[segment == NOWHERE] = np.inf
        return distance, part

    def segment(self, xy: Floats) -> ShortInts:
        """Return the nearest segment alone: a record with one candidate is not measured."""
        segment = np.empty(len(xy), dtype=np.int32)
        for block in blocks(len(xy), BLOCK):
            segment[block] = self._search(xy[block])
        left = np.flatnonzero(segment == NOWHERE)
        left = left[(np.abs(xy[left]) < FARTHEST).all(axis=1)]
        if len(left):
            segment[left] = self._search_tree(xy[left])
        return segment

    def _search(self, xy: Floats) -> ShortInts:
        """Return the nearest segment of each record, or -1 where no candidates are known."""
        # In squares, the rim included; a rounding too far is far less than the slack.
        x, y = (self._place(xy, axis) for axis in (0, 1))
        column, row = x.astype(np.int32), y.astype(np.int32)
        segment: ShortInts = self.squares.ravel().take(row * self.squares.shape[1] + column)
        several = np.flatnonzero(segment < NOWHERE)
        x -= column  # where in its square, from 0 to 1
        y -= row
        segment[several] = self._descend(_node(segment.take(several)), x.take(several), y.take(several))
        several = several[segment.take(several) < NOWHERE]
        if len(several):
            x, y = (xy[:, axis].take(several) for axis in (0, 1))
            segment[several] = self._compare(x, y, _node(segment.take(several)))
        return segment

    def _descend(self, node: ShortInts, x: Floats, y: Floats) -> ShortInts:
        """Return what is said of the smallest node that holds each record, so far through this one on both axes."""
        going = np.arange(len(node))
        for stride in self.strides[self._flat :]:
            child = self.children[node[going]]
            cut = child >= 0
            going, child, x, y = going[cut], child[cut], x[cut] * 2, y[cut] * 2
            right, up = x >= 1, y >= 1
            x -= right
            y -= up
            node[going] = child + stride * (right + 2 * up)
        return self.said.take(node)

    def _compare(self, x: Floats, y: Floats, node: ShortInts) -> ShortInts:
        """Return the nearest of all candidates of each record's node, which has some."""
        first = self.first.take(node)
        count = self.first.take(node + 1) - first
        begin = np.cumsum(count) - count
        owner, place = np.repeat(np.arange(len(node)), count), np.repeat(first - begin, count)
        place += np.arange(len(place))
        candidate = self.candidates.take(place)
        squared = self.segments.squared_distances(x.take(owner), y.take(owner), candidate)
        nearest = np.flatnonzero(squared == np.minimum.reduceat(squared, begin).take(owner))
        segment = np.empty(len(node), dtype=np.int32)
        segment[owner[nearest[::-1]]] = candidate[nearest[::-1]]  # so that the first of equals is set last
        return segment

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
        """What is said of each cell of the grid that is cut in four so often, in rows, with a rim of nowhere around."""
        node = np.arange(len(self.grid), dtype=np.int32).reshape(self.grid.rows, self.grid.columns)
        for stride in self.strides[: self._flat]:
            child = self.children[node]
            finer = np.empty((2 * node.shape[0], 2 * node.shape[1]), dtype=np.int32)
            for up, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
                finer[up::2, right::2] = np.where(child >= 0, child + stride * (right + 2 * up), node)
            node = finer
        return np.pad(self.said[node], 1, constant_values=NOWHERE)

    @cached_property
    def said(self) -> ShortInts:
        """What a node says of its records: their one candidate, -1 if it has none, or which node to look closer at."""
        count = np.diff(self.first)
        said = _node(np.arange(len(count), dtype=np.int32))
        one = np.flatnonzero(count == 1)
        said[one] = self.candidates[self.first[one]]
        said[(count == 0) & (self.children < 0)] = NOWHERE
        return said

    def _search_tree(self, xy: Floats) -> ShortInts:
        """Search where records are few: by a tree, whose sums are others, and then by the same as elsewhere."""
        places = shapely.points(xy)
        distance = self.tree.query_nearest(places, all_matches=False, exclusive=False, return_distance=True)[1]
        near, segment = self.tree.query(places, predicate="dwithin", distance=distance * (1 + SLACK) + SLACK)
        squared = self.segments.squared_distances(xy[near, 0], xy[near, 1], segment)
        order = np.lexsort((segment, squared, near))
        return np.asarray(segment[order[np.searchsorted(near[order], np.arange(len(xy)))]], dtype=np.int32)

    @cached_property
    def tree(self) -> shapely.STRtree:
        """A search tree of all segments."""
        lines = np.stack([self.segments.start, self.segments.end], axis=1)
        return shapely.STRtree(shapely.linestrings(lines))


def _node(number: ShortInts) -> ShortInts:
    """Return nodes as numbers below -1, and such numbers as nodes again."""
    return NOWHERE - 1 - number
