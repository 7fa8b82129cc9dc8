"""Whether as many points are away from every road."""

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "off_road",
    title="Share off the road",
    better="nearer",
    reading="How much larger the share of points over 25 m from any road is; below 0, how much smaller.",
    roads=True,
)
def off_road_difference(comparison: Comparison, *, farther_than: float = 25.0) -> float:
    """Return the share of synthetic points that are off the road, less that of the real ones.

    Parameters
    ----------
    comparison
        What to compare.
    farther_than
        A point farther than this from every road is off the road, in metres.
    """
    real, synthetic = ((distances > farther_than).mean() for distances in comparison.road_distances)
    return float(synthetic - real)
