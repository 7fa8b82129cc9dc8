"""The nearest segment of each point, exactly and fast: cells that know which segments can be nearest."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.geography.grid import NOWHERE, Grid
from pointveil.geography.projection import Bounds, Floats
from pointveil.geography.segments import Segments

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

BLOCK = 1 << 14  # points at a time: the work stays in the processor's cache
PAIRS = 1 << 20  # pairs of cell and candidate at a time, while the cells are made
CELLS = 1 << 14  # cells at a time, in the search tree
SEGMENTS_PER_CELL = 4  # of the coarse grid, on average
FEW = 2  # a cell with so few candidates is fine enough
CUTS, LARGE, LARGE_CUTS = 4, 1 << 18, 3  # how often other cells are cut; less often if there are many segments
MANY, MOST_CUTS = 16, 12  # cells with many candidates are cut more often than that
FAR = 2  # diagonals: in a coarse cell farther from all roads points are rare, and the search tree serves them
MOST_PAIRS, PAIRS_PER_SEGMENT = 1 << 18, 64  # once a level has as many, its cells are not cut
STUCK = 0.95  # a cell with many candidates, and more than this part of those of the cell it was cut from, is not cut
SLACK = 1e-6  # metres; far more than any rounding


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """A grid whose cells are cut into four, again and again, until few segments can be nearest to a point in one.

    If the middle of a cell is `d` away from its nearest segment, then a segment that is nearest to some point of
    the cell is at most `d` plus the cell's diagonal away from the middle.

    Parameters
    ----------
    segments
        What to search.
    grid
        The coarse grid, whose cells are the first nodes.
    children
        The first of the four parts of each node, or -1 for one that is not cut.
    first
        Where the candidates of each node begin, and where the last ones end. A node that is not cut and has none is
        far from everything.
    candidates
        Numbers of segments, rising for each node.
    """

    segments: Segments
    grid: Grid
    children: Numbers
    first: Ints
    candidates: Numbers

    @classmethod
    def over(cls, segments: Segments, bounds: Bounds) -> "CandidateGrid":
        """Make coarse cells over the part of a box that has segments, then cut those with many candidates."""
        grid = _coarse_grid(segments, bounds)
        level = _Cells.of(segments, grid)
        children, counts, candidates = [], [], []
        known = len(level)
        for depth in range(MOST_CUTS + 1):
            few = FEW if depth < (CUTS if len(segments) < LARGE else LARGE_CUTS) else MANY
            small = len(level.candidates) < max(MOST_PAIRS, PAIRS_PER_SEGMENT * len(segments))
            cut = (level.counts > few) & level.shrinking & (small and depth < MOST_CUTS)
            numbers = np.full(len(level), -1, dtype=np.int32)
            numbers[cut] = known + 4 * np.arange(int(cut.sum()))
            known += 4 * int(cut.sum())
            children.append(numbers)
            counts.append(np.where(cut, 0, level.counts))
            candidates.append(level.candidates[np.repeat(~cut, level.counts)])
            level = level.only(cut).halved(segments)
        first = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return cls(segments, grid, np.concatenate(children), first, np.concatenate(candidates))

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
        order = np.argsort(count, kind="stable")
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
        while len(going):
            child = self.children[node[going]]
            cut = child >= 0
            going, child, x, y = going[cut], child[cut], x[cut] * 2, y[cut] * 2
            right, up = x >= 1, y >= 1
            x -= right
            y -= up
            node[going] = child + right + 2 * up
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
        return _tree(self.segments)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of one size, with their candidates, while the grid is made."""

    column: Ints
    row: Ints
    corner: tuple[float, float]
    size: tuple[float, float]
    counts: Ints
    candidates: Numbers
    shrinking: NDArray[np.bool_]

    @classmethod
    def of(cls, segments: Segments, grid: Grid) -> "_Cells":
        """Find the candidates of every cell that is not far from all segments, in a search tree."""
        tree = _tree(segments)
        reach = math.hypot(*grid.cell_size) + SLACK
        middles = shapely.points(grid.lower_corners() + np.array(grid.cell_size) / 2)
        owner, candidates = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for start in range(0, len(grid), CELLS):
            part = middles[start : start + CELLS]
            (close, _), distance = tree.query_nearest(
                part, all_matches=False, return_distance=True, max_distance=FAR * reach
            )
            near, candidate = tree.query(part[close], predicate="dwithin", distance=distance + reach)
            order = np.lexsort((candidate, near))
            owner.append(close[near[order]] + start)
            candidates.append(candidate[order].astype(np.int32))
        counts = np.bincount(np.concatenate(owner), minlength=len(grid))
        row, column = np.divmod(np.arange(len(grid)), grid.columns)
        west, south, _, _ = grid.bounds
        everywhere = np.ones(len(grid), dtype=bool)
        return cls(column, row, (west, south), grid.cell_size, counts, np.concatenate(candidates), everywhere)

    def __len__(self) -> int:
        return len(self.counts)

    def only(self, kept: NDArray[np.bool_]) -> "_Cells":
        """Return some of the cells."""
        candidates = self.candidates[np.repeat(kept, self.counts)]
        column, row, counts, shrinking = self.column[kept], self.row[kept], self.counts[kept], self.shrinking[kept]
        return _Cells(column, row, self.corner, self.size, counts, candidates, shrinking)

    def halved(self, segments: Segments) -> "_Cells":
        """Cut every cell into four that follow each other, and drop the candidates that are too far from each."""
        parts = [chunk._quartered()._pruned(segments) for chunk in self._chunks()]  # noqa: SLF001 - of the same class
        column, row, counts, candidates, shrinking = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("column", "row", "counts", "candidates", "shrinking")
        )
        size = self.size[0] / 2, self.size[1] / 2
        return _Cells(column, row, self.corner, size, counts, candidates, shrinking)

    def _quartered(self) -> "_Cells":
        quarters = np.arange(4)
        column = (self.column[:, None] * 2 + quarters % 2).ravel()
        row = (self.row[:, None] * 2 + quarters // 2).ravel()
        counts = np.repeat(self.counts, 4)
        start = np.repeat(np.cumsum(self.counts) - self.counts, 4)
        place = np.arange(int(counts.sum())) + np.repeat(start - (np.cumsum(counts) - counts), counts)
        size = self.size[0] / 2, self.size[1] / 2
        return _Cells(column, row, self.corner, size, counts, self.candidates[place], np.repeat(self.shrinking, 4))

    def _pruned(self, segments: Segments) -> "_Cells":
        if not len(self):
            return self
        owner = np.repeat(np.arange(len(self)), self.counts)
        middle = np.stack([self.column + 0.5, self.row + 0.5]) * np.array(self.size)[:, None]
        x, y = (middle + np.array(self.corner)[:, None]).astype(np.float64)[:, owner]
        distance = np.sqrt(segments.squared_distances(x, y, self.candidates))
        least = np.minimum.reduceat(distance, np.cumsum(self.counts) - self.counts)
        near = distance <= least[owner] + (math.hypot(*self.size) + SLACK)
        counts = np.bincount(owner[near], minlength=len(self))
        shrinking = (counts <= MANY) | (counts <= STUCK * self.counts)
        return _Cells(self.column, self.row, self.corner, self.size, counts, self.candidates[near], shrinking)

    def _chunks(self) -> list["_Cells"]:
        """Return the cells in parts that have about as many candidates as fit into memory at once."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        inner = np.searchsorted(starts, np.arange(PAIRS // 4, starts[-1], PAIRS // 4))
        cuts = np.unique(np.concatenate([[0], inner, [len(self)]]))
        return [self._slice(starts, *pair) for pair in itertools.pairwise(cuts)] or [self]

    def _slice(self, starts: Ints, begin: int, end: int) -> "_Cells":
        column, row, counts = (values[begin:end] for values in (self.column, self.row, self.counts))
        candidates = self.candidates[starts[begin] : starts[end]]
        return _Cells(column, row, self.corner, self.size, counts, candidates, self.shrinking[begin:end])


def _tree(segments: Segments) -> shapely.STRtree:
    return shapely.STRtree(shapely.linestrings(np.stack([segments.start, segments.end], axis=1)))


def _coarse_grid(segments: Segments, bounds: Bounds) -> Grid:
    """Return a grid over the part of the box that has segments, with a few of them in a cell on average."""
    points = np.concatenate([segments.start, segments.end])
    low = np.clip(points.min(axis=0), bounds[:2], bounds[2:])
    high = np.clip(points.max(axis=0), bounds[:2], bounds[2:])
    # A margin of a tenth, because people are around roads, and a little more, so that there is an area.
    margin = np.maximum((high - low).max() / 10, 1.0)
    low, high = np.maximum(low - margin, bounds[:2]), np.minimum(high + margin, bounds[2:])
    width, height = (float(side) for side in high - low)
    side = max(math.sqrt(width * height * SEGMENTS_PER_CELL / len(segments)), max(width, height) / 8192)
    columns, rows = max(1, round(width / side)), max(1, round(height / side))
    return Grid((float(low[0]), float(low[1]), float(high[0]), float(high[1])), columns, rows)
