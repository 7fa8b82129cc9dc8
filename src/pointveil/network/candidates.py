"""Make the cells that find the nearest segment fast: cut until few segments can be nearest to a place in one."""

import math
from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Bools, Bounds, Ints, ShortInts
from pointveil.cells.grid import Grid
from pointveil.cells.nearest_segment import CandidateGrid
from pointveil.cells.segments import Segments
from pointveil.network.candidate_cells import Cells, far_from

SEGMENTS_PER_CELL = 4  # of the grid, on average
MOST_HALVINGS, MOST_FIRST = 10, 8  # from the first cells to those of the grid; and how many of the first in a row
FEW = 2  # a cell with so few candidates is fine enough
CUTS = 2  # how often other cells near roads are cut
MANY, MOST_CUTS = 16, 12  # cells with many candidates are cut more often than that
MOST_PAIRS, PAIRS_PER_SEGMENT = 1 << 18, 64  # cells are not cut if they have more candidates in all
STUCK = 0.95  # a cell with many candidates, and more than this part of those of the cell it was cut from, is not cut


def search_over(segments: Segments, bounds: Bounds) -> CandidateGrid:
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
    return CandidateGrid(segments, grid, children, np.array(nodes.strides), first, candidates)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """What is known of each level of nodes, while the grid is made."""

    children: list[ShortInts]
    strides: list[int]
    counts: list[Ints]
    candidates: list[ShortInts]

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
