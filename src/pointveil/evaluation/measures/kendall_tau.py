"""Whether busy cells stay busier than quiet ones (Kendall's τ)."""

from math import sqrt

import numpy as np

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import SHIFTS, Comparison, Counts
from pointveil.evaluation.registry import measure


@measure(
    "kendall_tau",
    title="Kendall's τ",
    better="higher",
    reading="How often the busier of two 100 m cells is busier in both maps: 1 always, 0 no more than by chance.",
)
def kendall_tau(comparison: Comparison, *, cell: float = 100.0, shifts: int = SHIFTS) -> float:
    """Return the mean τ-b of the counts of cells of side `cell` metres over random grids."""
    # Only cells that hold a point of either set take part: empty sea agrees with empty sea and would flatter.
    values = [_tau(*counts) for counts in comparison.shifted_cell_counts(cell, shifts)]
    return float(np.clip(np.mean(values), -1.0, 1.0))


def _tau(one: Counts, other: Counts) -> float:
    """Return τ-b of two lists of counts, from the table of how often each pair of counts occurs."""
    # Counts are whole numbers of which few differ, so the table is small, and `scipy.stats` (which takes as long to
    # import as all else) is not needed.
    (ones, row), (others, column) = (np.unique(counts, return_inverse=True) for counts in (one, other))
    if len(ones) < 2 or len(others) < 2:
        raise UnmeasuredError("Kendall's τ needs cells with different numbers of points, in both sets")
    table = np.bincount(row * len(others) + column, minlength=len(ones) * len(others)).reshape(len(ones), len(others))
    smaller = table.cumsum(axis=0).cumsum(axis=1)[:-1, :-1]  # cells with less in both maps
    concordant = int((table[1:, 1:] * smaller).sum())
    pairs, same_one, same_other, same = (
        _pairs(counts) for counts in (np.array([len(one)]), table.sum(axis=1), table.sum(axis=0), table)
    )
    discordant = pairs - same_one - same_other + same - concordant
    return (concordant - discordant) / sqrt(pairs - same_one) / sqrt(pairs - same_other)


def _pairs(counts: Counts) -> int:
    """Return how many pairs there are within groups of these sizes."""
    return int((counts * (counts - 1) // 2).sum())
