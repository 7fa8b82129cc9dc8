"""How far apart the two spreads over cells are (Jensen–Shannon)."""

import numpy as np
from scipy.special import rel_entr

from pointveil.evaluation.comparison import SHIFTS, Comparison, Counts
from pointveil.evaluation.registry import measure


@measure(
    "jensen_shannon",
    title="Jensen–Shannon divergence",
    better="lower",
    unit="bits",
    reading="How well a point's 100 m cell tells which map it comes from: 0 not at all, 1 with certainty.",
)
def jensen_shannon(comparison: Comparison, *, cell: float = 100.0, shifts: int = SHIFTS) -> float:
    """Return the mean divergence of the shares of cells of side `cell` metres over random grids."""
    return float(np.mean([divergence(*counts) for counts in comparison.shifted_cell_counts(cell, shifts)]))


def divergence(one: Counts, other: Counts) -> float:
    """Return the Jensen–Shannon divergence of two histograms, in bits: 0 the same, 1 nothing in common."""
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2
    nats = (rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2
    return float(np.clip(nats / np.log(2), 0.0, 1.0))
