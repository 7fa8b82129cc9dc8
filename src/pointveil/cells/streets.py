"""The street that each record is nearest to, and where it lies from there."""

from dataclasses import dataclass

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
    segment: Ints  # the nearest straight segment
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
            return self.segments.along(self.xy, self.segment)

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
            return self.search.segment(np.asarray(xy, dtype=np.float64)).astype(np.int32)

    def edges(self, xy: Floats) -> Ints:
        """Return the nearest edge of each record, the lowest of equals, or -1; the fastest to find."""
        with np.errstate(all="ignore"):
            segment = self.search.of_nearest_edge(np.asarray(xy, dtype=np.float64))
        return np.where(segment == NOWHERE, NOWHERE, self.segments.edge[segment])

    def nearest(self, xy: Floats, found: ShortInts | None = None) -> Nearest:
        """Return the nearest edge of each record, and where it lies along it; edge -1 for non-finite coordinates.

        What `find` said of these records need not be searched for again.
        """
        xy = np.asarray(xy, dtype=np.float64)
        with np.errstate(all="ignore"):
            segment, offset = self.search.nearest(xy) if found is None else self.search.measured(xy, found)
        edge = np.where(segment == NOWHERE, NOWHERE, self.segments.edge[segment])
        return Nearest(edge, offset, xy, segment, self.segments)

    def distances(self, xy: Floats) -> Floats:
        """Return the distance of each record to its nearest edge, in metres."""
        with np.errstate(all="ignore"):
            return self.search.nearest(np.asarray(xy, dtype=np.float64))[1]
