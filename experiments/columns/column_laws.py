"""What columns say, region by region: one table for the first, three small ones for each of the others."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from axes import Axis, tree_axis
from equal_people import MOST_LEVELS
from numpy.typing import NDArray
from tables import combine, denoise_table, finer_levels, fit_pairs, merge_tables

from pointveil.vault import NoisyCounts, laplace_variance

Floats = NDArray[np.float64]
Known = tuple[Floats, float]  # a histogram, and the variance of each of its counts


@dataclass(frozen=True, eq=False)
class ColumnAnswers:
    """What was asked about one column: a table of few regions or of one, and then one of as many as seem worth it.

    Parameters
    ----------
    axis
        The basis along the column's bins.
    outline, places
        (regions · bins,) noisy people, region by region; the regions of the outline are runs of the other's.
    """

    axis: Axis
    outline: NoisyCounts
    places: NoisyCounts

    def table(self) -> tuple[Floats, Floats]:
        """Return the noisy people of each region and bin, and their noise's variance along the tree of regions."""
        coarse, fine = (self._rows(answer) for answer in (self.outline, self.places))
        return merge_tables(coarse, self.outline.variance, fine, self.places.variance)

    def _rows(self, answer: NoisyCounts) -> Floats:
        return answer.values.reshape(-1, len(self.axis)).astype(np.float64)


def levels_worth_asking(outline: NoisyCounts, axis: Axis, next_epsilon: Fraction, people: float) -> int:
    """Return how many levels of regions the second table should have.

    Parameters
    ----------
    outline
        The first table.
    axis
        The basis along the column's bins.
    next_epsilon
        Of the noise in the second table.
    people
        How many there seem to be.
    """
    table = outline.values.reshape(-1, len(axis)).astype(np.float64)
    histogram = combine(people, (table.sum(axis=0), outline.variance))
    more = finer_levels(table, outline.variance, laplace_variance(next_epsilon), histogram, axis)
    return min(len(table).bit_length() - 1 + more, MOST_LEVELS)


def learn_column(answers: ColumnAnswers, people: Floats, *known: Known) -> Floats:
    """Return the (regions, bins) people of one column.

    Parameters
    ----------
    answers
        About the column.
    people
        (regions,) expected, from the released map: at least as many regions as the answers have, each of those
        a run of 2**i of these.
    known
        What else tells of the column's histogram, with its variance.
    """
    return _by_place(answers, people, combine(float(people.sum()), _sums(answers), *known))


def learn_next_column(
    first: Floats,
    first_axis: Axis,
    answers: ColumnAnswers,
    pairs: NoisyCounts,
    *known: Known,
) -> Floats:
    """Return the (regions, first, bins) people of the first column and another.

    Parameters
    ----------
    first
        (regions, first) people, as learned.
    first_axis
        The basis along the first column's bins.
    answers
        About the other column.
    pairs
        (first · bins,) noisy people of the whole city in both.
    known
        What else tells of the other column's histogram, with its variance: for weekdays, the count of every date.
    """
    people, first_bins = first.sum(axis=1), first.sum(axis=0)
    noisy = pairs.values.reshape(len(first_bins), -1).astype(np.float64)
    variance = np.full(len(noisy), pairs.variance)
    histogram = combine(float(people.sum()), _sums(answers), (noisy.sum(axis=0), float(variance.sum())), *known)
    both = denoise_table(noisy, variance, first_bins, histogram, first_axis, answers.axis)
    return fit_pairs(first, _by_place(answers, people, histogram), both)


def _sums(answers: ColumnAnswers) -> Known:
    """Return the whole city's histogram, and its variance."""
    table, variance = answers.table()
    return table.sum(axis=0), len(table) * float(variance[0])


def _by_place(answers: ColumnAnswers, people: Floats, histogram: Floats) -> Floats:
    """Denoise the table at its own regions, and hand each region's law on to the smaller ones within it."""
    table, variance = answers.table()
    rows = people.reshape(len(table), -1).sum(axis=1)
    found = denoise_table(table, variance, rows, histogram, tree_axis(len(table).bit_length() - 1), answers.axis)
    law = found / np.maximum(rows, 1e-300)[:, None]
    return np.asarray(np.repeat(law, len(people) // len(table), axis=0) * people[:, None])
