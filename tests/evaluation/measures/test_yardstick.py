"""Beside another real sample: what a release is worth in records, where the population is at hand."""

import numpy as np
import pytest

from pointveil.errors import UnmeasuredError
from pointveil.evaluation import MEASURES, Comparison, evaluate
from pointveil.world import World


@pytest.fixture(scope="module")
def city() -> tuple[World, np.ndarray]:
    world = World.make((10.0, 50.0, 10.02, 50.012))
    rng = np.random.default_rng(1)
    middles = rng.uniform(0, world.size, (30, 2))
    return world, np.clip(middles[rng.integers(0, 30, 200_000)] + rng.normal(0, 40, (200_000, 2)), 1, 1300)


def test_a_real_sample_is_worth_its_size_and_a_coarse_one_less(city: tuple[World, np.ndarray]) -> None:
    world, everybody = city
    real, other = everybody[:5000], everybody[100_000:105_000]
    worth = MEASURES["effective_sample_size"]

    def of(points: np.ndarray) -> float:
        return worth(Comparison(real, points, world, population=everybody))

    assert of(other) == pytest.approx(1, abs=0.15)
    assert of(other[:1250]) == pytest.approx(1, abs=0.2)  # beside a sample of its own size
    assert of(other + np.random.default_rng(2).normal(0, 60, other.shape)) < 0.6
    assert of(everybody[:160_000:32] + 0.5) > 0.8


def test_another_sample_differs_from_the_file_by_the_root_of_two(city: tuple[World, np.ndarray]) -> None:
    world, everybody = city
    compared = Comparison(everybody[:5000], everybody[:10], world, population=everybody)
    whole = Comparison(everybody, everybody[:5000], world)
    scaled = [
        np.abs(real / 40 - some).sum() / 5000 for real, some in whole.shifted_cell_counts(100.0)
    ]  # the error of one sample against the population

    assert MEASURES["another_sample"](compared) == pytest.approx(np.sqrt(2) * np.mean(scaled), rel=0.1)


def test_they_are_left_out_without_a_population(city: tuple[World, np.ndarray]) -> None:
    world, everybody = city
    some = Comparison(everybody[:100], everybody[100:200], world)
    with pytest.raises(UnmeasuredError, match="population"):
        MEASURES["effective_sample_size"](some)
    degrees = world.projection.from_metres(everybody[:3000])
    assert "another_sample" not in evaluate(degrees[:100], degrees[100:200], world, measures=None).reasons
    told = evaluate(
        degrees[:500], degrees[500:1000], world, measures=["another_sample", "effective_sample_size"],
        population=degrees,
    )  # fmt: skip
    assert set(told.values) == {"another_sample", "effective_sample_size"}
