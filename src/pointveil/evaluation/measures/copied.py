"""Whether synthetic points are copies of real ones."""

import numpy as np
from scipy.spatial import cKDTree

from pointveil.cells import Floats
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "copied",
    title="Copies",
    better="lower",
    reading="Rough share of synthetic points that are nearer to a real one than a fresh sample would be: "
    "near 0 is right, 1 means that the file was copied.",
    real=2,
)
def copied_share(comparison: Comparison) -> float:
    """Return about what share of the synthetic points lie nearer a real point than chance explains.

    It is the largest excess, over all distances, of the share of synthetic points within that distance of
    the first half of the real points over the share of the fresh sample, scaled up to the whole of the real
    points. A file of copies gives 1 (less where many real points coincide); a fresh sample gives nearly 0.
    """
    from_synthetic, from_fresh = nearest_real_distances(comparison)
    reached = np.arange(1, len(from_synthetic) + 1) / len(from_synthetic)
    expected = np.searchsorted(from_fresh, from_synthetic, side="right") / len(from_fresh)
    excess = max(0.0, float((reached - expected).max()))
    return min(1.0, excess * len(comparison.real) / (len(comparison.real) // 2))


def nearest_real_distances(comparison: Comparison) -> tuple[Floats, Floats]:
    """Return metres to the nearest real point, sorted: from the synthetic points, and from a fresh sample.

    The real points are split at random into two halves, one person's point here, another's there. The first
    half is what distances are measured to; the second is the fresh sample: points of the same city that are
    no copies of the first half.
    """
    real = comparison.real
    order = np.random.default_rng(comparison.seed).permutation(len(real))
    known, fresh = np.split(order, [len(real) // 2])
    tree = cKDTree(real[known])
    return np.sort(tree.query(comparison.synthetic)[0]), np.sort(tree.query(real[fresh])[0])
