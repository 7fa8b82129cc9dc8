"""The posterior of true counts, given noisy counts of many similar regions (empirical Bayes)."""

from typing import NamedTuple

import numpy as np

from pointveil.cells import Floats, Ints, Leaves, blocks
from pointveil.estimate.context import expect_from_neighbours
from pointveil.vault import NoisyCounts

ROUNDS = 80
MOST_KINDS, LEAST_OF_A_KIND = 50, 400  # groups of similar leaves, and leaves in each
FINE_UP_TO, ALL_UP_TO = 400, 600  # beyond 600 people only true counts up to 400, and the noisy ones, are considered
ENTRIES = 2**20  # of the table of noisy and true counts at a time: a bound on memory
LEAST = np.exp(-600.0)  # what a count is likely at least, so that it never becomes zero


class Estimates(NamedTuple):
    """Median, mean and variance of each true count, given its noisy one."""

    median: Floats
    mean: Floats
    variance: Floats


def denoise(noisy: NoisyCounts, prior: Floats, leaves: Leaves) -> Estimates:
    """Return the posterior of each leaf's true count."""
    # Leaves are sorted by the count that their neighbours predict, and cut into groups of at least 400. Leaves of one
    # group are alike, so the distribution of their true counts can be fitted to their noisy ones (empirical Bayes).
    return posterior_by_kind(
        noisy, expect_from_neighbours(noisy.values.astype(np.float64), prior, leaves, noisy.variance)
    )


def posterior_by_kind(noisy: NoisyCounts, expected: Floats) -> Estimates:
    """Return the posterior of each true count, sorted into kinds by what was expected, (n,) people."""
    order = np.argsort(expected, kind="stable")
    kinds = int(np.clip(len(order) // LEAST_OF_A_KIND, 1, MOST_KINDS))
    result = np.empty((3, len(order)))
    for kind in np.array_split(order, kinds):
        result[:, kind] = posterior(noisy.values[kind], float(noisy.noise_epsilon), noisy.parts)
    return Estimates(*result)


def posterior(noisy: Floats | Ints, epsilon: float, parts: int = 1) -> Estimates:
    """Return the posterior of each true count, given (n,) noisy counts that share one unknown distribution.

    Counts are multiples of one over `parts`.
    """
    whole = _posterior(np.rint(noisy * parts).astype(np.int64), epsilon / parts)
    return Estimates(whole.median / parts, whole.mean / parts, whole.variance / parts**2)


def _posterior(noisy: Ints, epsilon: float) -> Estimates:
    # The distribution of true counts under which the noisy ones are most likely is found by expectation maximisation.
    # Two things are known for sure: the law of the noise, and that true counts are whole and non-negative.
    seen, place, times = np.unique(noisy, return_inverse=True, return_counts=True)
    truths = _candidates(seen)
    law = likeliest_law(seen, times, truths, epsilon)
    result = np.empty((3, len(seen)))
    for rows in blocks(len(seen), max(ENTRIES // len(truths), 1)):
        given = _likelihood(seen[rows], truths, epsilon) * law
        given /= np.maximum(given.sum(axis=1, keepdims=True), 1e-280)
        mean = given @ truths
        variance = np.maximum(given @ truths**2 - mean**2, 1e-3)  # never zero: it is divided by later
        result[:, rows] = _median(given, truths), mean, variance
    return Estimates(*result[:, place])


def likeliest_law(seen: Ints, times: Ints, truths: Floats, epsilon: float) -> Floats:
    """Return how likely each of `truths` (t,) is, given distinct noisy counts (n,) and how often each was seen."""
    from scipy.linalg.lapack import dpttrs  # late: few methods need it, and it is slow to load

    # The noise, exp(-epsilon·|seen - truth|), is the covariance of a chain in which each count hangs on the one before
    # it alone, so its inverse has two factors of two diagonals each, which are known. Multiplying by it takes two steps
    # a count, all of them sums of what is not negative: exact but for rounding.
    counts = np.union1d(seen, truths)[::-1]
    if len(counts) == 1:
        return np.ones(1)
    kept = np.exp(epsilon * np.diff(counts))
    factors = np.append(-1 / np.expm1(2 * epsilon * np.diff(counts)), 1.0), -kept
    of_seen, of_truths = (len(counts) - 1 - np.searchsorted(counts[::-1], each) for each in (seen, truths))

    def likely(values: Floats, here: Ints, there: Ints) -> Floats:
        spread = np.zeros(len(counts))
        spread[here] = values
        found, _ = dpttrs(*factors, spread, overwrite_b=True)
        return np.asarray(found[there] + LEAST * values.sum())

    law = np.full(len(truths), 1 / len(truths))
    for _ in range(ROUNDS):
        law = law * likely(times / likely(law, of_truths, of_seen), of_seen, of_truths)
        law /= law.sum()
    return law


def _likelihood(seen: Ints, truths: Floats, epsilon: float) -> Floats:
    """Return the likelihood of each noisy count under each true one, (n, t): Laplace, up to a factor; never zero."""
    return np.maximum(np.exp(-epsilon * np.abs(seen[:, None] - truths)), LEAST)


def _candidates(seen: Ints) -> Floats:
    """Return the true counts to consider: all small ones, and of the large ones those near a noisy count."""
    highest = int(max(seen[-1], 0))
    if highest < ALL_UP_TO:
        return np.arange(highest + 1, dtype=np.float64)
    return np.unique(np.concatenate([np.arange(FINE_UP_TO), seen[seen >= FINE_UP_TO]])).astype(np.float64)


def _median(given: Floats, truths: Floats) -> Floats:
    """Return the median of each row of `given` (rows, truths)."""
    # The chance of the whole number k is spread evenly over k ± ½, so that medians vary smoothly with the noisy count.
    running = np.cumsum(given, axis=1)
    middle = np.argmax(running >= 0.5, axis=1)
    row = np.arange(len(given))
    before = np.where(middle > 0, running[row, middle - 1], 0.0)
    share = (0.5 - before) / np.maximum(given[row, middle], 1e-12)
    return np.asarray(np.maximum(truths[middle] - 0.5 + share, 0.0), dtype=np.float64)
