from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison, UnmeasuredError
from pointveil.evaluation.measures.kendall_tau import kendall_tau


def slow_tau(one: list[int], other: list[int]) -> float:
    """τ-b pair by pair."""
    agree, apart_one, apart_other = 0, 0, 0
    for (a, c), (b, d) in combinations(zip(one, other, strict=True), 2):
        agree += np.sign(a - b) * np.sign(c - d)
        apart_one += a != b
        apart_other += c != d
    return float(agree / sqrt(apart_one * apart_other))


def test_tau_is_the_mean_of_slow_counts_over_the_same_grids() -> None:
    real, synthetic = people(400), people(400, seed=1)

    comparison = Comparison(real, synthetic, town(), seed=5)

    value = kendall_tau(comparison, cell=150.0, shifts=2)

    slow = [
        slow_tau(*(part.tolist() for part in comparison.cell_counts(150.0, tuple(offset))))
        for offset in comparison.random_offsets(150.0, 2)
    ]
    assert value == pytest.approx(np.mean(slow), abs=1e-12)


def test_tau_of_a_file_with_itself_is_one() -> None:
    assert kendall_tau(Comparison(people(300), people(300), town())) == pytest.approx(1.0, abs=1e-12)


def test_tau_says_that_it_needs_cells_that_differ() -> None:
    alone, others = np.array([[1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 1.0], [801.0, 1.0]])
    everywhere = np.array([[1.0, 1.0], [801.0, 1.0]])

    for real, synthetic in ((alone, alone), (everywhere, others), (others, everywhere)):
        with pytest.raises(UnmeasuredError, match="different numbers"):
            kendall_tau(Comparison(real, synthetic, town()))
