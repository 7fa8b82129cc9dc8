"""The straight pieces of streets as tables, and where a place along a street is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Bounds, Floats, Ints, Streets
from pointveil.cells.arrays import stepped
from pointveil.cells.segments import Segments
from pointveil.network.candidates import search_over
from pointveil.world.shapes import straight_pieces


def segments_of(lines: NDArray[Any]) -> Segments:
    """Cut lines, one per edge, at their vertices; none may be of zero length."""
    start, end, edge = straight_pieces(lines)
    whole = (start != end).any(axis=1)
    return Segments(start[whole], end[whole], edge[whole])


def streets_of(lines: NDArray[Any], bounds: Bounds) -> Streets:
    """Return the table that finds the nearest of these lines, fast within these bounds."""
    return Streets(search_over(segments_of(lines), bounds))


def places_along(segments: Segments, edge: Ints, along: Floats) -> tuple[Floats, Floats]:
    """Return the places at these metres along edges, and the directions of the edges there.

    What lies beyond the ends of an edge is brought to them.
    """
    # Laid end to end, edges begin where the ones before them end, so one search finds the segment of any place.
    first = segments.first.take(edge)
    last = np.append(segments.first[1:], len(segments)).take(edge) - 1
    found = np.searchsorted(segments.end_to_end, segments.end_to_end.take(first) + along, side="right") - 1
    segment = np.clip(found, first, last)
    part = np.clip(along - segments.before.take(segment), 0.0, segments.lengths.take(segment))
    direction = segments.directions.take(segment, axis=0)
    return stepped(segments.start.take(segment, axis=0), direction, part), direction
