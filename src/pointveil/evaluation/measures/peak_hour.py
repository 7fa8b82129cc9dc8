"""Whether each neighbourhood is busiest at the right time."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS_OF_BINS, Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import measure


@measure(
    "peak_hour",
    title="Peak hour",
    better="higher",
    reading="Share of people in 1 km cells whose busiest time of day is right within an hour: 1 is all of them.",
    of="time",
    by_place=True,
)
def peak_hour_agreement(
    comparison: Comparison, *, bins: Bins, cell: float = 1000.0, shifts: int = SHIFTS_OF_BINS
) -> float:
    """Return the share of real points in cells whose busiest bins are at most an hour apart on the clock.

    The earliest counts if several are busiest. A cell without synthetic points is wrong.
    """
    hour, shares = bins.listed // 24, []
    for tally in comparison.tallies(bins, cell, shifts):
        real, synthetic = tally.tables(bins.listed)
        apart = np.abs(real.argmax(axis=1) - synthetic.argmax(axis=1))
        right = (np.minimum(apart, bins.listed - apart) <= hour) & (synthetic.sum(axis=1) > 0)
        shares.append(real.sum(axis=1)[right].sum() / max(real.sum(), 1))
    return float(np.mean(shares))
