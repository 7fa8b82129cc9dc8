"""Whether there are as many points."""

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "total_count",
    title="Total",
    better="lower",
    reading="Relative error of the total number of points.",
    synthetic=0,
)
def total_count_error(comparison: Comparison) -> float:
    """Return by how much the total is wrong, as a share of the real total: |synthetic − real| / real."""
    return abs(len(comparison.synthetic) - len(comparison.real)) / len(comparison.real)
