"""Take the noise out of a table of regions and bins, and fit tables to each other."""

import math

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.estimate.axes import Axis, tree_axis
from pointveil.estimate.consistency import project_to_total

ROUNDS = 30
WORTH = 0.5
"""Of the noise: what the smallest regions must show, squared, to be worth asking."""
SURELY = 3.0
"""Standard deviations of its noise that a count of other values must exceed."""
LEAST = 1e-6
"""Of what independence expects: no cell is quite empty, so that fitting can fill it."""


def denoise_table(
    noisy: Floats, variance: Floats, rows: Floats, columns: Floats, row_axis: Axis, column_axis: Axis
) -> Floats:
    """Return the expected people of every cell: independence, plus as much of the rest as noise does not explain.

    What differs from independence is written in the two bases and shrunk block by block. Where rows say nothing
    about columns, little but independence is left.

    Parameters
    ----------
    noisy
        (rows, columns) counts with noise.
    variance
        (rows,) of the noise along each vector of the rows' basis; all alike if every count has the same noise.
    rows, columns
        The people of each row and of each column, better known than from this table; both with the same sum.
    row_axis, column_axis
        The bases, each as long as its side.
    """
    expected = independent(rows, columns)
    # The constant vectors stand for the totals of rows and columns, which are known better: leave them out.
    left, right = row_axis.basis[1:], column_axis.basis[1:]
    gap = left @ (noisy - expected) @ right.T
    found = shrink(gap, variance[1:], row_axis.block[1:], column_axis.block[1:])
    table = expected + left.T @ found @ right
    for row, people in enumerate(rows):
        table[row] = project_to_total(table[row], float(people))
    return fit_totals(np.maximum(table, LEAST * expected), rows, columns)


def independent(rows: Floats, columns: Floats) -> Floats:
    """Return the table in which every row has the same law."""
    return np.asarray(np.outer(rows, columns) / max(float(rows.sum()), 1e-300))


def shrink(gap: Floats, variance: Floats, row_block: Ints, column_block: Ints) -> Floats:
    """Return coefficients times s/(s + variance), where s is what the mean square of their block has above noise."""
    rows, columns = _members(row_block), _members(column_block)
    noise = variance[:, None]
    above = rows.T @ (gap**2 - noise) @ columns / np.outer(rows.sum(axis=0), columns.sum(axis=0))
    signal = rows @ np.maximum(above, 0.0) @ columns.T
    return np.asarray(gap * (signal / (signal + noise)))


def _members(block: Ints) -> Floats:
    """Return (n, blocks) ones where a vector is in a block."""
    return np.equal.outer(block, np.unique(block)).astype(np.float64)


def merge_tables(coarse: Floats, coarse_variance: float, fine: Floats, fine_variance: float) -> tuple[Floats, Floats]:
    """Return the fine table improved by the coarse one, and the noise's variance along each vector of its tree.

    Both are (2**levels, columns), the regions of the coarse one being runs of those of the fine one. What both tell,
    the contrasts of the upper levels, is their inverse-variance weighted mean.
    """
    few, many = len(coarse), len(fine)
    tree = tree_axis(many.bit_length() - 1)
    told = tree.basis @ fine
    variance = np.full(many, fine_variance)
    # A vector of the coarse tree is the same one of the fine tree, on a scale of regions that are many/few as large.
    weight = fine_variance / (fine_variance + coarse_variance * few / many)
    upper = tree_axis(few.bit_length() - 1).basis @ coarse * np.sqrt(few / many)
    told[:few] += weight * (upper - told[:few])
    variance[:few] *= 1 - weight
    return np.asarray(tree.basis.T @ told), variance


def finer_levels(noisy: Floats, variance: float, next_variance: float, columns: Floats, column_axis: Axis) -> int:
    """Return how often more to cut for the next table, judging by what the smallest regions of this one still show.

    With every cut the contrast between neighbours loses about three quarters of its square, so cutting pays until it
    falls to `WORTH` of the next table's noise.

    Parameters
    ----------
    noisy, variance
        (2**levels, columns) counts, and the variance of their noise.
    next_variance
        The same for the table to be asked.
    columns
        The people of each column.
    column_axis
        The columns' basis.
    """
    if len(noisy) < 2:
        return 0
    tree = tree_axis(len(noisy).bit_length() - 1)
    rows = np.full(len(noisy), columns.sum() / len(noisy))
    gap = tree.basis[len(noisy) // 2 :] @ (noisy - independent(rows, columns)) @ column_axis.basis[1:].T
    signal = float((gap**2).mean()) - variance
    return max(0, round(math.log2(max(signal, 1e-9) / (WORTH * next_variance)) / 2))


def combine(total: float, *estimates: tuple[Floats, float], other: bool) -> Floats:
    """Return a histogram known several times over, not negative and adding up to `total`.

    Parameters
    ----------
    total
        How many people there are.
    estimates
        Each a histogram with the variance of its counts: the weights are one over the variances.
    other
        Whether the last bin is that of other values: where noise alone explains its people, it has none.
    """
    weights = np.array([1 / variance for _, variance in estimates])
    mean = np.tensordot(weights / weights.sum(), np.array([values for values, _ in estimates]), axes=1)
    if other and mean[-1] < SURELY / np.sqrt(weights.sum()):
        return np.append(project_to_total(mean[:-1], total), 0.0)
    return project_to_total(mean, total)


def fit_totals(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """Return the table rescaled in turn to its columns' and its rows' totals (iterative proportional fitting)."""
    for _ in range(ROUNDS):
        table = table * _ratio(columns, table.sum(axis=0))
        table = table * _ratio(rows, table.sum(axis=1))[:, None]
    return table


def fit_pairs(first: Floats, second: Floats, both: Floats) -> Floats:
    """Return the most even people of (regions, first, second) that agree with three tables of pairs.

    Parameters
    ----------
    first, second
        (regions, first) and (regions, second) people, with the same totals of regions.
    both
        (first, second) people of the whole city, with the same totals as the other two.
    """
    people = first.sum(axis=1)
    joint = first[:, :, None] * (second * _ratio(np.ones(len(people)), people)[:, None])[:, None, :]
    for _ in range(ROUNDS):
        joint = joint * _ratio(both, joint.sum(axis=0))
        joint = joint * _ratio(second, joint.sum(axis=1))[:, None, :]
        joint = joint * _ratio(first, joint.sum(axis=2))[:, :, None]
    return joint


def _ratio(wanted: Floats, now: Floats) -> Floats:
    """Return what to multiply by; where nobody is, nobody comes."""
    return np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
