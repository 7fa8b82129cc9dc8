"""The predicted error: from noisy counts and epsilon alone."""

import numpy as np
import pytest

from pointveil.estimate.predicted_error import predict_cell_error

SIZE = (50.0, 50.0)


def test_even_counts_have_only_noise() -> None:
    counts = np.full((20, 20), 100.0)

    assert predict_cell_error(counts, SIZE, 1.0, 50.0) == pytest.approx(1 / 100)


def test_noise_averages_out_in_larger_cells() -> None:
    counts = np.full((20, 20), 100.0)

    assert predict_cell_error(counts, SIZE, 1.0, 200.0) == pytest.approx(1 / 400)


def test_less_epsilon_is_worse() -> None:
    counts = np.random.default_rng(0).poisson(40, (30, 30)).astype(float)

    assert predict_cell_error(counts, SIZE, 0.1, 50.0) > predict_cell_error(counts, SIZE, 1.0, 50.0)


def test_a_city_of_crowds_is_worse_than_an_even_one() -> None:
    crowds = np.zeros((20, 20))
    crowds[::3, ::3] = 900.0

    assert predict_cell_error(crowds, SIZE, 1.0, 50.0) > 10 * predict_cell_error(
        np.full((20, 20), 100.0), SIZE, 1.0, 50.0
    )


def test_it_is_never_more_than_everybody_in_the_wrong_cell() -> None:
    crowds = np.zeros((20, 20))
    crowds[3, 3] = 1e6

    assert predict_cell_error(crowds, SIZE, 0.01, 0.1) == 2.0


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 3)])
def test_nobody_gives_no_error_and_no_warning(shape: tuple[int, int]) -> None:
    assert predict_cell_error(np.zeros(shape), SIZE, 1.0, 100.0) == 0.0
    assert predict_cell_error(np.ones(shape), SIZE, 1.0, 100.0) >= 0.0
