"""How far beside a street places stay nearest to it, before another street is nearer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Streets
from pointveil.cells.arrays import Floats, Ints, blocks, rows, stepped
from pointveil.network import places_along

STEP = 4.0  # metres: one width for each stretch of a street that is so long
ROUNDS, CLOSE = 5, 0.1  # how often a width is cut down at most; by less than this, in metres, it is found
AT_ONCE = 2**17  # places that are looked at at a time: a bound on memory

Widths = NDArray[np.float32]  # (n, 2) metres, on the left and on the right


@dataclass(frozen=True, eq=False)
class ClearWidths:
    """The widths beside short stretches of all edges, to look up instead of searching for each point."""

    streets: Streets
    counts: Ints  # (edges,): stretches of equal length
    first: Ints  # (edges,): its first stretch
    widths: Widths  # of each stretch, at its middle

    @classmethod
    def of(cls, streets: Streets, reach: float) -> "ClearWidths":
        """Work out the widths of all stretches, up to the reach in metres."""
        counts = stretches(streets)
        edge = np.repeat(np.arange(len(counts)), counts)
        first = np.cumsum(counts) - counts
        along = (np.arange(len(edge)) - first[edge] + 0.5) / counts[edge] * streets.lengths[edge]
        widths = np.empty((len(edge), 2), dtype=np.float32)
        for block in blocks(len(edge), AT_ONCE):
            place, direction = places_along(streets.segments, edge[block], along[block])
            left = np.column_stack([-direction[:, 1], direction[:, 0]])
            for side, toward in enumerate((left, -left)):
                widths[block, side] = _width(streets, reach, edge[block], place, toward)
        return cls(streets, counts, first, widths)

    def at(self, edge: Ints, along: Floats) -> Widths:
        """Return the widths at places so many metres along edges, on straight lines through those that are known."""
        counts = self.counts.take(edge)
        through = along / self.streets.lengths.take(edge) * counts - 0.5  # from the middle of the first stretch
        number = np.clip(through.astype(np.int64), 0, np.maximum(counts - 2, 0))
        here = self.first.take(edge) + number
        both = self.widths.view(np.complex64)[:, 0]  # left and right as one number, which is twice as fast
        there = both.take(here + (counts > 1))
        known = both.take(here)
        there -= known
        there *= through - number
        there += known
        widths = there.view(np.float32).reshape(-1, 2)
        return np.maximum(widths, 0.0, out=widths)


def stretches(streets: Streets) -> Ints:
    """Return how many stretches each edge has."""
    return np.ceil(streets.lengths / STEP).astype(np.int64)


def _width(streets: Streets, reach: float, edge: Ints, place: Floats, toward: Floats) -> Floats:
    """Return how far in one direction from places on edges another edge is nearer, at most the reach in metres."""
    # A point at this width is the middle of a circle through its place. If another edge is nearer to it, some of that
    # edge is within the circle: then the circle through that place, too, is the largest that can be. A few times over.
    width, left = np.full(len(edge), reach), np.arange(len(edge))
    for _ in range(ROUNDS):
        xy = stepped(rows(place, left), rows(toward, left), width[left])
        segment = streets.find(xy)
        nearer = np.flatnonzero(streets.segments.edge[segment] != edge[left])
        left = left[nearer]
        way, ahead = streets.segments.feet(rows(xy, nearer), segment[nearer]) - rows(place, left), rows(toward, left)
        ahead *= way
        way *= way
        with np.errstate(all="ignore"):
            forward = ahead[:, 0] + ahead[:, 1]
            smaller = np.where(forward > 0, (way[:, 0] + way[:, 1]) / (2 * forward), 0.0)
        change = width[left] - smaller
        width[left] -= np.maximum(change, 0.0)
        left = left[change > CLOSE]
    return width
