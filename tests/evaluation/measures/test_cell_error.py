from collections import Counter
from math import floor

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison, UnmeasuredError
from pointveil.evaluation.measures.cell_error import normalized_cell_error, shifted_cell_error

Points = NDArray[np.float64]
NOBODY = np.zeros((0, 2))


def slow_error(real: Points, synthetic: Points, cell: float, offset: tuple[float, float] = (0.0, 0.0)) -> float:
    """NCE with a dictionary and a loop."""
    counts: Counter[tuple[int, int]] = Counter()
    for sign, points in ((1, real), (-1, synthetic)):
        for x, y in points:
            counts[floor((x + offset[0]) / cell), floor((y + offset[1]) / cell)] += sign
    return sum(abs(count) for count in counts.values()) / len(real)


@pytest.mark.parametrize("cell", [25.0, 100.0, 333.3])
def test_the_error_is_that_of_a_slow_loop(cell: float) -> None:
    real, synthetic = people(800), people(700, seed=1)

    error = normalized_cell_error(Comparison(real, synthetic, town()), cell=cell)

    assert error == pytest.approx(slow_error(real, synthetic, cell), abs=1e-12)


def test_the_shifted_error_is_the_mean_of_slow_loops_at_the_same_offsets() -> None:
    real, synthetic = people(300), people(300, seed=1)

    comparison = Comparison(real, synthetic, town(), seed=3)

    error = shifted_cell_error(comparison, cell=80.0, shifts=4)

    slow = [slow_error(real, synthetic, 80.0, tuple(offset)) for offset in comparison.random_offsets(80.0, 4)]
    assert error == pytest.approx(np.mean(slow), abs=1e-12)


def test_a_file_compared_with_itself_has_no_error() -> None:
    assert normalized_cell_error(Comparison(people(50), people(50), town())) == 0.0
    assert shifted_cell_error(Comparison(people(50), people(50), town())) == 0.0


def test_no_synthetic_points_miss_everybody_once_and_strangers_twice() -> None:
    real = people(50) / 3

    assert normalized_cell_error(Comparison(real, NOBODY, town())) == 1.0
    assert normalized_cell_error(Comparison(real, real + 600, town())) == 2.0


def test_a_grid_that_matches_the_methods_own_cells_hides_its_error() -> None:
    rng = np.random.default_rng(0)
    real = np.floor(people(2000) / 100) * 100 + 5.0
    synthetic = np.floor(real / 100) * 100 + rng.uniform(0, 100, size=real.shape)

    comparison = Comparison(real, synthetic, town())
    aligned, shifted = (measure(comparison) for measure in (normalized_cell_error, shifted_cell_error))

    assert aligned == 0.0
    assert shifted > 0.5


def test_points_on_an_edge_belong_to_the_cell_north_or_east_of_it() -> None:
    counts = Comparison(np.array([[100.0, 0.0]]), np.array([[99.999, 0.0]]), town()).cell_counts(100.0)

    assert [part.tolist() for part in counts] == [[0, 1], [1, 0]]


def test_points_just_outside_the_bounds_are_in_cells_of_their_own() -> None:
    real, synthetic = np.array([[-150.0, -50.0], [-150.0, 50.0]]), np.array([[-199.0, -1.0], [1150.0, 1.0]])

    assert normalized_cell_error(Comparison(real, synthetic, town())) == slow_error(real, synthetic, 100.0) == 1.0


def test_points_far_outside_the_bounds_are_counted_without_a_huge_grid() -> None:
    real, synthetic = np.array([[1.0, 1.0], [1e9, -1e9]]), np.array([[1.0, 1.0], [1e300, 1e300]])

    assert normalized_cell_error(Comparison(real, synthetic, town())) == 1.0


def test_without_real_points_there_is_no_error_to_normalize() -> None:
    with pytest.raises(UnmeasuredError, match="NCE needs at least one real point"):
        normalized_cell_error(Comparison(NOBODY, people(3), town()))
