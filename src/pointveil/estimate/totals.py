"""Make the counts of small areas agree with those of large ones."""

import math

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats, Leaves, scale
from pointveil.estimate.posterior import Estimates
from pointveil.vault import NoisyCounts

SURE = 3.0  # standard deviations above zero that a total must have to be believed
UNLIKELY = 1e-3  # the chance that any one of all noisy counts is farther from its true one than is allowed for


def match_the_total(counts: Floats, *answers: NoisyCounts) -> Floats:
    """Return `counts` rescaled to the people that the noisy answers together say there are; only down if few."""
    # Each answer counts everybody once, so each gives a total; the totals are combined by inverse-variance weighting.
    # Where there is hardly anybody, non-negative counts keep the upward noise and lose the downward, so people would be
    # invented: then they are scaled down, but never up. Where the total is sure, going down alone would lose people.
    sure = np.array([1 / (answer.variance * len(answer.values)) for answer in answers])
    sums = np.array([float(answer.values.sum()) for answer in answers])
    total = max(float((sums * sure).sum() / sure.sum()), 0.0)
    factor = total / max(float(counts.sum()), 1e-9)
    return counts * (factor if total > SURE / math.sqrt(sure.sum()) else min(1.0, factor))


def fuse_blocks(estimates: Estimates, blocks: Leaves, counted: NoisyCounts, leaves: Leaves, level: int) -> Floats:
    """Return the leaves' counts, (leaves,) people, corrected by the noisy count of the block around them."""
    # The gap between a block's count and the sum of its leaves is shared out as in a Kalman update: a leaf's part is
    # its own variance over the variance of the gap. Leaves larger than a block are left alone.
    inside = np.flatnonzero(leaves.level <= level)
    block = blocks.leaf_at[leaves.column, leaves.row][inside]
    size = len(counted.values)
    total = np.bincount(block, estimates.mean[inside], minlength=size)
    doubt = np.bincount(block, estimates.variance[inside], minlength=size) + counted.variance
    moved = estimates.median.copy()
    moved[inside] += estimates.variance[inside] * ((counted.values - total) / doubt)[block]
    return np.asarray(np.maximum(moved, 0.0), dtype=np.float64)


def block_doubts(blocks: Leaves, of_blocks: NoisyCounts, leaves: Leaves, of_leaves: NoisyCounts, level: int) -> Floats:
    """Return the standard deviation of each block's total, (blocks,), that its own count and its leaves' tell."""
    inside = leaves.level <= level
    parts = np.bincount(blocks.leaf_at[leaves.column, leaves.row][inside], minlength=len(of_blocks.values))
    sure = 1 / of_blocks.variance + 1 / (np.maximum(parts, 1) * of_leaves.variance)
    return np.asarray(1 / np.sqrt(sure), dtype=np.float64)


def match_totals(counts: Floats, leaves: Leaves, level: int, *answers: tuple[Leaves, NoisyCounts]) -> Floats:
    """Return counts rescaled to the noisy total of each large square, where that is clearly above zero."""
    # A square's total combines the sums of all answers within it by inverse-variance weighting. Totals near zero are
    # left alone: half of them are negative, and cutting those off at zero would add people to empty places.
    rows = (leaves.raster.shape[1] >> level) + 1
    size = rows * ((leaves.raster.shape[0] >> level) + 1)
    total, sure = np.zeros(size), np.zeros(size)
    for parts, noisy in answers:
        square = (parts.column >> level) * rows + (parts.row >> level)
        sureness = 1 / (noisy.variance * np.maximum(np.bincount(square, minlength=size), 1))
        total += sureness * np.bincount(square, noisy.values, minlength=size)
        sure += sureness
    square = (leaves.column >> level) * rows + (leaves.row >> level)
    now = np.bincount(square, counts, minlength=size)
    # `total` is still weighted, so its standard deviation is the root of `sure`.
    believed = (total > SURE * np.sqrt(sure)) & (now > 0)
    return np.asarray(counts * np.where(believed, total / sure / np.maximum(now, 1e-9), 1.0)[square], dtype=np.float64)


def within_noise(mass: Floats, square: NDArray[np.integer], noisy: NoisyCounts) -> Floats:
    """Return (entries,) people rescaled, in place, where those of a square are farther from its answer than noise goes.

    `square` is the one of each entry. With a chance of 999 in 1,000 every true count is within this reach of its noisy
    one, so a released count that is not must be wrong.
    """
    reach = math.log(len(noisy.values) / UNLIKELY) / float(noisy.noise_epsilon)
    now = np.bincount(square, mass, minlength=len(noisy.values))
    nearest = np.maximum(np.clip(now, noisy.values - reach, noisy.values + reach), 0.0)
    return scale(mass, np.where(now > 0, nearest / np.maximum(now, 1e-9), 1.0), square)
