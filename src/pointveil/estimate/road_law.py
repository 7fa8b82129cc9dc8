"""How much likelier a place is for being near a road: one factor per distance for the whole city."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pointveil.cells import Bools, Floats
from pointveil.estimate.consistency import project_to_total
from pointveil.vault import NoisyCounts

ROUNDS = 10
MOST_FITTED = 2**21  # pairs of region and bin that a law is fitted to
LEAST = 1e-6
CLEAR = 5.0  # standard deviations of the noise that no bin's count is expected to be off by
SETTLING_ROUNDS = 60
CLOSE = 0.1  # standard deviations within which a bin of distance counts as fitted
FARTHEST = 1e3  # a factor that would have to be farther from one stands for something that cannot be had


class RoadLaw(NamedTuple):
    """A factor for each bin of distance, at most one; and how many people each bin should have."""

    factor: Floats
    people: Floats


def learn_road_law(tables: Iterable[Floats], counts: Floats, distances: NoisyCounts) -> RoadLaw:
    """Return the factors by distance under which the regions' counts reproduce the noisy histogram of distances.

    `tables` are the areas in each region at each distance, (regions, bins), some regions at a time.
    """
    bins = len(distances.values)
    flat, reach, of_fitted = np.zeros((3, bins))
    fitted, first = [np.zeros((0, bins))], 0
    every = len(counts) * bins // MOST_FITTED | 1  # of many regions, some tell a law as well
    for table in tables:
        people, some = counts[first : first + len(table)], slice(-first % every, None, every)
        rate = people / np.maximum(table.sum(axis=1), 1e-12)
        flat += rate @ table
        reach += people @ (table > 0)
        of_fitted += rate[some] @ table[some]
        fitted.append(table[some].copy())
        first += len(table)
    # The histogram is first shrunk towards what the counts alone would give: with people spread evenly in each region.
    people = shrink(distances.values.astype(np.float64), flat, distances.variance)
    people = np.where(flat > 0, project_to_total(people, flat.sum()), 0.0)
    people = at_most(people, most_by_bin(reach, distances.variance))
    # Those that tell have their part of the people of each bin, which may be none.
    theirs = people * of_fitted / np.maximum(flat, 1e-12)
    return RoadLaw(fit_factors(np.concatenate(fitted), counts[:first:every], theirs), people)


def most_by_bin(reach: Floats, variance: float) -> Floats:
    """Return how many people each bin may have, (bins,), given those in all regions that have such places."""
    # Noise may give a bin more people than its regions hold. Its factor would then grow without limit, and next to it
    # all others would look alike. So a bin takes at most half of its regions' people, unless noise cannot explain more.
    return np.asarray(np.maximum(reach / 2, reach - CLEAR * np.sqrt(variance)), dtype=np.float64)


def at_most(people: Floats, most: Floats) -> Floats:
    """Return (n,) people with none above its `most`; what is cut off goes to the others in proportion, if it can."""
    total = people.sum()
    kept = np.minimum(people, most)
    for _ in range(ROUNDS):
        free = kept < most
        here = float(kept[free].sum())
        if here <= 0:
            break
        kept[free] *= (total - float(kept[~free].sum())) / here
        kept = np.minimum(kept, most)
    return kept


def settle(table: Floats, squares: Floats, held: Bools, people: Floats, variance: float) -> tuple[Floats, Floats]:
    """Return factors by square and by bin under which squares have their totals and bins of distance their people.

    The table has the people of each square in each bin. Bins and squares have the last word in turn, until the bins fit
    well within their noise. Squares have the very last: where both cannot be had, places win over distances. Those that
    are not `held` are too unsure of their own totals, and have one together, so that nobody is lost.
    """
    group = np.where(held, np.arange(len(squares)), len(squares))
    totals = np.bincount(group, squares, len(squares) + 1)
    by_bin = np.ones(len(people))
    close = CLOSE * np.sqrt(variance)
    for left in reversed(range(SETTLING_ROUNDS)):
        now = table @ by_bin
        by_square = (totals / np.maximum(np.bincount(group, now, len(totals)), 1e-12))[group]
        here = by_square @ table * by_bin
        if left == 0 or np.abs(here - people).max() < close:
            break
        by_bin = np.clip(by_bin * people / np.maximum(here, 1e-9), 1 / FARTHEST, FARTHEST)
    return by_square, by_bin


def shrink(noisy: Floats, prior: Floats, variance: float) -> Floats:
    """Return (n,) noisy values shrunk towards a prior (James–Stein): more, the more of the gap noise explains."""
    gap = noisy - prior
    kept = max(0.0, 1 - (len(noisy) - 2) * variance / max(float((gap**2).sum()), 1e-9))
    return np.asarray(prior + gap * min(kept, 1.0), dtype=np.float64)


def fit_factors(table: Floats, counts: Floats, people: Floats) -> Floats:
    """Return a factor per bin such that counts, shared out by area times factor, give `people` in each bin.

    The table has the area of each region in each bin, (regions, bins).
    """
    # Iterative proportional fitting: each round rescales the bins, then the regions back to their counts. Factors are
    # scaled so that the largest is one; none is below a millionth of it, so that no place becomes impossible.
    factor = np.ones(len(people))
    for _ in range(ROUNDS):
        now = (counts / np.maximum(table @ factor, 1e-12)) @ table
        factor = np.where(now > 1e-9, people / np.maximum(now, 1e-9), factor)
        factor = np.maximum(factor / factor.max(), LEAST) if factor.max() > 0 else np.ones(len(people))
    return np.asarray(factor, dtype=np.float64)
