"""Cut the expected people in two, again and again, into regions of equal people."""

import math
from dataclasses import dataclass, field

import numpy as np

from pointveil.cells import Floats, PeopleRegions

NOISE_ROOM = 8.0
"""People times epsilon that a cell of region and bin should hold on average."""
MOST_LEVELS = 12
PLACES = 2**14
"""How many places, drawn from the released map, stand for it when regions are cut."""


@dataclass(eq=False)
class Tree:
    """Regions of equal people, as many levels of halves as are wanted; fewer are the upper part of the same tree."""

    places: Floats  # (n, 2) metres, drawn from the released map: where people are expected; never real records
    people: float  # how many there seem to be
    _deepest: PeopleRegions | None = field(default=None, repr=False)

    def regions(self, levels: int) -> PeopleRegions:
        """Return 2**levels regions."""
        if self._deepest is None or self._deepest.levels < levels:
            self._deepest = cut_people(self.places, levels)
        cuts = 2**levels - 1
        return PeopleRegions(self._deepest.axis[:cuts], self._deepest.at[:cuts])

    def expected(self, levels: int) -> Floats:
        """Return the people expected in each of 2**levels regions."""
        found = np.bincount(self.regions(levels).locate(self.places), minlength=2**levels)
        return np.asarray(found * (max(self.people, 0.0) / max(len(self.places), 1)), dtype=np.float64)


def effective_bins(histogram: Floats) -> float:
    """Return how many equally full bins would be as concentrated as these: one over the sum of squared shares."""
    total = float(histogram.sum())
    return float(len(histogram)) if total <= 0 else total**2 / float((histogram**2).sum())


def region_levels(people: float, epsilon: float, bins: float) -> int:
    """Return how often to cut so many people, so that a cell of region and bin can be told from its noise.

    `epsilon` is that of the noise (divided by the points that one person may have). Of `bins` there are as many as the
    table has; where the histogram is known, `effective_bins` of it.
    """
    regions = people * epsilon / (NOISE_ROOM * bins)
    return min(max(round(math.log2(max(regions, 1.0))), 0), MOST_LEVELS)


def cut_people(places: Floats, levels: int) -> PeopleRegions:
    """Return 2**levels regions, each cut across its longer side into two halves with equally many places (n, 2)."""
    axis, at = np.zeros(2**levels - 1, dtype=np.int8), np.zeros(2**levels - 1)
    held = {0: np.arange(len(places))}
    for node in range(len(at)):
        here = held.pop(node)
        # Where nobody is expected, repeating the cut above sends everything to one side, and nothing is lost.
        above = (node - 1) // 2
        axis[node], at[node] = halve(places[here]) if len(here) else (axis[above], at[above])
        upper = places[here, axis[node]] >= at[node]
        held[2 * node + 1], held[2 * node + 2] = here[~upper], here[upper]
    return PeopleRegions(axis, at)


def halve(places: Floats) -> tuple[int, float]:
    """Return the axis and the place (metres) of the cut that halves the places best, across the longer side."""
    axis = int(np.argmax(np.ptp(places, axis=0)))
    values = np.sort(places[:, axis])
    # A cut lies between two values that differ, so that no rounding can move a place across it.
    between = np.flatnonzero(values[1:] > values[:-1])
    if not len(between):
        return axis, float(values[0])
    last = between[np.argmin(np.abs(2 * (between + 1) - len(values)))]
    return axis, float((values[last] + values[last + 1]) / 2)
