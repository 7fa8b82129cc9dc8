import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.evaluation.pair_correlation import pair_correlation, pair_correlation_error, ripley_k


def test_k_is_the_area_times_the_share_of_near_pairs() -> None:
    points = people(150)

    value = ripley_k(points, town(), radii=(30.0, 90.0))

    slow = []
    for radius in (30.0, 90.0):
        near = sum(np.hypot(*(points[i] - points[j])) <= radius for i in range(150) for j in range(150) if i != j)
        slow.append(1000.0 * 1000.0 * near / (150 * 149))
    assert value == pytest.approx(slow, rel=1e-9)


def test_even_points_correlate_by_about_one_and_crowds_by_more() -> None:
    even = np.random.default_rng(0).uniform(0, 1000, size=(3000, 2))

    assert pair_correlation(even, town(), radii=(20.0, 40.0)) == pytest.approx([1.0, 1.0], abs=0.1)
    assert (pair_correlation(people(3000), town(), radii=(20.0, 40.0)) > 2).all()


def test_the_error_runs_from_nothing_to_one() -> None:
    spread, heap = np.array([[0.0, 0.0], [900.0, 900.0]]), np.zeros((5, 2))

    assert pair_correlation_error(people(100), people(100), town()) == 0.0
    assert pair_correlation_error(spread, spread + 3, town()) == 0.0
    assert pair_correlation_error(spread, heap, town(), radii=(10.0,)) == 1.0
