"""Choose the facilities that attract most customers (Max-Inf)."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from pointveil.evaluation.customers import Chosen, Customers, Misses, least_missed


def attracting_sets(customers: Customers, reach: float) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return the distinct sets of candidates that attract somebody, and how many customers each set has.

    Customers attracted by the same candidates are interchangeable, so gathering them is exact.
    """
    distances = cdist(customers.places, customers.candidates)
    attracts = (distances <= reach) & (distances < customers.limits[:, None])
    packed = np.packbits(attracts, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    weights = np.bincount(group, customers.weights, minlength=len(first)).astype(np.float64)
    return sparse.csr_array(attracts[first].astype(np.float64)), weights


def greedy_sets(sets: sparse.csr_array, weights: NDArray[np.float64], choose: int) -> Chosen:
    """Open, one after another, the candidate that attracts most customers whom nobody attracts yet."""
    open_weights = weights.copy()
    taken: list[int] = []
    for _ in range(choose):
        gains = sets.T @ open_weights
        gains[taken] = -1.0
        best = int(np.argmax(gains))
        taken.append(best)
        open_weights[sets[:, [best]].toarray().ravel() > 0] = 0.0
    return np.sort(np.array(taken, dtype=np.int64))


def exact_sets(sets: sparse.csr_array, weights: NDArray[np.float64], choose: int) -> Chosen:
    """Open the candidates that attract most customers together."""
    alone = sparse.eye_array(len(weights), format="csr")
    return np.flatnonzero(least_missed(Misses(sets, alone, np.ones(len(weights)), weights), choose))
