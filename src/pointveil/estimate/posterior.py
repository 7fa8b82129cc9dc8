"""The posterior of true counts, given noisy counts of many similar regions (empirical Bayes)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pointveil.cells import Floats, Ints, Leaves
from pointveil.estimate.context import expect_from_neighbours
from pointveil.vault import NoisyCounts

ROUNDS = 80
MOST_KINDS, LEAST_OF_A_KIND = 50, 400  # groups of similar leaves, and leaves in each
FINE_UP_TO, ALL_UP_TO = 400, 600  # beyond 600 people only true counts up to 400, and the noisy ones, are considered
MOST_SORTED = 2**18  # counts; of more, some tell where one kind ends and the next begins
ENTRIES = 2**20  # of a table of all values: a bound on memory
LEAST = 1e-300  # what is likely at least, so that nothing is divided by zero


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
    kinds = int(np.clip(len(expected) // LEAST_OF_A_KIND, 1, MOST_KINDS))
    return posterior(noisy.values, float(noisy.noise_epsilon), noisy.parts, _alike(expected, kinds))


def _alike(expected: Floats, kinds: int) -> Ints:
    """Return the kind of each, (n,): about equally many, which expect about the same."""
    some = np.sort(expected[:: len(expected) // MOST_SORTED | 1])
    return np.searchsorted(some[np.arange(1, kinds) * len(some) // kinds], expected, side="right")


def posterior(noisy: Floats | Ints, epsilon: float, parts: int = 1, kind: Ints | None = None) -> Estimates:
    """Return the posterior of each true count, given (n,) noisy counts; those of a kind share one unknown distribution.

    Counts are multiples of one over `parts`. Without `kind`, (n,) numbers, all are of one.
    """
    # The distribution of true counts under which the noisy ones are most likely is found by expectation maximisation.
    # Two things are known for sure: the law of the noise, and that true counts are whole and non-negative. So all noisy
    # counts below zero tell the same as zero does: for Laplace noise, they are as much less likely under every truth.
    whole = np.maximum(np.rint(noisy * parts).astype(np.int64), 0)
    truths, shares, place = _chained(whole, np.zeros_like(whole) if kind is None else kind)
    found = _estimates(truths, likeliest_law(truths, shares, epsilon / parts), epsilon / parts)
    scales = 1 / parts, 1 / parts, 1 / parts**2
    return Estimates(*((scale * values)[place] for scale, values in zip(scales, found, strict=True)))


def _chained(counts: Ints, kind: Ints) -> tuple[Floats, Floats, Ints]:
    """Return the true counts to consider, kind after kind, the part of its kind that has each, and each count's own."""
    # Counts and kinds repeat: all else is worked out once for each pair that there is.
    distinct, number, _ = _distinct(counts)
    pair, pair_of, times = _distinct(kind * len(distinct) + number)
    members = np.split(np.arange(len(pair)), np.flatnonzero(np.diff(pair // len(distinct))) + 1)
    truths, shares, place = [], [], np.empty_like(pair)
    for some in members:
        seen = distinct[pair[some] % len(distinct)]
        truths.append(_candidates(seen))
        shares.append(np.zeros(len(truths[-1])))
        at = np.searchsorted(truths[-1], seen)
        shares[-1][at] = times[some] / times[some].sum()
        place[some] = at + sum(map(len, truths[:-1]))
    return np.concatenate(truths), np.concatenate(shares), place[pair_of]


def _distinct(values: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct values in order, where each value is among them, and how often each of them occurs."""
    if not len(values) or values.max() - values.min() >= ENTRIES:
        return np.unique(values, return_inverse=True, return_counts=True)
    above = values - values.min()  # near each other: a table is quicker than to sort
    times = np.bincount(above)
    found = np.flatnonzero(times)
    return found + values.min(), (np.cumsum(times > 0) - 1)[above], times[found]


def likeliest_law(truths: Floats, shares: Floats, epsilon: float) -> Floats:
    """Return how likely each true count is in its kind, (n,), given what part of its kind has each as a noisy count.

    Truths rise within a kind; where they do not, the next kind begins.
    """
    likely, law = _noise(truths, epsilon), np.ones(len(truths))
    for _ in range(ROUNDS):
        law *= likely(shares / np.maximum(likely(law), LEAST))
    return law


def _noise(truths: Floats, epsilon: float) -> Callable[[Floats], Floats]:
    """Return what multiplies (n,) values by the likelihood of each count under each of the same kind, and sums them."""
    from scipy.linalg.lapack import dpttrs  # late: few methods need it, and it is slow to load

    # The noise, exp(-epsilon·|seen - truth|), is the covariance of a chain in which each count hangs on the next one
    # alone, so its inverse has two factors of two diagonals each, which are known. Multiplying by it takes two steps a
    # count, all of them sums of what is not negative: exact but for rounding. Kinds are infinitely far from each other.
    gap = np.diff(truths, append=0.0)
    gap[gap <= 0] = np.inf
    factors = -1 / np.expm1(-2 * epsilon * gap), -np.exp(-epsilon * gap[:-1])
    return (lambda values: dpttrs(*factors, values)[0]) if len(truths) > 1 else (lambda values: values)


def _candidates(seen: Ints) -> Floats:
    """Return the true counts to consider: all small ones, and of the large ones those near a noisy count."""
    highest = int(seen[-1])
    if highest < ALL_UP_TO:
        return np.arange(highest + 1, dtype=np.float64)
    return np.union1d(np.arange(FINE_UP_TO), seen).astype(np.float64)


def _estimates(truths: Floats, law: Floats, epsilon: float) -> Estimates:
    """Return the posterior of each count that may be seen, given the law of each kind's true counts, (n,)."""
    likely = _noise(truths, epsilon)
    total = np.maximum(likely(law), LEAST)
    mean = likely(law * truths) / total
    variance = np.maximum(likely(law * truths**2) / total - mean**2, 1e-3)  # never zero: it is divided by later
    kinds = np.split(np.arange(len(truths)), np.flatnonzero(np.diff(truths) <= 0) + 1)
    median = [_median(truths[kind], law[kind], total[kind], epsilon) for kind in kinds]
    return Estimates(np.concatenate(median), mean, variance)


def _median(truths: Floats, law: Floats, total: Floats, epsilon: float) -> Floats:
    """Return the median of the truth for each count that may be seen; `total` is how likely that is, all (n,)."""
    # The chance of the whole number k is spread evenly over k ± ½, so that medians vary smoothly with the noisy count.
    # Up to a count that is seen, the likelihood of truths rises, and from there on falls. So all that is likely up to a
    # truth, or from it on, is a running sum that is the same for all counts but for a factor: logarithms tell it apart.
    far, weight, half = epsilon * truths, np.log(np.maximum(law, LEAST)), np.log(total / 2)
    rising = np.logaddexp.accumulate(weight + far)
    falling = np.logaddexp.accumulate((weight - far)[::-1])[::-1]
    low = np.searchsorted(rising, half + far)
    is_low = low <= np.arange(len(truths))
    high = len(truths) - 1 - np.searchsorted(falling[::-1], half - far, side="right")
    middle = np.where(is_low, low, high)
    with np.errstate(over="ignore", invalid="ignore"):  # of the side on which the median is not
        before, after = rising[middle] - far[middle], falling[middle] + far[middle]
        here, away = weight[middle], np.abs(far - far[middle])
        share = np.where(
            is_low,
            1 - np.exp(before - here) + np.exp(half + away - here),
            np.exp(after - here) - np.exp(half + away - here),
        )
    return np.asarray(np.maximum(truths[middle] - 0.5 + np.clip(share, 0.0, 1.0), 0.0), dtype=np.float64)
