"""Whether all points are on land."""

import numpy as np

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.registry import measure


@measure(
    "off_land",
    title="Share off land",
    better="lower",
    reading="Share of synthetic points in water or outside the boundary.",
    real=0,
)
def off_land_share(comparison: Comparison) -> float:
    """Return the share of the synthetic points that are not on land: in water, or outside the boundary."""
    return float(np.mean(~comparison.world.on_land(comparison.synthetic)))
