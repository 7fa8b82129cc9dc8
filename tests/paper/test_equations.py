"""The paper's equations for partitions, each with a number worked by hand."""

from fractions import Fraction
from math import exp, pi, sqrt

import numpy as np
import pytest

from pointveil.cells import Grid, Voronoi
from pointveil.ground import clip_to_land, cut_into_fans
from pointveil.lab.as_published import kernel as published_kernel
from pointveil.lab.as_published import regions as published
from pointveil.lab.as_published.rows import SPLITS
from pointveil.methods import METHODS
from pointveil.partition.adaptive_grid import coarse_side, fine_sides
from pointveil.partition.base import grid_side
from pointveil.placement.weighted_uniform import side_shares
from pointveil.vault import laplace_variance
from pointveil.vault.noise import DiscreteLaplace, SeededWords
from pointveil.world import World


def test_equation_1_the_chance_of_an_answer_changes_by_at_most_e_to_the_epsilon() -> None:
    # DLap(1): P(0) / P(1) = e. 200,000 draws around 0 and around 1; five standard deviations.
    noise = DiscreteLaplace(Fraction(1)).draw(200_000, SeededWords(1))

    ratio = (noise == 0).mean() / (noise == 1).mean()

    assert ratio == pytest.approx(exp(1), rel=0.04)


def test_equation_2_noise_has_the_scale_of_sensitivity_over_epsilon() -> None:
    # Lap(1/ε) has the variance 2/ε²; for ε = 1/10 that is 200, and on whole numbers 1/6 less.
    assert laplace_variance(Fraction(1, 10)) == pytest.approx(200 - 1 / 6, rel=1e-4)
    assert np.abs(published.noisy_counts(np.full(50_000, 1000), 0.1, np.random.default_rng(1)) - 1000).mean() == (
        pytest.approx(10, rel=0.03)
    )


def test_equation_5_the_side_of_the_uniform_grid() -> None:
    # Beijing: sqrt(158,260 · 1 / 10) = 125.8. With a kernel: sqrt(158,260 · 0.6 / 10) = 97.4.
    assert grid_side(158_260, Fraction(1), 10) == 126
    assert grid_side(158_260, Fraction(6, 10), 10) == 98


def test_equation_6_the_side_of_the_coarse_grid() -> None:
    # Beijing: ceil(sqrt(158,260 · 0.5 / 10)) = 89, a quarter of it 22.25, whole 22. A village keeps 10.
    assert coarse_side(158_260, Fraction(1, 2), 10) == 22
    assert coarse_side(500, Fraction(1, 2), 10) == 10


def test_equation_7_the_sides_of_the_fine_grids() -> None:
    # sqrt(1000 · 0.5 / 5) = 10; sqrt(1001 · 0.5 / 5) = 10.005; 10 people: sqrt(1) = 1; none or fewer: 1.
    assert fine_sides(np.array([1000, 1001, 10, 11, 0, -40]), Fraction(1, 2), 5).tolist() == [10, 11, 1, 2, 1, 1]


def test_equation_8_the_share_of_each_side(plain_world: World) -> None:
    # A square's side has a quarter of its area; neighbours 10, 20, 30, 40: half of 1/4 and half of their share.
    grid = Grid(plain_world.bounds, 3, 3)
    fans = cut_into_fans(grid, clip_to_land(grid, plain_world), plain_world, np.array([4]))

    shares = side_shares(fans, np.array([10.0, 20.0, 30.0, 40.0]), 9, 0.5)

    assert shares == pytest.approx([0.125 + 0.05, 0.125 + 0.10, 0.125 + 0.15, 0.125 + 0.20])


def test_equation_9_a_sample_of_the_estimate_is_a_real_point_picked_evenly_and_used_at_most_twice() -> None:
    # Two points, four samples: any point picked a third time becomes "anywhere" (-1).
    slots, region = np.zeros(4, dtype=np.int64), np.array([0, 0])

    picks = [published_kernel.pick_tokens(slots, region, 1, np.random.default_rng(seed)) for seed in range(400)]

    assert max((pick == point).sum() for pick in picks for point in (0, 1)) == 2
    # All four alike has the chance 2/16, three alike 8/16: 2 and 1 fillers, so 0.75 of them on average.
    assert np.mean([(pick == -1).sum() for pick in picks]) == pytest.approx(0.75, abs=0.15)


def test_equation_10_the_radius_is_exponential_and_the_angle_even(plain_world: World) -> None:
    # Far from any border and with a bandwidth of 10 m, half of all points lie within 10 · ln 2 m, and the planar
    # density at a radius of 1 m is exp(-0.1) / (2π · 10 · 1).
    rng, count = np.random.default_rng(1), 100_000
    centre = np.tile(np.array(plain_world.bounds[2:]) / 2, (count, 1))
    everywhere = Grid(plain_world.bounds, 1, 1)

    xy = published_kernel.sample_around(
        centre, np.zeros(count, dtype=np.int64), np.full(count, 10.0), 60.0, everywhere, plain_world, rng
    )

    east, north = (xy - centre).T
    radius = np.hypot(east, north)
    near = (np.abs(radius - 1) < 0.2).mean() / (pi * (1.2**2 - 0.8**2))
    assert np.median(radius) == pytest.approx(10 * np.log(2), rel=0.02)
    assert near == pytest.approx(exp(-0.1) / (20 * pi), rel=0.1)
    assert (east > np.abs(north)).mean() == pytest.approx(1 / 4, abs=0.01)


def test_equation_11_the_bandwidth_is_the_widest_distance_over_epsilon() -> None:
    # A cell of 30 by 40 m is 50 m wide; at ε₃ = 0.4 and two uses of a point h = 50 / 0.2 = 250 m.
    square = Grid((0.0, 0.0, 60.0, 80.0), 2, 2)
    whole = Voronoi((0.0, 0.0, 30.0, 40.0), np.array([[1.0, 1.0]]))

    assert published_kernel.diameters(square) == pytest.approx([50] * 4)
    assert published_kernel.diameters(whole) == pytest.approx([sqrt(30**2 + 40**2)])
    assert pytest.approx(250) == published_kernel.MAX_USES / 0.4 * 50


@pytest.mark.parametrize(
    ("method", "split"),
    [
        ("ugrid-uni", {"count": "1"}),
        ("ugrid-kde", {"count": "3/5", "place": "2/5"}),
        ("agrid-uni", {"shape": "1/2", "count": "1/2"}),
        ("agrid-kde", {"shape": "2/5", "count": "2/5", "place": "1/5"}),
        ("clust-uni", {"shape": "2/3", "count": "1/3"}),
        ("clust-kde", {"shape": "1/4", "count": "1/2", "place": "1/4"}),
    ],
)
def test_the_splits_that_the_paper_found_best_after_the_hundredth_for_the_total(
    method: str, split: dict[str, str]
) -> None:
    shares = METHODS[method].shares()

    assert shares.pop("total") == Fraction(1, 100)
    assert shares == {purpose: Fraction(part) * Fraction(99, 100) for purpose, part in split.items()}
    assert SPLITS[method.removesuffix("-uni")] == split
