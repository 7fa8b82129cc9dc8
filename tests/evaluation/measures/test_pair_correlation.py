import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.pair_correlation import near_pairs, pair_correlation_error


def test_the_share_of_near_pairs_is_that_of_a_slow_loop_and_points_may_coincide() -> None:
    points = np.concatenate([people(120), people(120)[:30]])
    spots, _ = Comparison(points, points, town()).spots

    value = near_pairs(spots, (30.0, 90.0))

    slow = []
    for radius in (30.0, 90.0):
        near = sum(np.hypot(*(points[i] - points[j])) <= radius for i in range(150) for j in range(150) if i != j)
        slow.append(near / (150 * 149))
    assert len(spots.places) == 120
    assert value == pytest.approx(slow, rel=1e-12)


def test_the_error_is_the_mean_over_rings_of_the_difference_as_a_share_of_the_larger() -> None:
    # Pairs within 10 m and between 10 and 20 m: 1 and 0 of three real ones, 1 and 2 of six synthetic ones.
    real = np.array([[0.0, 0.0], [5.0, 0.0], [500.0, 0.0]])
    synthetic = np.array([[0.0, 0.0], [5.0, 0.0], [17.0, 0.0], [900.0, 0.0]])

    error = pair_correlation_error(Comparison(real, synthetic, town()), radii=(10.0, 20.0))

    assert error == pytest.approx(((1 / 3 - 1 / 6) / (1 / 3) + 1.0) / 2)


def test_the_error_runs_from_nothing_to_one() -> None:
    spread, heap = np.array([[0.0, 0.0], [900.0, 900.0]]), np.zeros((5, 2))

    assert pair_correlation_error(Comparison(people(100), people(100), town())) == 0.0
    assert pair_correlation_error(Comparison(spread, spread + 3, town())) == 0.0
    assert pair_correlation_error(Comparison(spread, heap, town()), radii=(10.0,)) == 1.0
