"""Whether synthetic points are copies of real ones."""

import math

import numpy as np
from scipy.spatial import cKDTree

from pointveil.cells import Floats
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure
from pointveil.files.crs import DEGREES, known_crs, transform, unit_of
from pointveil.files.lattice import steps_per_unit
from pointveil.world import World

COARSEST, FINEST = 2000.0, 0.3  # metres that coordinates may be rounded to, to be noticed: a kilometre, a foot
EARTH_RADIUS = 6_371_000.0  # metres
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
    real, synthetic = rounded_alike(real, comparison.synthetic, comparison.world, comparison.crs)
    tree = cKDTree(real[known])
    return np.sort(tree.query(synthetic)[0]), np.sort(tree.query(real[fresh])[0])


def rounded_alike(real: Floats, synthetic: Floats, world: World, own: str | None = None) -> tuple[Floats, Floats]:
    """Return both rounded as the real ones seem to be: in their own CRS, in degrees or in the world's; metres (n, 2).

    Real points that were rounded to 10 m lie 10 m apart, or at the same place; others beside them would all seem nearer
    than chance explains, wherever they came from. What was rounded twice, first to a part of a degree and then, say, to
    whole feet, was rounded to the coarser of the two.
    """
    projection = world.projection
    coarsest, alike, blur = 0.0, (real, synthetic), 0.0  # metres
    for crs in dict.fromkeys((own or DEGREES, DEGREES, projection.crs)):
        there, back = transform(projection.crs, crs), transform(crs, projection.crs)
        values, unit = there(projection.from_metres(real)), _metres(crs)
        fine = 2 / steps_per_unit(crs) + blur / unit  # what is off by less is the same, after a change of CRS
        for step in _roundings(unit):
            off = np.abs(values - np.rint(values / step) * step).max(axis=1)
            if step > 10 * fine and step * unit > coarsest and (off <= fine).mean() > NEARLY_ALL:
                both = (np.rint(there(projection.from_metres(each)) / step) * step for each in (real, synthetic))
                rounded, others = (projection.to_metres(back(each)) for each in both)
                coarsest, alike, blur = step * unit, (rounded, others), max(blur, step * unit)
                break
    return alike


def _roundings(unit: float) -> list[float]:
    """Return the powers of ten, in units of so many metres, that coordinates may be rounded to; the coarsest first."""
    most, least = (math.log10(length / unit) for length in (COARSEST, FINEST))
    return [10.0**exponent for exponent in range(math.floor(most), math.ceil(least) - 1, -1)]


def _metres(crs: str) -> float:
    """Return how long a unit of a CRS is; of degrees, to the north."""
    parsed = known_crs(crs, "the points")
    return unit_of(parsed) * (EARTH_RADIUS if parsed.is_geographic else 1)
