"""The nearest segment of each point, exactly and fast: a grid that knows which segments can be nearest."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.geography.grid import Grid
from pointveil.geography.projection import Bounds, Floats
from pointveil.geography.segments import Segments

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

BLOCK = 1 << 14  # points at a time: the work stays in the processor's cache
PAIRS = 1 << 20  # pairs of cell and candidate at a time, while the grid is made
CELLS = 1 << 16  # cells at a time, in the search tree
SEGMENTS_PER_CELL = 4  # of the coarse grid, on average
HALVINGS = 3
FEW = 2  # a cell with so few candidates is fine enough
FAR = 4  # diagonals of a cell: farther from all roads, points are rare and candidates many, so cells stay coarse
MOST_CELLS = 1 << 26  # of the fine grid: a quarter of a gigabyte
SLACK = 1e-6  # metres; far more than any rounding


@dataclass(frozen=True, eq=False)
class CandidateGrid:
    """For each cell of a fine grid, the only segments that can be nearest to a point in it.

    If the middle of a cell is `d` away from its nearest segment, then a segment that is nearest to some point of
    the cell is at most `d` plus the cell's diagonal away from the middle.

    Parameters
    ----------
    segments
        What to search.
    grid
        The fine grid.
    lists
        Which list of candidates each fine cell has; neighbouring cells may share one.
    first
        Where each list begins among the candidates, and where the last one ends.
    candidates
        Numbers of segments, rising within each list.
    """

    segments: Segments
    grid: Grid
    lists: Numbers
    first: Ints
    candidates: Numbers

    @classmethod
    def over(cls, segments: Segments, bounds: Bounds) -> "CandidateGrid":
        """Make the grid over a box: coarse cells by a search tree, then halved where candidates are many."""
        coarse, halvings = _coarse_grid(len(segments), bounds)
        fine = Grid(bounds, coarse.columns << halvings, coarse.rows << halvings)
        lists = np.empty((fine.rows, fine.columns), dtype=np.int32)
        level = _Cells.of(segments, coarse)
        settled: list[_Cells] = []
        known = 0
        for depth in range(halvings + 1):
            enough = (level.counts <= FEW) | level.far | (depth == halvings)
            done = level.only(enough)
            _paint(lists, done, known, 1 << (halvings - depth))
            settled.append(done)
            known += len(done)
            level = level.only(~enough).halved(segments)
        first = np.concatenate([[0], np.cumsum(np.concatenate([cells.counts for cells in settled]))])
        return cls(segments, fine, lists.ravel(), first, np.concatenate([cells.candidates for cells in settled]))

    def nearest(self, xy: Floats) -> tuple[Ints, Floats]:
        """Return the nearest segment of each point, the first of equals, and its distance; -1 outside the grid."""
        segment = np.full(len(xy), -1, dtype=np.int64)
        distance = np.full(len(xy), np.inf)
        for start in range(0, len(xy), BLOCK):
            block = slice(start, start + BLOCK)
            segment[block], distance[block] = self._search(xy[block])
        return segment, distance

    def _search(self, xy: Floats) -> tuple[Ints, Floats]:
        """Compare each point with its candidates, one after the other."""
        cell = self.grid.locate(xy)
        chosen = self.lists[cell]
        count = np.where(cell < 0, 0, self.first[chosen + 1] - self.first[chosen])
        # Those with many candidates last: the points still searching are always the tail.
        order = np.argsort(count, kind="stable")
        place = self.first[chosen[order]]
        x, y, count = xy[order, 0], xy[order, 1], count[order]
        found, best = np.full(len(xy), -1, dtype=np.int64), np.full(len(xy), np.inf)
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


@dataclass(frozen=True, eq=False)
class _Cells:
    """Some cells of a grid, with their candidates while the grid is made."""

    column: Ints
    row: Ints
    corner: tuple[float, float]
    size: tuple[float, float]
    counts: Ints
    candidates: Numbers
    far: NDArray[np.bool_]

    @classmethod
    def of(cls, segments: Segments, grid: Grid) -> "_Cells":
        """Find the candidates of every cell in a search tree."""
        ends = np.stack([segments.start, segments.end], axis=1)
        tree = shapely.STRtree(shapely.linestrings(ends))
        reach = math.hypot(*grid.cell_size) + SLACK
        middles = shapely.points(grid.lower_corners() + np.array(grid.cell_size) / 2)
        owner, candidates, far = [], [], []
        for start in range(0, len(grid), CELLS):
            part = middles[start : start + CELLS]
            (_, _), distance = tree.query_nearest(part, all_matches=False, return_distance=True)
            near, candidate = tree.query(part, predicate="dwithin", distance=distance + reach)
            order = np.lexsort((candidate, near))
            far.append(distance > FAR * reach)
            owner.append(near[order] + start)
            candidates.append(candidate[order].astype(np.int32))
        counts = np.bincount(np.concatenate(owner), minlength=len(grid))
        row, column = np.divmod(np.arange(len(grid)), grid.columns)
        west, south, _, _ = grid.bounds
        corner, size = (west, south), grid.cell_size
        return cls(column, row, corner, size, counts, np.concatenate(candidates), np.concatenate(far))

    def __len__(self) -> int:
        return len(self.counts)

    def only(self, kept: NDArray[np.bool_]) -> "_Cells":
        """Return some of the cells."""
        candidates = self.candidates[np.repeat(kept, self.counts)]
        return _Cells(
            self.column[kept], self.row[kept], self.corner, self.size, self.counts[kept], candidates, self.far[kept]
        )

    def halved(self, segments: Segments) -> "_Cells":
        """Cut every cell into four, and drop the candidates that are too far from each."""
        parts = [
            chunk._quarter(right, up)._pruned(segments)  # noqa: SLF001 - of the same class
            for chunk in self._chunks()
            for right in (0, 1)
            for up in (0, 1)
        ]
        column, row, counts, candidates, far = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("column", "row", "counts", "candidates", "far")
        )
        return _Cells(column, row, self.corner, (self.size[0] / 2, self.size[1] / 2), counts, candidates, far)

    def _quarter(self, right: int, up: int) -> "_Cells":
        size = self.size[0] / 2, self.size[1] / 2
        column, row = self.column * 2 + right, self.row * 2 + up
        return _Cells(column, row, self.corner, size, self.counts, self.candidates, self.far)

    def _pruned(self, segments: Segments) -> "_Cells":
        if not len(self):
            return self
        owner = np.repeat(np.arange(len(self)), self.counts)
        middle = np.stack([self.column + 0.5, self.row + 0.5]) * np.array(self.size)[:, None]
        x, y = (middle + np.array(self.corner)[:, None]).astype(np.float64)[:, owner]
        distance = np.sqrt(segments.squared_distances(x, y, self.candidates))
        least = np.minimum.reduceat(distance, np.cumsum(self.counts) - self.counts)
        reach = math.hypot(*self.size) + SLACK
        near = distance <= least[owner] + reach
        counts = np.bincount(owner[near], minlength=len(self))
        far = least > FAR * reach
        return _Cells(self.column, self.row, self.corner, self.size, counts, self.candidates[near], far)

    def _chunks(self) -> list["_Cells"]:
        """Return the cells in parts that have about as many candidates as fit into memory at once."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        cuts = np.unique(np.searchsorted(starts, np.arange(0, starts[-1] + PAIRS, PAIRS)).clip(0, len(self)))
        cuts = np.append(cuts, len(self)) if len(cuts) < 2 else cuts
        return [
            _Cells(
                self.column[a:b],
                self.row[a:b],
                self.corner,
                self.size,
                self.counts[a:b],
                self.candidates[starts[a] : starts[b]],
                self.far[a:b],
            )
            for a, b in itertools.pairwise(cuts)
        ]


def _coarse_grid(segments: int, bounds: Bounds) -> tuple[Grid, int]:
    """Return a grid with a few segments a cell, and how often its cells may be halved."""
    west, south, east, north = bounds
    width, height = east - west, north - south
    side = math.sqrt(width * height * SEGMENTS_PER_CELL / segments)
    side = max(side, max(width, height) / 8192)
    columns, rows = max(1, round(width / side)), max(1, round(height / side))
    halvings = HALVINGS
    while halvings and columns * rows << (2 * halvings) > MOST_CELLS:
        halvings -= 1
    return Grid(bounds, columns, rows), halvings


def _paint(lists: Numbers, cells: _Cells, number: int, side: int) -> None:
    """Write the numbers of the cells' lists, from `number` on, into all fine cells that they cover."""
    own = np.arange(number, number + len(cells), dtype=np.int32)
    for right in range(side):
        for up in range(side):
            lists[cells.row * side + up, cells.column * side + right] = own
