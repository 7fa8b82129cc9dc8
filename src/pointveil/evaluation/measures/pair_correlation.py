"""Whether points huddle together as much (Ripley's K and the pair correlation)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pointveil.evaluation.comparison import Comparison, Spots
from pointveil.evaluation.registry import measure

RADII = (12.5, 25.0, 50.0, 100.0, 200.0)


@measure(
    "pair_correlation",
    title="Pair correlation",
    better="lower",
    reading="How differently points cluster at distances up to 200 m: 0 is the same, 1 entirely different.",
    real=2,
    synthetic=2,
)
def pair_correlation_error(comparison: Comparison, *, radii: Sequence[float] = RADII) -> float:
    """Return the mean over rings of |real − synthetic| pair correlation, as a share of the larger one.

    The pair correlation of a ring is proportional to the share of all pairs of points that lie so far apart; its
    area is the same for both, and cancels. `radii` are the outer radii of the rings, rising, in metres.
    """
    one, other = (np.diff(near_pairs(spots, radii), prepend=0.0) for spots in comparison.spots)
    larger = np.maximum(one, other)
    shares = np.divide(np.abs(one - other), larger, out=np.zeros_like(larger), where=larger > 0)
    return float(shares.mean())


def near_pairs(spots: Spots, radii: Sequence[float]) -> NDArray[np.float64]:
    """Return the share of all pairs of points that lie at most r apart, for each radius."""
    # This is Ripley's K over the area, without correction for the edge: both sets have the same edge.
    count = spots.weights.sum()
    # Points on one spot have the same neighbours, so spots are searched, with weights: whole numbers, hence exact.
    pairs = spots.tree.count_neighbors(spots.tree, np.asarray(radii), weights=(spots.weights, spots.weights)) - count
    return np.asarray(pairs / (count * (count - 1)), dtype=np.float64)
