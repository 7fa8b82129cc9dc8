"""What a noisy count most likely stands for, learned from many counts of the same kind."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats

ROUNDS = 80
FINE_UP_TO = 400
ALL_UP_TO = 600


class Estimates(NamedTuple):
    """Median, mean and variance of each true count, given its noisy one."""

    median: Floats
    mean: Floats
    variance: Floats


def posterior(noisy: NDArray[np.int64], epsilon: float) -> Estimates:
    """Return what is known of each true count, given noisy counts that share one unknown law.

    The law of the true counts that makes the noisy ones most likely is found by expectation maximisation: the noise
    is known exactly, and true counts are whole and not negative.
    """
    seen, place, times = np.unique(noisy, return_inverse=True, return_counts=True)
    truths = _candidates(seen)
    likelihood = np.exp(-np.minimum(epsilon * np.abs(seen[:, None] - truths), 600.0))
    law = np.full(len(truths), 1 / len(truths))
    for _ in range(ROUNDS):
        law = law * (likelihood.T @ (times / np.maximum(likelihood @ law, 1e-280)))
        law /= law.sum()
    given = likelihood * law
    given /= np.maximum(given.sum(axis=1, keepdims=True), 1e-280)
    mean = given @ truths
    variance = np.maximum(given @ truths**2 - mean**2, 1e-3)
    return Estimates(_median(given, truths)[place], mean[place], variance[place])


def _candidates(seen: NDArray[np.int64]) -> Floats:
    """Return the true counts to consider: all small ones, and of the large ones those near a noisy count."""
    highest = int(max(seen[-1], 0))
    if highest < ALL_UP_TO:
        return np.arange(highest + 1, dtype=np.float64)
    return np.unique(np.concatenate([np.arange(FINE_UP_TO), seen[seen >= FINE_UP_TO]])).astype(np.float64)


def _median(given: Floats, truths: Floats) -> Floats:
    """Return the median of each row, going in a straight line through the whole number that holds it."""
    running = np.cumsum(given, axis=1)
    middle = np.argmax(running >= 0.5, axis=1)
    row = np.arange(len(given))
    before = np.where(middle > 0, running[row, middle - 1], 0.0)
    share = (0.5 - before) / np.maximum(given[row, middle], 1e-12)
    return np.asarray(np.maximum(truths[middle] - 0.5 + share, 0.0), dtype=np.float64)
