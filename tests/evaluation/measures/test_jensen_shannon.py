from math import log2

import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.jensen_shannon import divergence, jensen_shannon


def slow_divergence(one: list[int], other: list[int]) -> float:
    """The divergence term by term."""
    total = 0.0
    for a, b in zip(one, other, strict=True):
        p, q = a / sum(one), b / sum(other)
        middle = (p + q) / 2
        total += (p * log2(p / middle) if p else 0.0) / 2
        total += (q * log2(q / middle) if q else 0.0) / 2
    return total


def test_the_divergence_is_the_mean_of_slow_sums_over_the_same_grids() -> None:
    real, synthetic = people(500), people(400, seed=1)

    comparison = Comparison(real, synthetic, town(), seed=5)

    value = jensen_shannon(comparison, shifts=3)

    slow = []
    for offset in comparison.random_offsets(100.0, 3):
        one, other = comparison.cell_counts(100.0, tuple(offset))
        slow.append(slow_divergence(one.tolist(), other.tolist()))
    assert value == pytest.approx(np.mean(slow), abs=1e-12)


def test_the_same_shares_diverge_by_nothing_and_strangers_by_one_bit() -> None:
    assert divergence(np.array([1, 2]), np.array([10, 20])) == 0.0
    assert divergence(np.array([1, 0]), np.array([0, 5])) == 1.0
