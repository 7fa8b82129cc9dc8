"""The nearest segment of each record, exactly and fast: cells that know which segments can be nearest."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from pointveil.cells.arrays import NOWHERE, Floats, Ints, ShortInts, blocks
from pointveil.cells.grid import Grid
from pointveil.cells.segments import Segments

BLOCK = 1 << 16  # records at a time
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
        segment = np.full(len(xy), NOWHERE, dtype=np.int64)
        distance = np.full(len(xy), np.inf)
        for block in blocks(len(xy), BLOCK):
            segment[block], distance[block] = self._search(xy[block])
        left = np.flatnonzero((segment == NOWHERE) & (np.abs(xy) < FARTHEST).all(axis=1))
        if len(left):
            segment[left], distance[left] = self._search_tree(xy[left])
        return segment, distance

    def measured(self, xy: Floats, segment: ShortInts) -> tuple[Ints, Floats]:
        """Return the same for records whose nearest segment is known: by the same sums, so to the same bit."""
        distance = np.sqrt(self.segments.squared_distances(xy[:, 0], xy[:, 1], segment))
        distance[segment == NOWHERE] = np.inf
        return segment.astype(np.int64), distance

    def _search(self, xy: Floats) -> tuple[Ints, Floats]:
        """Compare each record with its candidates, one after the other."""
        node = self._nodes(xy)
        count = np.where(node == NOWHERE, 0, self.first[node + 1] - self.first[node])
        # Those with many candidates last: the records still searching are always the tail.
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
        """Return the last node that holds each record, or -1 outside the grid."""
        node = self.grid.locate(xy)
        going = np.flatnonzero(node != NOWHERE)
        row, column = np.divmod(node[going], self.grid.columns)
        west, south, _, _ = self.grid.bounds
        width, height = self.grid.cell_size
        # Where in its cell a record is, from 0 to 1; a rounding too far is far less than the slack.
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
