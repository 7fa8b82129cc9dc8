"""The straight pieces of all streets, and how far a record is from one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Segments:
    """Straight segments, in the order in which they follow each other along numbered edges."""

    start: Floats  # (segments, 2) metres
    end: Floats  # (segments, 2) metres
    edge: Ints  # what each is part of, in rising order; every edge has at least one

    def __len__(self) -> int:
        return len(self.edge)

    @cached_property
    def lengths(self) -> Floats:
        """Metres of each segment."""
        return np.asarray(np.hypot(*(self.end - self.start).T), dtype=np.float64)

    @cached_property
    def first(self) -> Ints:
        """The first segment of each edge."""
        return np.flatnonzero(np.diff(self.edge, prepend=-1))

    @cached_property
    def before(self) -> Floats:
        """Metres of the edge that lie before each segment."""
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        return np.asarray(np.maximum(starts - starts[self.first][self.edge], 0.0), dtype=np.float64)

    @cached_property
    def edge_lengths(self) -> Floats:
        """Metres of each edge."""
        return np.add.reduceat(self.lengths, self.first)

    @cached_property
    def table(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Start x and y, step x and y, and one over the squared length of each segment."""
        step = self.end - self.start
        scale = 1.0 / (step[:, 0] ** 2 + step[:, 1] ** 2)
        columns = self.start[:, 0], self.start[:, 1], step[:, 0], step[:, 1], scale
        x, y, step_x, step_y, scale = (np.ascontiguousarray(column) for column in columns)
        return x, y, step_x, step_y, scale

    def squared_distances(self, x: Floats, y: Floats, segment: NDArray[Any]) -> Floats:
        """Return the squared distance of each record to the segment given with it.

        Beyond the end of a segment the vertex itself is used, so that all edges that meet there are exactly as far.
        """
        start_x, start_y, step_x, step_y, scale = (column.take(segment) for column in self.table)
        away_x, away_y = x - start_x, y - start_y
        part = away_x * step_x
        part += away_y * step_y
        part *= scale
        np.maximum(part, 0.0, out=part)
        step_x *= part
        step_y *= part
        away_x -= step_x
        away_y -= step_y
        beyond = np.flatnonzero(part >= 1)
        ends = segment[beyond]
        away_x[beyond] = x[beyond] - self._ends[0].take(ends)
        away_y[beyond] = y[beyond] - self._ends[1].take(ends)
        away_x *= away_x
        away_y *= away_y
        away_x += away_y
        return away_x

    def along(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return metres along the edge to the foot of each record on its segment."""
        return self.before.take(segment) + self._part(xy, segment) * self.lengths.take(segment)

    def _part(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return how far through its segment the foot of each record is, from 0 to 1; 0 if that is not known."""
        start_x, start_y, step_x, step_y, scale = (column.take(segment) for column in self.table)
        part = (xy[:, 0] - start_x) * step_x
        part += (xy[:, 1] - start_y) * step_y
        part *= scale
        np.fmax(part, 0.0, out=part)
        return np.fmin(part, 1.0, out=part)

    def feet(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return the foot of each record on its segment."""
        start, end, part = self.start[segment], self.end[segment], self._part(xy, segment)[:, None]
        return np.asarray(np.where(part >= 1, end, start + (end - start) * part), dtype=np.float64)

    def sides(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return the side of its segment that each record is on (`Nearest` says which)."""
        start, end = self.start[segment], self.end[segment]
        step, away = end - start, np.where(np.isfinite(xy), xy - start, 0.0)
        return np.asarray(np.sign(step[:, 0] * away[:, 1] - step[:, 1] * away[:, 0]), dtype=np.float64)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.ascontiguousarray(self.end[:, 0]), np.ascontiguousarray(self.end[:, 1])
