"""How wrong "how many people within 500 m of here, from eight to eleven?" is."""

import numpy as np

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import measure


@measure(
    "range_in_time",
    title="Range queries in time",
    better="lower",
    unit="points",
    reading='Mean error of the answer to "how many people are within 500 m of this crossing, in these three bins of '
    'time?", over 100 crossings and all times of day.',
    real=0,
    synthetic=0,
    of="time",
    by_place=True,
)
def range_in_time_error(comparison: Comparison, *, bins: Bins, radius: float = 500.0, consecutive: int = 3) -> float:
    """Return the mean over centres and times of |real − synthetic| points in a circle and consecutive bins."""
    near = comparison.points_within(radius)
    if not len(near[0]):
        raise UnmeasuredError("range queries need centres, and this world has no road nodes or land for them")
    real, synthetic = (
        np.array([np.bincount(of[each], minlength=bins.size)[: bins.listed] for each in found])
        for of, found in zip((bins.real, bins.synthetic), near, strict=True)
    )
    # In consecutive bins on the clock, from each bin on: (centres, bins).
    apart = sum(np.roll(real - synthetic, -step, axis=1) for step in range(consecutive))
    return float(np.abs(apart).mean())
