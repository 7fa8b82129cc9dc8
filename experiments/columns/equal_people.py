"""Cut the expected people in two, again and again, into regions of equal people."""

import math

import numpy as np
from numpy.typing import NDArray
from people_regions import PeopleRegions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOISE_ROOM = 8.0
"""People times epsilon that a cell of region and bin should hold on average."""
MOST_LEVELS = 12
UNITS = 2**40  # the weights add up to about so many whole units


def effective_bins(histogram: Floats) -> float:
    """Return how many equally full bins would be as concentrated as these: one over the sum of squared shares."""
    total = float(histogram.sum())
    return float(len(histogram)) if total <= 0 else total**2 / float((histogram**2).sum())


def region_levels(people: float, epsilon: float, bins: float) -> int:
    """Return how often to cut, so that a cell of region and bin can be told from its noise.

    Parameters
    ----------
    people
        How many there seem to be.
    epsilon
        Of the noise in the table of regions and bins (divided by the points that one person may have).
    bins
        How many bins the table has; where the histogram is known, `effective_bins` of it.
    """
    regions = people * epsilon / (NOISE_ROOM * bins)
    return min(max(round(math.log2(max(regions, 1.0))), 0), MOST_LEVELS)


def cut_people(places: Floats, weights: Floats, levels: int) -> PeopleRegions:
    """Return 2**levels regions, each cut in two halves of equal people across its longer side.

    The same places and weights give the same cuts on every machine: sums are of whole units.

    Parameters
    ----------
    places
        (n, 2) metres: where people are expected. Released or drawn from noisy answers, never real records.
    weights
        (n,) how many are expected in each place, not negative.
    levels
        How often to cut.
    """
    units = np.rint(weights * (UNITS / max(float(weights.sum()), 1e-300))).astype(np.int64)
    axis, at = np.zeros(2**levels - 1, dtype=np.int8), np.zeros(2**levels - 1)
    held = {0: np.flatnonzero(units > 0)}
    for node in range(len(at)):
        here = held.pop(node)
        if not len(here):
            # Nobody is expected here: repeating the cut above sends everything to one side, and nothing is lost.
            axis[node], at[node] = axis[(node - 1) // 2], at[(node - 1) // 2]
        else:
            axis[node], at[node] = halve(places[here], units[here])
        upper = places[here, axis[node]] >= at[node]
        held[2 * node + 1], held[2 * node + 2] = here[~upper], here[upper]
    return PeopleRegions(axis, at)


def halve(places: Floats, units: Ints) -> tuple[int, float]:
    """Return the axis and place of the cut that halves the units best, across the longer side."""
    axis = int(np.argmax(np.ptp(places, axis=0)))
    order = np.argsort(places[:, axis], kind="stable")
    values, below = places[order, axis], np.cumsum(units[order])
    # A cut lies between two values that differ, so that no rounding can move a place across it.
    between = np.flatnonzero(values[1:] > values[:-1])
    if not len(between):
        return axis, float(values[0])
    last = between[np.argmin(np.abs(2 * below[between] - below[-1]))]
    return axis, float((values[last] + values[last + 1]) / 2)
