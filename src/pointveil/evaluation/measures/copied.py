"""Whether synthetic points are copies of real ones."""

import numpy as np
from scipy.spatial import cKDTree

from pointveil.cells import Floats
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure
from pointveil.files.crs import is_geographic, transform
from pointveil.files.lattice import steps_per_unit
from pointveil.world import World

# Steps of rounding, the coarsest first: of degrees, and of any other unit of length.
ROUNDINGS = {True: (1e-2, 1e-3, 1e-4, 1e-5), False: (1000.0, 100.0, 10.0, 1.0)}
NEARLY_ALL = 0.9  # of the real points, which must be rounded


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
    real, synthetic = rounded_alike(real, comparison.synthetic, comparison.world)
    tree = cKDTree(real[known])
    return np.sort(tree.query(synthetic)[0]), np.sort(tree.query(real[fresh])[0])


def rounded_alike(real: Floats, synthetic: Floats, world: World) -> tuple[Floats, Floats]:
    """Return both rounded as the real ones seem to be, in degrees or in the world's CRS; metres (n, 2).

    Real points that were rounded to 10 m lie 10 m apart, or at the same place; others beside them would all seem nearer
    than chance explains, wherever they came from.
    """
    projection = world.projection
    for crs in dict.fromkeys(("EPSG:4326", projection.crs)):
        there, back = transform(projection.crs, crs), transform(crs, projection.crs)
        values = there(projection.from_metres(real))
        fine = 2 / steps_per_unit(crs)  # what is off by less is the same, after a change of CRS
        for step in ROUNDINGS[is_geographic(crs)]:
            rounded = np.rint(values / step) * step
            if (np.abs(values - rounded).max(axis=1) <= fine).mean() > NEARLY_ALL:
                alike = np.rint(there(projection.from_metres(synthetic)) / step) * step
                return projection.to_metres(back(rounded)), projection.to_metres(back(alike))
    return real, synthetic
