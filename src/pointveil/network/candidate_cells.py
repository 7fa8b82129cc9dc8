"""Cells with the segments that can be nearest to a point in them, cut into four again and again."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pointveil.cells.arrays import Bools, Floats, Ints, ShortInts, numbered
from pointveil.cells.grid import Grid
from pointveil.cells.segments import Segments

PAIRS = 1 << 15  # pairs of cell and candidate at a time: the work stays in the processor's cache
FAR = 2  # diagonals of a cell of the grid: farther from all roads points are rare
MOST_FAR = 64  # candidates that a far cell of the grid may have
SLACK = 1e-6  # metres; far more than any rounding


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one size, with their candidates.

    If the middle of a cell is `d` away from its nearest segment, then a segment that is nearest to some point of
    the cell is at most `d` plus the cell's diagonal away from the middle.

    Parameters
    ----------
    column, row
        Which cells, counted from the corner.
    corner
        The south-west corner of all.
    size
        Width and height of a cell.
    distance
        From the middle of each cell to its nearest segment.
    counts
        How many candidates each cell has: at least one.
    before
        How many the cell had that it was cut from.
    candidates
        ShortInts of segments, rising for each cell.
    """

    column: Ints
    row: Ints
    corner: tuple[float, float]
    size: tuple[float, float]
    distance: Floats
    counts: Ints
    before: Ints
    candidates: ShortInts

    @classmethod
    def of(cls, segments: Segments, grid: Grid, halvings: int) -> "Cells":
        """Return the cells of a grid that are near to segments, and those far from all that have few candidates.

        Parameters
        ----------
        segments
            The candidates.
        grid
            Its columns and rows can be halved so often.
        halvings
            How often the first, large cells are cut, to be those of the grid.
        """
        size = math.ldexp(grid.cell_size[0], halvings), math.ldexp(grid.cell_size[1], halvings)
        columns, rows = grid.columns >> halvings, grid.rows >> halvings
        row, column = np.divmod(np.arange(columns * rows), columns)
        counts = np.full(len(row), len(segments))
        candidates = np.tile(np.arange(len(segments), dtype=np.int32), len(row))
        level = cls(column, row, grid.bounds[:2], size, np.zeros(len(row)), counts, counts, candidates)
        far = far_from(grid)
        for left in reversed(range(halvings)):
            level = level.halved(segments)
            is_far = level.distance > far + (level.diagonal / 2 if left else 0.0)
            # Far from roads, a cell of half the size has about a third of the candidates.
            level = level.only(~is_far | (level.counts <= MOST_FAR * 3**left))
        return level._in_rows(grid.columns)  # noqa: SLF001 - of the same class

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def diagonal(self) -> float:
        """Metres across a cell."""
        return math.hypot(*self.size)

    def only(self, kept: Bools) -> "Cells":
        """Return some of the cells."""
        return self._some(kept, self.candidates[np.repeat(kept, self.counts)])

    def halved(self, segments: Segments) -> "Cells":
        """Cut every cell into four, and drop the candidates that are too far from each.

        First come the south-western quarters of all cells, then the south-eastern, north-western and north-eastern.
        """
        chunks = [list(chunk.quarters(segments)) for chunk in self._chunks()]
        parts = [chunk[quarter] for quarter in range(4) for chunk in chunks]
        column, row, distance, counts, before, candidates = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("column", "row", "distance", "counts", "before", "candidates")
        )
        return Cells(column, row, self.corner, self._half, distance, counts, before, candidates)

    def quarters(self, segments: Segments) -> Iterator["Cells"]:
        """Yield the four quarters, each of all cells, with their own candidates."""
        start_x, start_y, step_x, step_y, scale = (values.take(self.candidates) for values in segments.table)
        width, height = self._half
        # Where the middle of the south-western quarter lies, seen from each candidate: metres, and part of its length.
        x, y = (self.column + 0.25) * self.size[0], (self.row + 0.25) * self.size[1]
        away_x = np.repeat(x + self.corner[0], self.counts) - start_x
        away_y = np.repeat(y + self.corner[1], self.counts) - start_y
        part = (away_x * step_x + away_y * step_y) * scale
        step_right, step_up = step_x * scale * width, step_y * scale * height
        for up, right in itertools.product((0, 1), (0, 1)):
            along = part + step_right if right else part.copy()
            along += step_up if up else 0.0
            np.maximum(along, 0.0, out=along)
            np.minimum(along, 1.0, out=along)
            far_x = away_x - along * step_x
            far_x += right * width
            along *= step_y
            far_y = np.subtract(away_y, along, out=along)
            far_y += up * height
            far_x *= far_x
            far_y *= far_y
            far_x += far_y
            yield self._quarter(right, up, far_x)

    def _quarter(self, right: int, up: int, squared: Floats) -> "Cells":
        """Return one quarter of each cell, with the candidates that are near enough to it."""
        first = np.cumsum(self.counts) - self.counts
        distance = np.sqrt(np.minimum.reduceat(squared, first)) if len(first) else np.zeros(0)
        near = squared <= np.repeat((distance + (self.diagonal / 2 + SLACK)) ** 2, self.counts)
        counts = np.add.reduceat(near, first, dtype=np.int64) if len(first) else first
        own = (2 * self.column + right, 2 * self.row + up, self.corner, self._half, distance)
        return Cells(*own, counts, self.counts, self.candidates[near])

    def _in_rows(self, columns: int) -> "Cells":
        """Return the cells row by row."""
        order = np.argsort(self.row * columns + self.column)
        first = np.cumsum(self.counts) - self.counts
        cell, number = numbered(self.counts[order])
        return self._some(order, self.candidates[first[order][cell] + number])

    @property
    def _half(self) -> tuple[float, float]:
        return self.size[0] / 2, self.size[1] / 2

    def _chunks(self) -> list["Cells"]:
        """Return the cells in parts that have about as many candidates as are worked on at a time."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        inner = np.searchsorted(starts, np.arange(PAIRS, starts[-1], PAIRS))
        cuts = np.unique(np.concatenate([[0], inner, [len(self)]]))
        pairs = itertools.pairwise(cuts)
        return [self._some(slice(*pair), self.candidates[slice(*starts[list(pair)])]) for pair in pairs] or [self]

    def _some(self, which: Bools | Ints | slice, candidates: ShortInts) -> "Cells":
        """Return these cells, with their candidates."""
        names = ("column", "row", "distance", "counts", "before")
        return replace(self, **{name: getattr(self, name)[which] for name in names}, candidates=candidates)


def far_from(grid: Grid) -> float:
    """Return how far from all roads the middle of a cell of the grid must be to count as far, in metres."""
    return FAR * math.hypot(*grid.cell_size)
