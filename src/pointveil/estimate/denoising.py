"""Take the noise out of counts, as far as their neighbourhood and their law allow."""

import numpy as np

from pointveil.cells import Floats, Leaves
from pointveil.estimate.context import expect_from_neighbours
from pointveil.estimate.posterior import Estimates, posterior
from pointveil.vault import NoisyCounts

MOST_KINDS = 50
LEAST_OF_A_KIND = 400


def denoise(noisy: NoisyCounts, prior: Floats, leaves: Leaves) -> Estimates:
    """Return what each leaf's count most likely is.

    Leaves are sorted by what their neighbourhood says of them and cut into kinds of at least 400; in each kind the
    law of the true counts is learned from the noisy ones.
    """
    expected = expect_from_neighbours(noisy.values.astype(np.float64), prior, leaves, noisy.variance)
    order = np.argsort(expected, kind="stable")
    kinds = int(np.clip(len(order) // LEAST_OF_A_KIND, 1, MOST_KINDS))
    result = np.empty((3, len(order)))
    for kind in np.array_split(order, kinds):
        result[:, kind] = posterior(noisy.values[kind], float(noisy.noise_epsilon))
    return Estimates(*result)
