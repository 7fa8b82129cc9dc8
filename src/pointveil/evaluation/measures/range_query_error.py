"""How wrong "how many people within r metres of here?" is."""

import numpy as np

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.registry import Sizes, measure

RANGE_RADII = (100, 250, 500, 1000, 2000)


@measure(
    "range",
    title="Range queries",
    better="lower",
    unit="points",
    reading='Mean error of the answer to "how many people are within {} of this crossing?", over 100 crossings.',
    sizes=Sizes("radius", RANGE_RADII, "{} m", "this radius"),
    real=0,
    synthetic=0,
)
def range_query_error(comparison: Comparison, *, radius: float = 500.0, centres: XY | None = None) -> float:
    """Return the mean over centres of |real − synthetic| points at most `radius` metres away (equation 14)."""
    real, synthetic = comparison.counts_within(radius, centres)
    if not len(real):
        raise UnmeasuredError("range queries need centres, and this world has no road nodes or land for them")
    return float(np.abs(real - synthetic).mean())
