"""The street that each record is nearest to, and where it lies from there."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints
from pointveil.cells.nearest_segment import CandidateGrid
from pointveil.cells.segments import Segments


@dataclass(frozen=True)
class Nearest:
    """Where records lie, seen from their nearest edge."""

    edge: Ints  # the lowest of equals; -1 for non-finite coordinates
    foot: Floats  # the nearest place on it
    along: Floats  # metres from the edge's beginning to the foot
    offset: Floats  # metres from the foot to the record
    side: Floats  # 1 on the left of the edge, -1 on the right, 0 on the line itself


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

    def nearest(self, xy: Floats) -> Nearest:
        """Return the nearest edge of each record, and where it lies along it; edge -1 for non-finite coordinates."""
        xy = np.asarray(xy, dtype=np.float64)
        with np.errstate(all="ignore"):
            segment, offset = self.search.nearest(xy)
            foot, along, side = self.segments.feet(xy, segment)
        edge = np.where(segment == NOWHERE, NOWHERE, self.segments.edge[segment])
        return Nearest(edge, foot, along, offset, side)

    def distances(self, xy: Floats) -> Floats:
        """Return the distance of each record to its nearest edge, in metres."""
        with np.errstate(all="ignore"):
            return self.search.nearest(np.asarray(xy, dtype=np.float64))[1]
