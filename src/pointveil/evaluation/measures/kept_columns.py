"""What kept columns say: by place (cells, neighbourhoods, circles), and of the whole city."""

from typing import cast

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.columns import Number
from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import SHIFTS_OF_BINS, Comparison
from pointveil.evaluation.kept import Bins
from pointveil.evaluation.registry import Sizes, measure

SIZES = (250, 500, 1000)
DECILES = np.arange(1, 10) / 10


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


def _city(bins: Bins) -> tuple[Ints, Ints]:
    """Return the points of the whole city in each bin, real and synthetic."""
    real, synthetic = (np.bincount(each, minlength=bins.size) for each in (bins.real, bins.synthetic))
    return real, synthetic


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
    real, synthetic = _city(bins)
    return _mean_error(real[None, : bins.listed], synthetic[None, : bins.listed], bins)


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
