"""How much likelier a place is for being near a road: one factor per distance for the whole city."""

from itertools import pairwise, starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Bools, Floats, Ints
from pointveil.estimate.consistency import project_to_total
from pointveil.vault import NoisyCounts

ROUNDS = 10
ENTRIES = 2**20  # at a time: a bound on memory
LEAST = 1e-6
CLEAR = 5.0  # standard deviations of the noise that no bin's count is expected to be off by
SETTLING_ROUNDS = 60
CLOSE = 0.1  # standard deviations within which a bin of distance counts as fitted
FARTHEST = 1e3  # a factor that would have to be farther from one stands for something that cannot be had


class RoadLaw(NamedTuple):
    """A factor for each bin of distance, at most one; and how many people each bin should have."""

    factor: Floats
    people: Floats


class Pieces(NamedTuple):
    """The area of each pair of region and distance bin that there is."""

    region: Ints
    bin: Ints
    area: Floats

    def times(self, factor: Floats, which: Ints) -> Floats:
        """Return each area times one of the factors."""
        found = np.asarray(factor[which], dtype=np.float64)
        found *= self.area  # in place: there may be many
        return found


def grouped(
    region: NDArray[np.integer], bin_: NDArray[np.integer], bins: int, area: NDArray[np.int32] | Floats
) -> Pieces:
    """Return the areas summed over equal pairs of region and bin; regions rise, so some can be summed at a time."""
    cuts = np.unique(np.append(np.searchsorted(region, region[::ENTRIES]), len(region)))
    parts = [_summed(region[here], bin_[here], bins, area[here]) for here in starmap(slice, pairwise(cuts))]
    columns = list(zip(*parts, strict=True)) or [(np.zeros(0, dtype=np.int64),)] * 3
    parts.clear()
    return Pieces(*(np.concatenate(columns.pop(0)) for _ in range(3)))  # one by one: there may be many


def _summed(
    region: NDArray[np.integer], bin_: NDArray[np.integer], bins: int, area: NDArray[np.int32] | Floats
) -> Pieces:
    first = int(region[0])
    code = region.astype(np.int64)
    code -= first
    code *= bins
    code += bin_
    sums = np.bincount(code, area).astype(np.float64, copy=False)
    pair = np.flatnonzero(sums > 0)  # much quicker than of numbers
    return Pieces(pair // bins + first, pair % bins, sums[pair])


def learn_road_law(pieces: Pieces, counts: Floats, distances: NoisyCounts) -> RoadLaw:
    """Return the factors by distance under which the regions' counts reproduce the noisy histogram of distances."""
    # The histogram is first shrunk towards what the counts alone would give: with people spread evenly in each region.
    density = counts / np.maximum(np.bincount(pieces.region, pieces.area, minlength=len(counts)), 1e-12)
    flat = np.bincount(pieces.bin, pieces.times(density, pieces.region), len(distances.values)).astype(np.float64)
    people = shrink(distances.values.astype(np.float64), flat, distances.variance)
    people = np.where(flat > 0, project_to_total(people, flat.sum()), 0.0)
    people = at_most(people, most_by_bin(pieces, counts, len(people), distances.variance))
    return RoadLaw(fit_factors(pieces, counts, people), people)


def most_by_bin(pieces: Pieces, counts: Floats, bins: int, variance: float) -> Floats:
    """Return how many people each bin of distance may have, (bins,), given the regions that have such places."""
    # Noise may give a bin more people than its regions hold. Its factor would then grow without limit, and next to it
    # all others would look alike. So a bin takes at most half of its regions' people, unless noise cannot explain more.
    reach = np.bincount(pieces.bin, counts[pieces.region], bins).astype(np.float64)
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


def settle(pieces: Pieces, squares: Floats, held: Bools, people: Floats, variance: float) -> tuple[Floats, Floats]:
    """Return factors by square and by bin under which squares have their totals and bins of distance their people.

    The pieces' areas are people here. Bins and squares have the last word in turn, until the bins fit well within their
    noise. Squares have the very last: where both cannot be had, places win over distances. Those that are not `held`
    are too unsure of their own totals, and have one together, so that nobody is lost.
    """
    group = np.where(held, np.arange(len(squares)), len(squares))
    totals = np.bincount(group, squares, len(squares) + 1)
    by_bin = np.ones(len(people))
    close = CLOSE * np.sqrt(variance)
    for left in reversed(range(SETTLING_ROUNDS)):
        now = np.bincount(pieces.region, pieces.times(by_bin, pieces.bin), minlength=len(squares))
        by_square = (totals / np.maximum(np.bincount(group, now, len(totals)), 1e-12))[group]
        here = np.bincount(pieces.bin, pieces.times(by_square, pieces.region), minlength=len(people)) * by_bin
        if left == 0 or np.abs(here - people).max() < close:
            break
        by_bin = np.clip(by_bin * people / np.maximum(here, 1e-9), 1 / FARTHEST, FARTHEST)
    return by_square, by_bin


def shrink(noisy: Floats, prior: Floats, variance: float) -> Floats:
    """Return (n,) noisy values shrunk towards a prior (James–Stein): more, the more of the gap noise explains."""
    gap = noisy - prior
    kept = max(0.0, 1 - (len(noisy) - 2) * variance / max(float((gap**2).sum()), 1e-9))
    return np.asarray(prior + gap * min(kept, 1.0), dtype=np.float64)


def fit_factors(pieces: Pieces, counts: Floats, people: Floats) -> Floats:
    """Return a factor per bin such that counts, shared out by area times factor, give `people` in each bin."""
    # Iterative proportional fitting: each round rescales the bins, then the regions back to their counts. Factors are
    # scaled so that the largest is one; none is below a millionth of it, so that no place becomes impossible.
    factor = np.ones(len(people))
    for _ in range(ROUNDS):
        weight = np.bincount(pieces.region, pieces.times(factor, pieces.bin), minlength=len(counts))
        rate = counts / np.maximum(weight, 1e-12)
        now = np.bincount(pieces.bin, pieces.times(rate, pieces.region), minlength=len(people))
        factor = np.where(now > 1e-9, people / np.maximum(now, 1e-9), factor)
        factor = np.maximum(factor, LEAST * factor.max()) if factor.max() > 0 else np.ones(len(people))
    return np.asarray(factor / factor.max(), dtype=np.float64)
