"""The street that each record is nearest to, and where it lies from there."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints, ShortInts
from pointveil.cells.nearest_segment import CandidateGrid
from pointveil.cells.segments import Segments


@dataclass(frozen=True, eq=False)
class Nearest:
    """Where records lie, seen from their nearest edge; what is not asked for is not worked out."""

    edge: Ints  # the lowest of equals; -1 for non-finite coordinates
    offset: Floats  # metres from the foot to the record
    xy: Floats  # the records themselves
    segment: ShortInts  # the nearest straight segment
    part: Floats  # how far through it the foot is, as its `away` tells
    segments: Segments

    @property
    def foot(self) -> Floats:
        """The nearest place on it."""
        with np.errstate(all="ignore"):
            return self.segments.feet(self.xy, self.segment)

    @property
    def along(self) -> Floats:
        """Metres from the edge's beginning to the foot."""
        with np.errstate(all="ignore"):
            return self.segments.along(self.part, self.segment)

    @property
    def side(self) -> Floats:
        """1 on the left of the edge, -1 on the right, 0 on the line itself."""
        with np.errstate(all="ignore"):
            return self.segments.sides(self.xy, self.segment)


@dataclass(frozen=True, eq=False)
class Streets:
    """Numbered edges of a street network, to be searched."""

    search: CandidateGrid  # finds the nearest straight segment

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def segments(self) -> Segments:
        """The straight segments of all edges."""
        return self.search.segments

    @property
    def lengths(self) -> Floats:
        """Metres of each edge."""
        return self.segments.edge_lengths

    def find(self, xy: Floats) -> ShortInts:
        """Return the nearest straight segment of each record, or -1: all that `nearest` has to search for."""
        with np.errstate(all="ignore"):
            return self.search.segment(np.asarray(xy, dtype=np.float64))

    def edges(self, xy: Floats) -> Ints:
        """Return the nearest edge of each record, the lowest of equals, or -1; the fastest to find."""
        return self._edge.take(self.find(xy))

    def nearest(self, xy: Floats, found: ShortInts | None = None) -> Nearest:
        """Return the nearest edge of each record, and where it lies along it; edge -1 for non-finite coordinates.

        What `find` said of these records need not be searched for again.
        """
        xy = np.asarray(xy, dtype=np.float64)
        segment = self.find(xy) if found is None else found
        with np.errstate(all="ignore"):
            offset, part = self.search.measured(xy, segment)
        return Nearest(self._edge.take(segment), offset, xy, segment, part, self.segments)

    def distances(self, xy: Floats) -> Floats:
        """Return the distance of each record to its nearest edge, in metres."""
        return self.nearest(xy).offset

    @cached_property
    def _edge(self) -> Ints:
        """The edge of each segment, and after them nowhere."""
        return np.append(self.segments.edge, NOWHERE)
