"""How much likelier a place is for being near a road: one factor per distance for the whole city."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats, Ints
from pointveil.estimate.consistency import project_to_total
from pointveil.vault import NoisyCounts

ROUNDS = 10
LEAST = 1e-6


class RoadLaw(NamedTuple):
    """A factor for each bin of distance, at most one; and how many people each bin should have."""

    factor: Floats
    people: Floats


class Pieces(NamedTuple):
    """The area of each pair of region and distance bin that there is."""

    region: Ints
    bin: Ints
    area: Floats


def grouped(
    region: NDArray[np.integer], bin_: NDArray[np.integer], bins: int, area: NDArray[np.int32] | Floats
) -> Pieces:
    """Return the areas summed over equal pairs of region and bin."""
    code = region.astype(np.int64)
    code *= bins
    code += bin_
    sums = np.bincount(code, area).astype(np.float64, copy=False)
    pair = np.flatnonzero(sums)
    return Pieces(pair // bins, pair % bins, sums[pair])


def learn_road_law(pieces: Pieces, counts: Floats, distances: NoisyCounts) -> RoadLaw:
    """Return the factors by distance under which the regions' counts reproduce the noisy histogram of distances."""
    # The histogram is first shrunk towards what the counts alone would give: with people spread evenly in each region.
    density = counts / np.maximum(np.bincount(pieces.region, pieces.area, minlength=len(counts)), 1e-12)
    flat = np.bincount(pieces.bin, pieces.area * density[pieces.region], len(distances.values)).astype(np.float64)
    people = shrink(distances.values.astype(np.float64), flat, distances.variance)
    people = np.where(flat > 0, project_to_total(people, flat.sum()), 0.0)
    return RoadLaw(fit_factors(pieces, counts, people), people)


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
        weight = np.bincount(pieces.region, pieces.area * factor[pieces.bin], minlength=len(counts))
        rate = counts / np.maximum(weight, 1e-12)
        now = np.bincount(pieces.bin, pieces.area * rate[pieces.region], minlength=len(people))
        factor = np.where(now > 1e-9, people / np.maximum(now, 1e-9), factor)
        factor = np.maximum(factor, LEAST * factor.max()) if factor.max() > 0 else np.ones(len(people))
    return np.asarray(factor / factor.max(), dtype=np.float64)
