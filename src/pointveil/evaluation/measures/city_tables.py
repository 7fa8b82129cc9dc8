"""What kept columns say of the whole city: two columns together, and every day."""

import numpy as np

from pointveil.evaluation.comparison import Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import measure


@measure(
    "two_columns",
    title="Table of two columns",
    better="lower",
    reading="Share of people who would have to move to another entry of the table of two columns, such as hours and "
    "kinds, of the whole city: 0 is the same table, 1 nothing in common.",
    of="pair",
)
def two_column_distance(comparison: Comparison, *, bins: Bins) -> float:
    """Return the total variation between the real and the synthetic table."""
    real, synthetic = _city(bins)
    return float(np.abs(real / len(comparison.real) - synthetic / len(comparison.synthetic)).sum() / 2)


@measure(
    "daily_totals",
    title="Daily totals",
    better="lower",
    reading="Surplus and missing points over all days, per real point, for the whole city: how wrong a day is.",
    synthetic=0,
    of="date",
)
def daily_total_error(comparison: Comparison, *, bins: Bins) -> float:
    """Return the sum over days of |real − synthetic|, over the real total."""
    real, synthetic = _city(bins)
    return float(np.abs(real - synthetic).sum() / len(comparison.real))


def _city(bins: Bins) -> tuple[np.ndarray, np.ndarray]:
    real, synthetic = (np.bincount(each, minlength=bins.size) for each in (bins.real, bins.synthetic))
    return real, synthetic
