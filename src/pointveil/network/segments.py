"""The straight pieces of all roads: where a place along a road is, and how far a point is from one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.world.projection import Floats

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Segments:
    """Straight segments, in the order in which they follow each other along numbered edges.

    Parameters
    ----------
    start, end
        Where each segment begins and ends, in metres.
    edge
        The edge that each segment is part of, in rising order; every edge has at least one.
    """

    start: Floats
    end: Floats
    edge: Ints

    @classmethod
    def of(cls, lines: NDArray[Any]) -> "Segments":
        """Cut lines, one per edge, at their vertices; none may be of zero length."""
        points, line = shapely.get_coordinates(lines, return_index=True)
        whole = (line[1:] == line[:-1]) & (points[1:] != points[:-1]).any(axis=1)
        return cls(points[:-1][whole], points[1:][whole], line[1:][whole].astype(np.int64))

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

    def places(self, edge: NDArray[Any], along: Floats) -> tuple[Floats, Floats]:
        """Return the points at these distances along edges, and the directions of the edges there.

        Parameters
        ----------
        edge
            The edge of each point.
        along
            Metres from the beginning of that edge; what lies beyond its ends is brought to them.
        """
        segment = self._segment_at(edge, along)
        length = self.lengths[segment]
        direction = (self.end[segment] - self.start[segment]) / length[:, None]
        part = np.clip(along - self.before[segment], 0.0, length)
        return self.start[segment] + direction * part[:, None], direction

    def _segment_at(self, edge: NDArray[Any], along: Floats) -> Ints:
        """Return the segment in which each distance along an edge lies."""
        # Laid end to end, edges begin where the ones before them end, so one search finds the segment of any.
        offset = np.concatenate([[0.0], np.cumsum(self.edge_lengths)])
        starts = offset[self.edge] + self.before
        found = np.searchsorted(starts, offset[edge] + along, side="right") - 1
        last = np.append(self.first[1:], len(self)) - 1
        return np.asarray(np.clip(found, self.first[edge], last[edge]))

    @cached_property
    def table(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Start x and y, step x and y, and one over the squared length of each segment."""
        step = self.end - self.start
        scale = 1.0 / (step[:, 0] ** 2 + step[:, 1] ** 2)
        columns = self.start[:, 0], self.start[:, 1], step[:, 0], step[:, 1], scale
        x, y, step_x, step_y, scale = (np.ascontiguousarray(column) for column in columns)
        return x, y, step_x, step_y, scale

    def squared_distances(self, x: Floats, y: Floats, segment: NDArray[Any]) -> Floats:
        """Return the squared distance of each point to the segment given with it.

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

    def feet(self, xy: Floats, segment: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """Return the nearest place on each point's segment, its distance along the edge, and the side of the point.

        Parameters
        ----------
        xy
            Points, in metres.
        segment
            The segment of each point.

        Returns
        -------
        tuple
            The feet; metres along the edge; and 1 for points on the left, -1 on the right, 0 on the line itself.
        """
        start, end = self.start[segment], self.end[segment]
        step, away = end - start, np.where(np.isfinite(xy), xy - start, 0.0)
        part = np.clip((away * step).sum(axis=1) * self.table[4][segment], 0.0, 1.0)
        foot = np.where((part >= 1)[:, None], end, start + step * part[:, None])
        along = self.before[segment] + part * self.lengths[segment]
        side = np.sign(step[:, 0] * away[:, 1] - step[:, 1] * away[:, 0])
        return foot, along, side

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.ascontiguousarray(self.end[:, 0]), np.ascontiguousarray(self.end[:, 1])
