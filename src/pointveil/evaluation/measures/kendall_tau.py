"""Whether busy cells stay busier than quiet ones (Kendall's τ)."""

import numpy as np

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import SHIFTS, Comparison
from pointveil.evaluation.registry import measure


@measure(
    "kendall_tau",
    title="Kendall's τ",
    better="higher",
    reading="How often the busier of two 100 m cells is busier in both maps: 1 always, 0 no more than by chance.",
)
def kendall_tau(comparison: Comparison, *, cell: float = 100.0, shifts: int = SHIFTS) -> float:
    """Return the mean τ-b of the counts of cells of side `cell` metres over random grids."""
    from scipy.stats import kendalltau  # takes as long to import as all else

    # Only cells that hold a point of either set take part: empty sea agrees with empty sea and would flatter.
    grids = comparison.shifted_cell_counts(cell, shifts)
    if any(np.ptp(side) == 0 for grid in grids for side in grid):
        raise UnmeasuredError("Kendall's τ needs cells with different numbers of points, in both sets")
    return float(np.clip(np.mean([kendalltau(*grid).statistic for grid in grids]), -1.0, 1.0))
