"""Whether as many points are away from every road."""

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


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
