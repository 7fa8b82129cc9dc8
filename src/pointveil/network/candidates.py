"""Make the cells that find the nearest segment fast: cut until few segments can be nearest to a place in one."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pointveil.cells.arrays import Bools, Bounds, Floats, Ints, ShortInts, numbered
from pointveil.cells.grid import Grid
from pointveil.cells.nearest_segment import SLACK, CandidateGrid
from pointveil.cells.segments import Segments

SEGMENTS_PER_CELL = 4  # of the grid, on average
MOST_HALVINGS, MOST_FIRST = 10, 8  # from the first cells to those of the grid; and how many of the first in a row
CUTS, VAST = 3, 1 << 20  # how often cells near roads with several candidates are cut; once less with so many segments
MANY, MOST_CUTS = 16, 12  # cells with many candidates are cut more often than that
MOST_PAIRS, PAIRS_PER_SEGMENT = 1 << 18, 64  # cells are not cut if they have more candidates in all
STUCK = 0.95  # a cell with many candidates, and more than this part of those of the cell it was cut from, is not cut
PAIRS = 1 << 15  # pairs of cell and candidate at a time: the work stays in the processor's cache
FAR = 2  # diagonals of a cell of the grid: farther from all roads points are rare
MOST_FAR = 64  # candidates that a far cell of the grid may have
BY_CELL = ("column", "row", "distance", "counts", "before")  # the tables of `Cells` with one row for each cell


def search_over(segments: Segments, bounds: Bounds) -> CandidateGrid:
    """Make cells over the part of a box that has segments, then cut those with many candidates."""
    grid, halvings = _grid(segments, bounds)
    level = Cells.of(segments, grid, halvings)
    strides: list[int] = []
    tables: list[tuple[ShortInts, Ints, ShortInts]] = []
    nodes = 0
    place, size = level.row * grid.columns + level.column, len(grid)
    for depth in range(MOST_CUTS + 1):
        near = level.distance <= far_from(grid)
        cut = _worth_cutting(level, near, depth, len(segments))
        nodes += size
        strides.append(int(cut.sum()))
        tables.append(_nodes(level, cut, place, size, nodes))
        if not cut.any():
            break
        level = level.only(cut).halved(segments)
        place, size = np.arange(len(level)), len(level)
    children, counts, candidates = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return CandidateGrid(segments, grid, children, np.array(strides), first, candidates)


def _nodes(level: "Cells", cut: Bools, place: Ints, size: int, known: int) -> tuple[ShortInts, Ints, ShortInts]:
    """Return children, number of candidates, and candidates of `size` nodes, after which `known` nodes are known.

    The cells of this level stand at these places; those that are cut hand their candidates on to their children.
    """
    children, counts = np.full(size, -1, dtype=np.int32), np.zeros(size, dtype=np.int64)
    children[place[cut]] = known + np.arange(cut.sum())
    counts[place[~cut]] = level.counts[~cut]
    return children, counts, level.candidates[np.repeat(~cut, level.counts)]


def _worth_cutting(level: "Cells", near: Bools, depth: int, segments: int) -> Bools:
    """Return which cells to cut: those with many candidates, as far as memory allows, and first of all near roads."""
    many = level.counts > np.where(near & (depth < CUTS - (segments > VAST)), 1, MANY)
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


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one size, with their candidates.

    The distance to a segment is a convex function of the place. So within a cell it is nowhere more than what its
    values at the four corners say in between (bilinearly), and nowhere less than the plane that touches it at the
    middle. Where, at every corner, that plane of one segment lies above the distance to another, the first is nearest
    to no place of the cell: it is no candidate.
    """

    column: Ints  # counted from the corner
    row: Ints  # counted from the corner
    corner: tuple[float, float]  # the south-west one of all, metres
    size: tuple[float, float]  # width and height of a cell, metres
    distance: Floats  # from the middle of each cell to its nearest segment
    counts: Ints  # how many candidates each cell has: at least one
    before: Ints  # how many the cell had that it was cut from
    candidates: ShortInts  # numbers of segments, rising for each cell

    @classmethod
    def of(cls, segments: Segments, grid: Grid, halvings: int) -> "Cells":
        """Return the cells of a grid that are near to segments, and those far from all that have few candidates."""
        # The first, large cells are halved so often that they become those of the grid.
        size = math.ldexp(grid.cell_size[0], halvings), math.ldexp(grid.cell_size[1], halvings)
        columns, rows = grid.columns >> halvings, grid.rows >> halvings
        row, column = np.divmod(np.arange(columns * rows), columns)
        counts = np.full(len(row), len(segments))
        candidates = np.tile(np.arange(len(segments), dtype=np.int32), len(row))
        level = cls(column, row, grid.bounds[:2], size, np.zeros(len(row)), counts, counts, candidates)
        far = far_from(grid)
        for left in reversed(range(halvings)):
            level = level.halved(segments)
            is_far = level.distance > far + (math.hypot(*level.size) / 2 if left else 0.0)
            # Far from roads, a cell of half the size has about a third of the candidates.
            level = level.only(~is_far | (level.counts <= MOST_FAR * 3**left))
        return level._in_rows(grid.columns)  # noqa: SLF001 - of the same class

    def __len__(self) -> int:
        return len(self.counts)

    def only(self, kept: Bools) -> "Cells":
        """Return some of the cells."""
        return self._some(kept, self.candidates[np.repeat(kept, self.counts)])

    def halved(self, segments: Segments) -> "Cells":
        """Cut every cell into four, and drop the candidates that are too far from each.

        First come the south-western quarters of all cells, then the south-eastern, north-western and north-eastern.
        """
        quarters = itertools.product((0, 1), (0, 1), self._chunks())
        parts = [chunk._quarter(segments, right, up) for up, right, chunk in quarters]  # noqa: SLF001 - of the same class
        joined: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in BY_CELL}
        return replace(parts[0], **joined, candidates=np.concatenate([part.candidates for part in parts]))

    def _quarter(self, segments: Segments, right: int, up: int) -> "Cells":
        """Return one quarter of each cell, with the candidates that are near enough to its middle."""
        column, row = 2 * self.column + right, 2 * self.row + up
        size = self.size[0] / 2, self.size[1] / 2
        x = np.asarray(self.corner[0] + (column + 0.5) * size[0], dtype=np.float64)
        y = np.asarray(self.corner[1] + (row + 0.5) * size[1], dtype=np.float64)
        first = np.cumsum(self.counts) - self.counts
        if not len(first):
            return Cells(column, row, self.corner, size, x, first, first, self.candidates)
        cell = np.repeat(np.arange(len(x)), self.counts)
        away_x, away_y, _ = segments.away(x.take(cell), y.take(cell), self.candidates)
        every = np.sqrt(away_x**2 + away_y**2)
        distance = np.minimum.reduceat(every, first)
        nearest = np.empty(len(x), dtype=np.int32)
        least = np.flatnonzero(every == distance.take(cell))
        nearest[cell[least]] = self.candidates[least]  # one of those that are, at the middle
        # A plane that is less steep than the one that touches, and lower, does no harm: nothing is divided by zero.
        gentle = 1 / np.maximum(every, math.hypot(*size) / 2)
        middle, steep_x, steep_y = every**2 * gentle, away_x * gentle, away_y * gentle
        near = np.zeros(len(every), dtype=bool)
        for to_x, to_y in itertools.product((-size[0] / 2, size[0] / 2), (-size[1] / 2, size[1] / 2)):
            limit = np.sqrt(segments.squared_distances(x + to_x, y + to_y, nearest)) + SLACK
            near |= middle + steep_x * to_x + steep_y * to_y <= limit.take(cell)
        counts = np.add.reduceat(near, first, dtype=np.int64)
        return Cells(column, row, self.corner, size, distance, counts, self.counts, self.candidates[near])

    def _in_rows(self, columns: int) -> "Cells":
        """Return the cells row by row."""
        order = np.argsort(self.row * columns + self.column)
        first = np.cumsum(self.counts) - self.counts
        cell, number = numbered(self.counts[order])
        return self._some(order, self.candidates[first[order][cell] + number])

    def _chunks(self) -> list["Cells"]:
        """Return the cells in parts that have about as many candidates as are worked on at a time."""
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        inner = np.searchsorted(starts, np.arange(PAIRS, starts[-1], PAIRS))
        cuts = np.unique(np.concatenate([[0], inner, [len(self)]]))
        pairs = itertools.pairwise(cuts)
        return [self._some(slice(*pair), self.candidates[slice(*starts[list(pair)])]) for pair in pairs] or [self]

    def _some(self, which: Bools | Ints | slice, candidates: ShortInts) -> "Cells":
        """Return these cells, with their candidates."""
        return replace(self, **{name: getattr(self, name)[which] for name in BY_CELL}, candidates=candidates)


def far_from(grid: Grid) -> float:
    """Return how far from all roads the middle of a cell of the grid must be to count as far, in metres."""
    return FAR * math.hypot(*grid.cell_size)
