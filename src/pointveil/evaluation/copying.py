"""Whether synthetic points are copies of real ones."""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.evaluation.base import XY, Place, need_points

Distances = NDArray[np.float64]


def nearest_real_distances(real: XY, synthetic: XY, *, seed: int = 0) -> tuple[Distances, Distances]:
    """Return how far the nearest real point is: from the synthetic points, and from a fresh sample.

    The real points are split at random into two halves, one person's point here, another's there. The first
    half is what distances are measured to; the second is the fresh sample: points of the same city that are
    no copies of the first half.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    seed
        Splits the real points.

    Returns
    -------
    tuple
        Distances of the synthetic points and of the fresh sample to the first half, in metres, sorted.
    """
    need_points("the copy detector", real, "real", at_least=2)
    need_points("the copy detector", synthetic, "synthetic")
    order = np.random.default_rng(seed).permutation(len(real))
    known, fresh = np.split(order, [len(real) // 2])
    tree = cKDTree(real[known])
    from_synthetic, from_fresh = (np.sort(tree.query(xy)[0]) for xy in (synthetic, real[fresh]))
    return from_synthetic, from_fresh


def copied_share(real: XY, synthetic: XY, world: Place, *, seed: int = 0) -> float:  # noqa: ARG001
    """Return about what share of the synthetic points lie nearer a real point than chance explains.

    It is the largest excess, over all distances, of the share of synthetic points within that distance of
    the first half of the real points over the share of the fresh sample, scaled up to the whole of the real
    points. A file of copies gives 1 (less where many real points coincide); a fresh sample gives nearly 0.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    seed
        Splits the real points.
    """
    from_synthetic, from_fresh = nearest_real_distances(real, synthetic, seed=seed)
    reached = np.arange(1, len(from_synthetic) + 1) / len(from_synthetic)
    expected = np.searchsorted(from_fresh, from_synthetic, side="right") / len(from_fresh)
    excess = max(0.0, float((reached - expected).max()))
    return min(1.0, excess * len(real) / (len(real) // 2))
