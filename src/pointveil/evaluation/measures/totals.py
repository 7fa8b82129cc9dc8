"""Whether as many points are there, in water, and away from every road."""

import numpy as np

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "total_count", title="Total", better="lower", reading="Relative error of the total number of points.", synthetic=0
)
def total_count_error(comparison: Comparison) -> float:
    """Return |synthetic − real| / real, of the numbers of points."""
    return abs(len(comparison.synthetic) - len(comparison.real)) / len(comparison.real)


@measure(
    "off_land",
    title="Share off land",
    better="lower",
    reading="Share of synthetic points in water or outside the boundary.",
    real=0,
)
def off_land_share(comparison: Comparison) -> float:
    """Return the share of the synthetic points that are not on land."""
    return float(np.mean(~comparison.world.on_land(comparison.synthetic)))


@measure(
    "off_road",
    title="Share off the road",
    better="nearer",
    reading="Share of synthetic points more than 25 m from any road, minus the same share of real points.",
    roads=True,
)
def off_road_difference(comparison: Comparison, *, farther_than: float = 25.0) -> float:
    """Return the share of synthetic points `farther_than` so many metres from every road, less that of real ones."""
    real, synthetic = ((distances > farther_than).mean() for distances in comparison.road_distances)
    return float(synthetic - real)
