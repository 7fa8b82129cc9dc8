"""Whether the busiest places are the same (hotspot queries)."""

import numpy as np
from scipy.ndimage import gaussian_filter

from pointveil.cells import Bools, Floats
from pointveil.errors import InputError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.registry import Sizes, measure
from pointveil.world import World

GRANULARITIES = (64, 128, 256, 512, 1024)
Pair = Floats  # one number for x and one for y


def density(xy: XY, world: World, *, granularity: int, bandwidth: Pair) -> Floats:
    """Return the Gaussian kernel density of the points on a g × g grid over the world's bounds.

    The points are counted in the cells, then the counts are blurred (kernel cut at four standard deviations,
    nothing beyond the bounds). Points outside the bounds are left out. Row 0 is the south. `bandwidth` is the
    standard deviation of the kernel along x and y, in metres.
    """
    cell = np.array(world.size) / granularity
    index = np.floor((xy - np.array(world.bounds[:2])) / cell)
    index = index[((index >= 0) & (index < granularity)).all(axis=1)].astype(np.int64)
    number = index[:, 1] * granularity + index[:, 0]
    counts = np.bincount(number, minlength=granularity**2).astype(np.float64)
    blur = tuple((bandwidth / cell)[::-1])
    grid = counts.reshape(granularity, granularity)
    return np.asarray(gaussian_filter(grid, blur, mode="constant"), dtype=np.float64)


def find_hotspots(densities: Floats, *, percentile: float = 95.0) -> Bools:
    """Mark the cells whose density is strictly greater than the percentile of all g² cells."""
    # The percentile is interpolated linearly between the two nearest cells.
    return densities > np.percentile(densities, percentile)


@measure(
    "hotspots",
    title="Hotspots",
    better="higher",
    reading="Overlap of the busiest 5% of the cells of a map of {} cells: 1 means the same, 0 none in common.",
    sizes=Sizes("granularity", GRANULARITIES, "{0} × {0}", "so many"),
    synthetic=0,
)
def hotspot_agreement(
    comparison: Comparison, *, granularity: int = 256, percentile: float = 95.0, bandwidth: str | float = "cell"
) -> float:
    """Return the Sørensen–Dice coefficient of the real and the synthetic hotspots; one kernel serves both.

    The world's bounds have `granularity` cells along each side, and a hotspot is one denser than the percentile of
    all. The bandwidth is the standard deviation of the kernel: metres, "cell" (the size
    of a cell) or "scott" (Scott's rule for the real points).
    """
    world = comparison.world
    width = _bandwidth(bandwidth, comparison.real, np.array(world.size) / granularity)
    marks = [
        find_hotspots(density(xy, world, granularity=granularity, bandwidth=width), percentile=percentile)
        for xy in (comparison.real, comparison.synthetic)
    ]
    return dice(*marks)


def dice(one: Bools, other: Bools) -> float:
    """Return the Sørensen–Dice coefficient of two sets given as masks (equation 15); two empty sets agree."""
    together = int(one.sum()) + int(other.sum())
    return 2.0 * int((one & other).sum()) / together if together else 1.0


def _bandwidth(bandwidth: str | float, real: XY, cell: Pair) -> Pair:
    """Return the standard deviation of the kernel along x and y, in metres; one cell where Scott's rule gives none."""
    if not isinstance(bandwidth, str):
        return np.full(2, float(bandwidth))
    if bandwidth not in {"cell", "scott"}:
        raise InputError(f"bandwidth is {bandwidth!r}; say metres, or one of cell, scott.")
    if bandwidth == "cell" or len(real) < 2:
        return cell
    width: Pair = real.std(axis=0, ddof=1) * len(real) ** (-1 / 6)
    return np.where(width > 0, width, cell)
