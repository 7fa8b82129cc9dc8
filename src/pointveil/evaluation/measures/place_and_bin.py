"""How many points stand in the wrong cell at the wrong time, or with the wrong value of another kept column."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS_OF_BINS, Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import Sizes, measure

SIZES = (250, 500, 1000)


@measure(
    "place_and_bin",
    title="NCE of place and column",
    better="lower",
    reading="Surplus and missing points over all {} cells and all bins of a kept column, such as hours, per real "
    "point, on random grids: 0 is perfect, 2 means that everyone is in the wrong cell or bin.",
    sizes=Sizes("cell", SIZES, "{} m", "square"),
    synthetic=0,
    of="part",
    by_place=True,
)
def place_and_bin_error(
    comparison: Comparison, *, bins: Bins, cell: float = 500.0, shifts: int = SHIFTS_OF_BINS
) -> float:
    """Return the mean over random grids of the sum over cells and bins of |real − synthetic|, over the real total."""
    errors = [np.abs(tally.real - tally.synthetic).sum() for tally in comparison.tallies(bins, cell, shifts)]
    return float(np.mean(errors) / len(comparison.real))


@measure(
    "category_alone",
    title="NCE of each category",
    better="lower",
    reading="NCE in {} cells of the points of one listed value alone, on random grids; the mean over all values that "
    "anyone has, so that rare ones count as much as common ones.",
    sizes=Sizes("cell", (500,), "{} m", "square"),
    synthetic=0,
    of="category",
    by_place=True,
)
def category_error(comparison: Comparison, *, bins: Bins, cell: float = 500.0, shifts: int = SHIFTS_OF_BINS) -> float:
    """Return the mean over values of the sum over cells of |real − synthetic|, over the real points of that value."""
    people = np.bincount(bins.real, minlength=bins.size)
    apart = np.zeros(bins.size)
    for tally in comparison.tallies(bins, cell, shifts):
        apart += np.bincount(tally.bin, np.abs(tally.real - tally.synthetic), bins.size) / shifts
    known = np.flatnonzero(people[: bins.listed])
    # Without a listed value among the real points there is nothing to divide by: not a number, which is a reason.
    return float(np.mean(apart[known] / people[known])) if len(known) else float("nan")
