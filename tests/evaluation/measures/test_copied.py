import numpy as np
import pytest
from numpy.typing import NDArray
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison, UnmeasuredError
from pointveil.evaluation.measures.copied import copied_share, nearest_real_distances
from pointveil.evaluation.points import compare
from pointveil.files.crs import DEGREES, transform
from pointveil.world import World


def test_distances_are_those_of_a_slow_search_in_one_half() -> None:
    real, synthetic = people(60), people(40, seed=1)
    half = np.random.default_rng(9).permutation(60)
    known, fresh = real[half[:30]], real[half[30:]]

    from_synthetic, from_fresh = nearest_real_distances(Comparison(real, synthetic, town(), seed=9))

    for distances, points in ((from_synthetic, synthetic), (from_fresh, fresh)):
        slow = sorted(min(np.hypot(*(point - other)) for other in known) for point in points)
        assert distances == pytest.approx(slow, abs=1e-9)


def test_a_copy_of_the_file_is_all_copied() -> None:
    assert copied_share(Comparison(people(301), people(301), town())) == pytest.approx(1.0, abs=1e-12)


def test_a_fresh_sample_of_the_same_town_is_not() -> None:
    assert copied_share(Comparison(people(4000), people(4000, seed=1), town())) < 0.06


def test_points_that_coincide_by_rounding_are_no_copies() -> None:
    real, fresh = np.round(people(4000), -2), np.round(people(4000, seed=1), -2)

    assert copied_share(Comparison(real, fresh, town())) < 0.06


def test_the_share_of_copies_is_found() -> None:
    real = people(4000)
    synthetic = np.concatenate([real[:1200], people(2800, seed=1)])

    assert copied_share(Comparison(real, synthetic, town())) == pytest.approx(0.3, abs=0.06)


def test_copies_with_a_metre_of_jitter_are_found_too() -> None:
    real = people(4000)
    jitter = np.random.default_rng(1).normal(0, 0.5, size=real.shape)

    assert copied_share(Comparison(real, real + jitter, town())) > 0.6


def test_points_far_from_everybody_are_no_copies() -> None:
    assert copied_share(Comparison(people(100), people(100) + 5000, town())) == 0.0


def test_one_real_point_cannot_be_split() -> None:
    with pytest.raises(UnmeasuredError, match="at least 2 real points"):
        copied_share(Comparison(people(1), people(5), town()))


@pytest.mark.parametrize("step", [10.0, 1.0])
def test_rounded_real_points_do_not_make_honest_ones_look_copied(step: float) -> None:
    rng = np.random.default_rng(3)
    world = town()
    crowd = rng.uniform(1, 999, (6000, 2))
    real = np.round(crowd[:3000] / step) * step
    honest, copies = crowd[3000:], real + rng.uniform(-0.4, 0.4, real.shape) * step

    assert copied_share(Comparison(real, honest, world)) < 0.1
    assert copied_share(Comparison(real, copies, world)) > 0.5


def test_degrees_are_recognised_as_rounded_in_a_world_of_feet() -> None:
    from pyproj import Transformer

    feet = World.make((975_000, 190_000, 1_005_000, 240_000), crs="EPSG:2263")
    rng = np.random.default_rng(3)
    places = rng.normal((-73.98, 40.75), 0.002, (8000, 2))
    to_feet = Transformer.from_crs("EPSG:4326", "EPSG:2263", always_xy=True).transform

    def in_world(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        return feet.projection.to_metres(np.round(np.column_stack(to_feet(*degrees.T)), 2))

    real, honest = in_world(places[:4000].round(4)), in_world(places[4000:])

    assert copied_share(Comparison(real, honest, feet)) < 0.1
    assert copied_share(Comparison(real, real, feet)) > 0.5


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("first", [4, 9])
def test_a_file_in_feet_is_recognised_as_rounded_in_a_world_of_degrees(first: int, decimals: int) -> None:
    """Also if its degrees had been rounded before it was written in whole feet."""
    world = World.make((-74.03, 40.69, -73.9, 40.82))
    rng = np.random.default_rng(3)
    places = rng.normal((-73.98, 40.75), 0.0003 if first == 9 else 0.003, (8000, 2))
    to_feet = transform(DEGREES, "EPSG:2263")
    real, others = (to_feet(each).round(decimals) for each in (places[:4000].round(first), places[4000:]))

    honest, copied = (compare(real, other, world, crs="EPSG:2263") for other in (others + 0.3, real))

    assert copied_share(honest) < 0.1
    assert copied_share(copied) > 0.5
