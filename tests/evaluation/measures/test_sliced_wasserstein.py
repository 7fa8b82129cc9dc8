import numpy as np
import pytest
from scipy.stats import wasserstein_distance
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.sliced_wasserstein import sliced_wasserstein


@pytest.mark.parametrize("count", [300, 217, 1])
def test_it_is_the_mean_of_the_one_dimensional_distances(count: int) -> None:
    real, synthetic = people(300), people(count, seed=1)

    value = sliced_wasserstein(Comparison(real, synthetic, town()), directions=6)

    slow = []
    for turn in range(6):
        direction = np.array([np.cos(turn * np.pi / 6), np.sin(turn * np.pi / 6)])
        slow.append(wasserstein_distance(real @ direction, synthetic @ direction))
    assert value == pytest.approx(np.mean(slow), rel=1e-12)


def test_a_file_has_no_distance_to_itself_nor_to_itself_twice() -> None:
    real = people(40)

    assert sliced_wasserstein(Comparison(real, real, town())) == 0.0
    assert sliced_wasserstein(Comparison(real, np.concatenate([real, real]), town())) == pytest.approx(0.0, abs=1e-9)


def test_moving_everybody_costs_two_over_pi_of_the_way() -> None:
    value = sliced_wasserstein(Comparison(people(50), people(50) + np.array([30.0, 40.0]), town()), directions=360)

    assert value == pytest.approx(50 * 2 / np.pi, rel=1e-4)
