"""How wrong the deciles of a kept number are."""

from typing import cast

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.columns import Number
from pointveil.evaluation.comparison import SHIFTS_OF_BINS, Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import measure

DECILES = np.arange(1, 10) / 10


@measure(
    "deciles",
    title="Decile error",
    better="lower",
    reading="Mean error of the nine deciles of a kept number in the whole city, in the number's own unit.",
    of="number",
)
def decile_error(comparison: Comparison, *, bins: Bins) -> float:
    """Return the mean over deciles of |real − synthetic|; points without a number have no say."""
    del comparison
    real, synthetic = (
        np.bincount(each, minlength=bins.size)[None, : bins.listed] for each in (bins.real, bins.synthetic)
    )
    return _mean_error(real, synthetic, bins)


@measure(
    "local_deciles",
    title="Decile error in 1 km cells",
    better="lower",
    reading="Mean error of the nine deciles of a kept number in 1 km cells, weighted by people, in the number's own "
    "unit; only cells with both real and synthetic points.",
    of="number",
    by_place=True,
)
def local_decile_error(
    comparison: Comparison, *, bins: Bins, cell: float = 1000.0, shifts: int = SHIFTS_OF_BINS
) -> float:
    """Return the mean over random grids, cells (weighted by real points) and deciles of |real − synthetic|."""
    errors = [_mean_error(*tally.tables(bins.listed), bins) for tally in comparison.tallies(bins, cell, shifts)]
    return float(np.mean(errors))


def _mean_error(real: Ints, synthetic: Ints, bins: Bins) -> float:
    """Return the mean |real − synthetic| decile of the rows, weighted by real points; not a number without any."""
    both = (real.sum(axis=1) > 0) & (synthetic.sum(axis=1) > 0)
    if not both.any():
        return float("nan")
    apart = np.abs(_deciles(real[both], bins) - _deciles(synthetic[both], bins)).mean(axis=1)
    return float(np.average(apart, weights=real[both].sum(axis=1)))


def _deciles(counts: Ints, bins: Bins) -> Floats:
    """Return the deciles of each row, (rows, 9), as if the points of a bin were even in it."""
    number = cast("Number", bins.column)
    ends = np.linspace(number.low, number.high, bins.listed + 1)
    reached = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
    return np.array([np.interp(DECILES * row[-1], row, ends) for row in reached])
