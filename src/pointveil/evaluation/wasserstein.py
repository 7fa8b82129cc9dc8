"""How far the points would have to be carried (sliced Wasserstein)."""

import numpy as np

from pointveil.evaluation.base import XY, Place, need_points


def sliced_wasserstein(real: XY, synthetic: XY, world: Place, *, directions: int = 32) -> float:  # noqa: ARG001
    """Return the mean over directions of the least carrying distance along that direction, in metres.

    Both sets weigh the same in all, so a wrong total costs nothing here. Moving everything by d metres gives
    about 0.64 d (2/π). Directions are spread evenly over the half circle, from east.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    directions
        How many directions.
    """
    need_points("the Wasserstein distance", real, "real")
    need_points("the Wasserstein distance", synthetic, "synthetic")
    from_real, from_synthetic, weight = _shares(len(real), len(synthetic))
    total = 0.0
    for angle in np.arange(directions) * np.pi / directions:
        direction = np.array([np.cos(angle), np.sin(angle)])
        one, other = np.sort(real @ direction), np.sort(synthetic @ direction)
        total += float(weight @ np.abs(one[from_real] - other[from_synthetic]))
    return total / directions


def _shares(one: int, other: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pair sorted points of two sizes: which goes with which, and with how much of the whole.

    Worked in whole numbers: the first set's points end at multiples of `other`, the second's at multiples
    of `one`, on a line of length one × other.
    """
    ends = np.union1d(np.arange(1, one + 1) * other, np.arange(1, other + 1) * one)
    weight = np.diff(ends, prepend=0) / (one * other)
    return (ends - 1) // other, (ends - 1) // one, weight
