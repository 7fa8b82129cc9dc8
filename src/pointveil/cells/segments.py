"""The straight pieces of all streets, and how far a record is from one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, stepped


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
    def directions(self) -> Floats:
        """(segments, 2): the direction of each segment, of length one."""
        return np.asarray((self.end - self.start) / self.lengths[:, None], dtype=np.float64)

    @cached_property
    def end_to_end(self) -> Floats:
        """Metres before each segment, if all edges were laid end to end."""
        edges = np.concatenate([[0.0], np.cumsum(self.edge_lengths)])
        return np.asarray(edges[self.edge] + self.before, dtype=np.float64)

    @cached_property
    def table(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Start x and y, step x and y, and one over the squared length of each segment."""
        step = self.end - self.start
        scale = 1.0 / (step[:, 0] ** 2 + step[:, 1] ** 2)
        columns = self.start[:, 0], self.start[:, 1], step[:, 0], step[:, 1], scale
        x, y, step_x, step_y, scale = (np.ascontiguousarray(column) for column in columns)
        return x, y, step_x, step_y, scale

    def away(self, x: Floats, y: Floats, segment: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """Return the way, along x and along y, to each record from the nearest place of the segment given with it.

        And how far through the segment that place is, from 0 at its start; 1 and more mean its end. Beyond the end the
        vertex itself is used, so that all edges that meet there are exactly as far.
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
        return away_x, away_y, part

    def squared_distances(self, x: Floats, y: Floats, segment: NDArray[Any]) -> Floats:
        """Return the squared distance of each record to the segment given with it."""
        away_x, away_y, _ = self.away(x, y, segment)
        away_x *= away_x
        away_y *= away_y
        away_x += away_y
        return away_x

    def along(self, part: Floats, segment: NDArray[Any]) -> Floats:
        """Return metres along the edge to a place so far through each segment, as `away` tells it."""
        return self.before.take(segment) + _within(part) * self.lengths.take(segment)

    def feet(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return the foot of each record on its segment."""
        part = _within(self.away(xy[:, 0], xy[:, 1], segment)[2])
        start = self.start.take(segment, axis=0)
        foot = stepped(start, self.end.take(segment, axis=0) - start, part)
        beyond = np.flatnonzero(part >= 1)
        foot[beyond] = self.end[segment[beyond]]
        return foot

    def sides(self, xy: Floats, segment: NDArray[Any]) -> Floats:
        """Return the side of its segment that each record is on (`Nearest` says which)."""
        start, end = self.start[segment], self.end[segment]
        step, away = end - start, np.where(np.isfinite(xy), xy - start, 0.0)
        return np.asarray(np.sign(step[:, 0] * away[:, 1] - step[:, 1] * away[:, 0]), dtype=np.float64)

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.ascontiguousarray(self.end[:, 0]), np.ascontiguousarray(self.end[:, 1])


def _within(part: Floats) -> Floats:
    """Return how far through its segment each place is, from 0 to 1; 0 if that is not known."""
    return np.fmin(np.fmax(part, 0.0), 1.0)
