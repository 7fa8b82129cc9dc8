"""Smooth noisy counts, using neighbouring leaves and a fitted distribution."""

import numpy as np

from pointveil.cells import Floats, Leaves
from pointveil.estimate.context import expect_from_neighbours
from pointveil.estimate.posterior import Estimates, posterior
from pointveil.vault import NoisyCounts

MOST_KINDS = 50
LEAST_OF_A_KIND = 400


def denoise(noisy: NoisyCounts, prior: Floats, leaves: Leaves) -> Estimates:
    """Return the posterior of each leaf's true count.

    Leaves are sorted by the count that their neighbours predict, and cut into groups of at least 400. Leaves of one
    group are alike, so the distribution of their true counts can be fitted to their noisy ones (empirical Bayes).
    """
    expected = expect_from_neighbours(noisy.values.astype(np.float64), prior, leaves, noisy.variance)
    order = np.argsort(expected, kind="stable")
    kinds = int(np.clip(len(order) // LEAST_OF_A_KIND, 1, MOST_KINDS))
    result = np.empty((3, len(order)))
    for kind in np.array_split(order, kinds):
        result[:, kind] = posterior(noisy.values[kind], float(noisy.noise_epsilon))
    return Estimates(*result)
