"""How far the points would have to be carried (sliced Wasserstein)."""

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.registry import measure


@measure(
    "sliced_wasserstein",
    title="Sliced Wasserstein distance",
    better="lower",
    unit="m",
    reading="How far points must move along a line, on average, to turn one map into the other.",
)
def sliced_wasserstein(comparison: Comparison, *, directions: int = 32) -> float:
    """Return the mean over directions of the least carrying distance along that direction, in metres.

    Both sets weigh the same in all, so a wrong total costs nothing here. Moving everything by d metres gives
    about 0.64 d (2/π). Directions are spread evenly over the half circle, from east.
    """
    real, synthetic = comparison.real, comparison.synthetic
    from_real, from_synthetic, weight = _shares(len(real), len(synthetic))
    total = 0.0
    for angle in np.arange(directions) * np.pi / directions:
        apart = _seen_from(real, angle)[from_real]
        apart -= _seen_from(synthetic, angle)[from_synthetic]
        total += float((np.abs(apart, out=apart) * weight).sum())
    return total / directions


def _seen_from(xy: XY, angle: float) -> Floats:
    """Return where the points are along a direction, in metres, sorted."""
    # Not a matrix product: on so few columns, threads of the linear algebra library only cost time.
    along: Floats = xy[:, 0] * np.cos(angle) + xy[:, 1] * np.sin(angle)
    along.sort()
    return along


def _shares(one: int, other: int) -> tuple[Ints, Ints, Floats]:
    """Pair sorted points of two sizes: which goes with which, and with how much of the whole."""
    # Worked in whole numbers: the first set's points end at multiples of `other`, the second's at multiples of `one`,
    # on a line of length one × other.
    ends = np.union1d(np.arange(1, one + 1) * other, np.arange(1, other + 1) * one)
    weight = np.diff(ends, prepend=0) / (one * other)
    return (ends - 1) // other, (ends - 1) // one, weight
