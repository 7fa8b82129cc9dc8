"""Whether each neighbourhood has its own rhythm, or its own mix of values."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS_OF_BINS, Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import measure


@measure(
    "profile",
    title="Distance of profiles",
    better="lower",
    reading="How far the hours (or values) of a 1 km cell are from the real ones, as the share of them that would have "
    "to change, weighted by people: 0 is the same, 1 nothing in common.",
    synthetic=0,
    of="part",
    by_place=True,
)
def profile_distance(
    comparison: Comparison, *, bins: Bins, cell: float = 1000.0, shifts: int = SHIFTS_OF_BINS
) -> float:
    """Return the mean total variation between the shares of bins in each cell, weighted by the cell's real points.

    A cell with real points and no synthetic one counts as 1.
    """
    found = []
    for tally in comparison.tallies(bins, cell, shifts):
        real, synthetic = (people[tally.square] for people in tally.people)
        apart = np.abs(tally.real / np.maximum(real, 1) - tally.synthetic / np.maximum(synthetic, 1)) / 2
        found.append((np.where(synthetic > 0, apart, tally.real / np.maximum(real, 1)) * real).sum())
    return float(np.mean(found) / len(comparison.real))
