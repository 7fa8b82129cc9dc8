"""How many points persons have, told from noisy numbers of persons alone (docs/people.md)."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pointveil.cells import Floats
from pointveil.vault import NoisyCounts

ENDS = tuple(2**power for power in range(13))  # bins of 1, 2, 3–4, 5–8 … points; the last holds everybody beyond
FEWEST = 150  # persons, times epsilon, from which on their numbers of points can be told at all
WANTED = 200  # persons, times epsilon, times the part of it that is spent on their numbers of points
LEAST_PART, MOST_PART = Fraction(1, 100), Fraction(1, 10)
STANDS_OUT, GOES_ON = 6.0, 3.0  # standard deviations of its noise that a bin must have, alone or next to such a bin
MORE_NOISE = 1.05  # times the noise that there is at least: what may be paid for letting busy persons count for more
NINE_IN_TEN = 1.645  # standard deviations that a normal error exceeds in one case of ten
WITHIN_BINS = 0.02  # of the total: what is not known about where in their bins persons are, even if bins are alike
MOST_PER_EPSILON = 10**6  # points that one may count for, times what numbers of points cost: more would be all noise
USUAL_POINTS = 8  # that a person may count for, where their numbers cannot be told


@dataclass(frozen=True)
class Sizes:
    """What is known about how many points persons have."""

    max_points: int  # that one may count for
    most_seen: int  # the end of the last bin that counts
    points: int  # of all persons up to there
    margin: int  # in nine cases of ten `points` is off by no more
    votes: tuple[float, float]  # of all persons, in persons that count in full, and the standard deviation of that


def part_for_sizes(persons: int, epsilon: Fraction) -> Fraction | None:
    """Return the part of epsilon for numbers of points, from a noisy number of persons; None if it is no use."""
    if persons * epsilon < FEWEST:
        return None
    return min(max(Fraction(math.ceil(1000 * WANTED / (persons * epsilon)), 1000), LEAST_PART), MOST_PART)


def most_points(spent: Fraction) -> int:
    """Return the most points that a person may count for if noisy numbers choose it, by what these cost."""
    return min(max(int(MOST_PER_EPSILON * spent), 1), int(ENDS[-1]))


def learn_sizes(noisy: NoisyCounts, given: int | None = None) -> Sizes:
    """Return what the noisy numbers of persons in bins tell; `given` is what a person may count for, if it was said."""
    persons, deviation = noisy.values.astype(np.float64), math.sqrt(noisy.variance)
    # Bins beyond the last that stands out, and one more, are within their noise: a few persons too many there would be
    # many points.
    seen = min(_last(persons / deviation) + 2, len(ENDS))
    middle = _middles(np.maximum(persons, 0.0))
    points = max(float((persons * middle)[:seen].sum()), 0.0)
    # Of persons who are too few to be seen, there may be as many as noise hides; they would be in the next bin first.
    noise = deviation * math.hypot(*middle[:seen], ENDS[seen - 1])
    margin = NINE_IN_TEN * math.hypot(noise, WITHIN_BINS * points, *_unplaced(np.maximum(persons, 0.0))[:seen])
    chosen = min(_chosen(persons[:seen], middle[:seen]), most_points(noisy.epsilon)) if given is None else given
    full = np.minimum(middle, chosen) / chosen
    votes = max(float((persons * full).sum()), 1.0)
    counted = (votes, deviation * math.hypot(*full))
    return Sizes(chosen, ENDS[seen - 1], max(round(points), 1), math.ceil(margin), counted)


def _last(deviations: Floats) -> int:
    """Return the last bin that stands out from its noise, or goes on from such a one; (bins,) in deviations."""
    last = max(np.flatnonzero(deviations > STANDS_OUT), default=0)
    while last + 1 < len(deviations) and deviations[last + 1] > GOES_ON:
        last += 1
    return int(last)


def _unplaced(persons: Floats) -> Floats:
    """Return by how much the points of each bin may be off, (bins,), where its neighbours do not tell their places."""
    width = np.array((0, *(end // 2 - 1 for end in ENDS[1:]))) / math.sqrt(12)
    beside = np.append(0.0, persons[:-1]) + np.append(persons[1:], 0.0)
    return np.asarray(width * np.maximum(persons - beside / 2, 0.0), dtype=np.float64)


def _middles(persons: Floats) -> Floats:
    """Return the mean number of points in each bin, (bins,): within a bin persons thin out as from bin to bin."""
    low, high = np.array((1, *(end + 1 for end in ENDS[:-1]))), np.array(ENDS)
    found = high.astype(np.float64)
    for number in range(2, len(ENDS)):
        points = np.arange(low[number], high[number] + 1)
        before, after = persons[number - 1] + 1.0, persons[min(number + 1, len(ENDS) - 1)] + 1.0
        # Two doublings lie between the neighbours; a bin has twice as many numbers as the one before it.
        slope = np.clip(math.log2(after / before) / 2, -2.0, 2.0) - 1.0
        weight = points**slope
        found[number] = (weight * points).sum() / weight.sum()
    return found


def _chosen(persons: Floats, middle: Floats) -> int:
    """Return the most points that a person may count for, at hardly more noise than there is at least.

    Noise is as wide as a person may count for. Beside all votes it is least if everybody counts for as much as they
    may; the more persons have fewer points than that, the wider it is beside them.
    """
    able = [1]
    for end in ENDS[1 : len(persons)]:
        votes = float((persons * np.minimum(middle, end)).sum())
        if votes > 0 and end * float(persons.sum()) <= MORE_NOISE * votes:
            able.append(end)
    return max(able)
