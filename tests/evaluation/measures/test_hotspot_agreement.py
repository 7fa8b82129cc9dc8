from math import exp

import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.errors import InputError
from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.hotspot_agreement import density, find_hotspots, hotspot_agreement

NOBODY = np.zeros((0, 2))


def test_the_density_is_that_of_a_slow_sum_of_kernels_at_the_cells() -> None:
    points, (wide, high), cell, g = people(60), (80.0, 40.0), 50.0, 20

    grid = density(points, town(), granularity=g, bandwidth=np.array([wide, high]))

    slow = np.zeros((g, g))
    for x, y in points:
        for row in range(g):
            for column in range(g):
                across, along = column - int(x // cell), row - int(y // cell)
                slow[row, column] += kernel(across, wide / cell) * kernel(along, high / cell)
    assert grid == pytest.approx(slow, abs=1e-12)


def kernel(steps: int, width: float) -> float:
    """A Gaussian kernel on whole cells, cut at four standard deviations; its values add up to 1."""
    reach = int(4 * width + 0.5)
    total = sum(exp(-(step**2) / (2 * width**2)) for step in range(-reach, reach + 1))
    return exp(-(steps**2) / (2 * width**2)) / total if abs(steps) <= reach else 0.0


def test_hotspots_are_strictly_denser_than_the_percentile() -> None:
    assert np.flatnonzero(find_hotspots(np.arange(101.0))).tolist() == [96, 97, 98, 99, 100]
    assert not find_hotspots(np.ones((8, 8))).any()


@pytest.mark.parametrize("bandwidth", ["cell", "scott", 35.0])
@pytest.mark.parametrize("granularity", [16, 64])
def test_a_file_compared_with_itself_has_the_same_hotspots(granularity: int, bandwidth: str | float) -> None:
    assert (
        hotspot_agreement(Comparison(people(90), people(90), town()), granularity=granularity, bandwidth=bandwidth)
        == 1.0
    )


def test_nobody_and_people_elsewhere_share_no_hotspot() -> None:
    here, there = people(50) / 10, people(50) / 10 + 800

    assert hotspot_agreement(Comparison(here, NOBODY, town())) == 0.0
    assert hotspot_agreement(Comparison(here, there, town())) == 0.0


def test_one_point_is_a_hotspot() -> None:
    one = np.array([[500.0, 500.0]])

    assert hotspot_agreement(Comparison(one, one, town()), bandwidth="scott") == 1.0


def test_a_finer_map_is_harder_to_match() -> None:
    real, synthetic = people(3000), people(3000, seed=1)

    coarse, fine = (hotspot_agreement(Comparison(real, synthetic, town()), granularity=g) for g in (16, 256))

    assert fine < coarse


def test_an_unknown_rule_for_the_bandwidth_is_named() -> None:
    with pytest.raises(InputError, match="'wide'"):
        hotspot_agreement(Comparison(people(5), people(5), town()), bandwidth="wide")
