"""How far from the roads the points are (MEDD)."""

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "medd",
    title="MEDD",
    better="lower",
    unit="m",
    reading="How much farther from the roads (or nearer to them) synthetic points are, on average.",
    roads=True,
)
def mean_edge_distance_difference(comparison: Comparison) -> float:
    """Return how much the mean distance to the nearest road differs, in metres (equation 4)."""
    real, synthetic = comparison.road_distances
    return float(abs(real.mean() - synthetic.mean()))
