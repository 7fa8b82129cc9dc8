"""Each step from noisy counts to expected people, with a number worked by hand."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from pointveil.cells import Bools, Leaves, arrays, raster
from pointveil.estimate import road_law, tiles
from pointveil.estimate.context import neighbour_ratios, own_weight, regress
from pointveil.estimate.posterior import Estimates, _chained, denoise, likeliest_law, posterior
from pointveil.estimate.road_law import at_most, fit_factors, learn_road_law, settle, shrink
from pointveil.estimate.totals import block_doubts, fuse_blocks, match_the_total, match_totals, within_noise
from pointveil.files.crs import DEGREES
from pointveil.ground import leaves_from_levels, raster_of
from pointveil.partition import veil
from pointveil.partition.veil import cell_weights, scaled_to, shared_rounding, significant, smooth_rate, tables
from pointveil.vault import NoisyCounts
from pointveil.world import World


def counts(values: object, epsilon: object = 1) -> NoisyCounts:
    return NoisyCounts(np.asarray(values, dtype=np.int64), "count", Fraction(str(epsilon)))


@pytest.fixture(scope="module")
def blocks() -> Leaves:
    """Leaves of one cell on a square of 64 by 64 cells, all land."""
    world = World.make((0.0, 0.0, 1024.0, 1024.0), crs="EPSG:32632")
    raster = raster_of(world, 16.0, 8)
    return leaves_from_levels(raster, np.zeros(raster.shape, dtype=np.int8))


def test_the_posterior_of_many_zeros_is_zero() -> None:
    rng = np.random.default_rng(1)
    noise = rng.geometric(1 - np.exp(-1), 5000) - rng.geometric(1 - np.exp(-1), 5000)

    estimates = posterior(noise.astype(np.int64), 1.0)

    assert estimates.mean.mean() == pytest.approx(0, abs=0.05)
    assert estimates.median.max() < 3


def test_the_posterior_of_counts_far_above_the_noise_is_the_counts() -> None:
    noisy = np.repeat(np.array([10, 200, 5000]), 50)

    estimates = posterior(noisy, 5.0)

    assert np.abs(estimates.median - noisy).max() < 0.6


def test_the_posterior_knows_two_kinds_apart() -> None:
    """Half are empty and half have 20 people: a noisy 4 is an empty one, a noisy 16 a full one."""
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 20], 2000)
    noisy = truth + rng.geometric(1 - np.exp(-0.5), 4000) - rng.geometric(1 - np.exp(-0.5), 4000)

    estimates = posterior(noisy.astype(np.int64), 0.5)

    assert estimates.mean[noisy == 4].mean() < 1.5
    assert estimates.mean[noisy == 16].mean() > 18


@pytest.mark.parametrize(("epsilon", "mean"), [(0.001, 40.0), (0.3, 900.0), (5.0, 3.0), (40.0, 2000.0)])
def test_the_likeliest_law_is_that_of_plain_expectation_maximisation(epsilon: float, mean: float) -> None:
    rng = np.random.default_rng(3)
    noise = rng.geometric(-np.expm1(-epsilon), (2, 1000))
    seen, times = np.unique(rng.exponential(mean, 1000).astype(np.int64) + noise[0] - noise[1], return_counts=True)
    truths = np.arange(max(seen[-1], 0) + 1, dtype=np.float64)
    likelihood = np.exp(-np.minimum(epsilon * np.abs(seen[:, None] - truths), 600.0))
    law = np.full(len(truths), 1 / len(truths))
    for _ in range(80):
        law = law * (likelihood.T @ (times / (likelihood @ law)))
        law /= law.sum()
    shares = np.bincount(np.maximum(seen, 0), times / times.sum(), len(truths))

    of_two = likeliest_law(np.tile(truths, 2), np.append(shares, shares[::-1]), epsilon)

    assert of_two[: len(truths)] == pytest.approx(law, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "mean"), [(0.001, 40.0), (0.3, 900.0), (5.0, 3.0), (40.0, 2000.0)])
def test_the_posterior_is_that_of_all_likelihoods_times_the_law(epsilon: float, mean: float) -> None:
    rng = np.random.default_rng(3)
    noise = rng.geometric(-np.expm1(-epsilon), (2, 1000))
    noisy = rng.exponential(mean, 1000).astype(np.int64) + noise[0] - noise[1]
    truths, shares, place = _chained(np.maximum(noisy, 0), np.zeros(1000, dtype=np.int64))
    given = np.exp(-epsilon * np.abs(truths[place, None] - truths)) * likeliest_law(truths, shares, epsilon)
    given /= given.sum(axis=1, keepdims=True)
    mean_of = given @ truths

    estimates = posterior(noisy, epsilon)

    running = np.cumsum(given, axis=1)
    middle = np.argmax(running >= 0.5, axis=1)
    row = np.arange(1000)
    median = truths[middle] + 0.5 - (running[row, middle] - 0.5) / given[row, middle]
    assert estimates.mean == pytest.approx(mean_of, rel=1e-9, abs=1e-12)
    assert estimates.variance == pytest.approx(np.maximum(given @ truths**2 - mean_of**2, 1e-3), rel=1e-4)
    assert estimates.median == pytest.approx(np.maximum(median, 0), abs=1e-6)


def test_kinds_do_not_learn_from_each_other() -> None:
    rng = np.random.default_rng(5)
    noisy, kind = rng.integers(-5, 900, 3000), rng.integers(0, 3, 3000)

    together = posterior(noisy, 0.5, 1, kind)

    for number in range(3):
        alone = posterior(noisy[kind == number], 0.5)
        assert np.array(together)[:, kind == number] == pytest.approx(np.array(alone), rel=1e-6)


def test_a_noisy_count_that_no_noise_explains_has_an_estimate_all_the_same() -> None:
    estimates = posterior(np.array([-5000, 3, 4]), 1.0)

    assert np.isfinite(estimates).all()
    assert estimates.mean[1:] == pytest.approx([3, 4], abs=1)


def test_a_leafs_own_count_does_not_enter_its_neighbourhood(blocks: Leaves) -> None:
    prior = np.ones(len(blocks))
    noisy = np.zeros(len(blocks))
    noisy[1000] = 500.0

    ratios = neighbour_ratios(noisy, prior, blocks)

    assert ratios[:, 1000] == pytest.approx(0, abs=0.01 * 500 / len(blocks) * 50)
    assert ratios.max() > 1


def test_neighbourhoods_are_the_same_tile_by_tile(blocks: Leaves, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    noisy, prior = rng.normal(3, 2, len(blocks)), rng.gamma(2, size=len(blocks))

    whole = neighbour_ratios(noisy, prior, blocks)
    monkeypatch.setattr(tiles, "TILE", 16)
    monkeypatch.setattr(tiles, "TILES", 3)
    tiled = neighbour_ratios(noisy, prior, blocks)

    assert tiled == pytest.approx(whole, rel=1e-9)
    assert (neighbour_ratios(noisy, prior, blocks, more=2)[:-2] == tiled).all()


@pytest.mark.parametrize("width", [0.7, 4.0])
def test_tiles_are_blurred_as_by_a_gaussian_filter(blocks: Leaves, width: float) -> None:
    field = np.random.default_rng(1).random((64, 64))
    expected = gaussian_filter(field, width, mode="constant", truncate=3.0)
    blurred = tiles.Filtered.by(field, tiles.gaussian(5.0, 3.0), tiles.gaussian(width, 3.0))[1]

    for some in tiles.tiles_of(blocks.column[5:], blocks.row[5:]):
        column, row = (axis[5:][some.here] for axis in (blocks.column, blocks.row))
        assert some.of(blurred) == pytest.approx(expected[column, row])


def test_leaves_are_tabled_some_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    leaves = veil.squares_of(raster_of(world, 16.0, 8), 2)
    cells = leaves.raster
    leaf = leaves.leaf_of[cells.entry_cell].astype(np.int64)
    expected = np.bincount(leaf * cells.bins + cells.entry_bin, cells.entry_area, len(leaves) * cells.bins)
    monkeypatch.setattr(veil, "BLOCK", 7)

    found = list(tables(leaves, cells.entry_area))

    assert len(found) > 10
    assert np.concatenate(found).ravel() == pytest.approx(expected)


def test_a_law_is_learned_some_regions_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(1).random((40, 3))
    people, distances = 100 * table.sum(axis=1), counts([3000, 1500, 1000])
    whole = learn_road_law([table], people, distances)
    monkeypatch.setattr(road_law, "MOST_FITTED", 40)  # every third
    thinned = learn_road_law([table], people, distances)

    parts = learn_road_law([table[:7], table[7:8], table[8:]], people, distances)

    assert thinned.people == pytest.approx(whole.people)
    assert parts.factor == pytest.approx(thinned.factor)
    assert parts.factor != pytest.approx(whole.factor, rel=1e-6)


def test_a_distance_that_no_fitted_region_has_is_as_likely_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(1).random((40, 3)) + 0.5
    table[::3, 2] = 0.0
    people = 100 * table.sum(axis=1)
    monkeypatch.setattr(road_law, "MOST_FITTED", 40)  # every third

    found = learn_road_law([table], people, counts(np.rint(100 * table.sum(axis=0)).astype(int).tolist()))

    assert found.factor.min() > 0.8


def test_densities_are_the_same_tile_by_tile(blocks: Leaves, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    people, weight = rng.gamma(2, size=len(blocks)), rng.gamma(2, size=len(blocks))

    whole = smooth_rate(blocks, people, weight, 1.0)
    monkeypatch.setattr(tiles, "TILE", 8)
    tiled = smooth_rate(blocks, people, weight, 1.0)

    assert tiled == pytest.approx(whole, rel=1e-9)


def test_cells_are_weighed_some_entries_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = raster_of(world, 16.0, 8)
    factor = np.random.default_rng(1).random(cells.bins)
    expected = np.bincount(cells.entry_cell, cells.entry_area * factor[cells.entry_bin])
    monkeypatch.setattr(raster, "blocks", partial(arrays.blocks, size=7))

    assert cell_weights(cells, factor) == pytest.approx(expected)


def test_the_middle_weight_of_a_wide_filter_is_that_of_the_normal_law() -> None:
    assert own_weight(4.0) == pytest.approx(1 / (2 * np.pi * 16), rel=0.02)


def test_regression_finds_the_feature_that_counts_follow() -> None:
    rng = np.random.default_rng(3)
    feature = rng.uniform(1, 10, 2000)

    fit = regress(2 * feature + rng.normal(0, 1, 2000), np.vstack([feature, np.ones(2000)]), 1.0)

    assert fit == pytest.approx(2 * feature, abs=0.3)


def test_denoising_brings_counts_nearer_to_the_truth(blocks: Leaves) -> None:
    rng = np.random.default_rng(4)
    hill = np.exp(-((blocks.column - 20) ** 2 + (blocks.row - 40) ** 2) / 200.0)
    truth = rng.poisson(8 * hill)
    noisy = truth + rng.geometric(1 - np.exp(-0.5), len(truth)) - rng.geometric(1 - np.exp(-0.5), len(truth))

    estimates = denoise(counts(noisy, "0.5"), scaled_to(np.ones(len(truth)), truth.sum()), blocks)

    assert np.abs(estimates.median - truth).sum() < 0.5 * np.abs(np.maximum(noisy, 0) - truth).sum()


def test_leaves_share_their_blocks_gap_by_how_unsure_they_are(blocks: Leaves) -> None:
    """Four leaves of 10 in a block counted at 60: doubts 1 and 3 take the gap of 20 in that proportion."""
    coarse = leaves_from_levels(blocks.raster, np.full(blocks.raster.shape, 1, dtype=np.int8))
    size = len(blocks)
    mean = np.full(size, 10.0)
    variance = np.where(blocks.column % 2 == 0, 1.0, 3.0)
    block_counts = counts(np.full(len(coarse), 60), 100)  # hardly any noise

    fused = fuse_blocks(Estimates(mean, mean, variance), coarse, block_counts, blocks, 1)

    assert fused[blocks.column % 2 == 0] == pytest.approx(10 + 20 / 8)
    assert fused[blocks.column % 2 == 1] == pytest.approx(10 + 60 / 8)


def test_a_blocks_total_is_surer_than_its_own_count_and_than_its_leaves_alone(blocks: Leaves) -> None:
    """Four leaves' sum has four times the variance of the block's count, if each has the same noise."""
    coarse = leaves_from_levels(blocks.raster, np.full(blocks.raster.shape, 1, dtype=np.int8))
    leaf, block = counts(np.zeros(len(blocks))), counts(np.zeros(len(coarse)))
    fine, large = leaf.variance, block.variance

    doubt = block_doubts(coarse, block, blocks, leaf, 1)

    assert doubt**2 == pytest.approx(1 / (1 / large + 1 / (4 * fine)))


def test_totals_are_matched_where_they_are_clear_and_left_alone_where_not(blocks: Leaves) -> None:
    west = blocks.column < 32
    noisy = counts(np.where(west, 9, 0))
    estimates = np.where(west, 6.0, 0.01)

    matched = match_totals(estimates, blocks, 5, (blocks, noisy), (blocks, noisy))

    assert matched[west] == pytest.approx(9.0)
    assert matched[~west] == pytest.approx(0.01)


def test_a_surer_answer_has_more_say_in_a_total(blocks: Leaves) -> None:
    """The blocks say 9 each, a sure count of the large squares says 10 each on average: 10 it is."""
    large = leaves_from_levels(blocks.raster, np.full(blocks.raster.shape, 5, dtype=np.int8))
    inside = np.bincount(large.leaf_at[blocks.column, blocks.row])
    answers = (blocks, counts(np.full(len(blocks), 9))), (large, counts(10 * inside, 100))

    matched = match_totals(np.full(len(blocks), 6.0), blocks, 5, *answers)

    assert matched == pytest.approx(10.0, rel=1e-3)


def test_shrinking_takes_a_gap_that_noise_explains_and_keeps_one_that_it_does_not() -> None:
    prior = np.full(50, 100.0)
    rng = np.random.default_rng(5)

    assert np.abs(shrink(prior + rng.normal(0, 2, 50), prior, 4.0) - prior).max() < 2
    assert shrink(prior * 2, prior, 4.0) == pytest.approx(prior * 2, rel=0.01)


def test_the_road_law_reproduces_the_histogram() -> None:
    """One region, two bins of equal area, 30 people near and 10 far: the far factor is a third."""
    table = np.array([[50.0, 50.0]])

    factor = fit_factors(table, np.array([40.0]), np.array([30.0, 10.0]))

    assert factor == pytest.approx([1, 1 / 3])


def test_the_law_is_learned_from_a_noisy_histogram() -> None:
    table = np.array([[1.0, 3.0], [2.0, 2.0]])

    law = learn_road_law([table], np.array([400.0, 400.0]), counts([700, 100]))

    assert law.people.sum() == pytest.approx(800)
    assert law.factor[0] == 1
    assert law.factor[1] < 0.2


def test_a_bin_that_noise_overfilled_does_not_spoil_the_law_of_the_others() -> None:
    """Forty regions have near and far places, one with ten people also has remote ones; noise puts 300 people there."""
    table = np.vstack([np.tile([1.0, 1.0, 0.0], (40, 1)), [0.0, 0.0, 1.0]])
    people = np.append(np.full(40, 100.0), 10.0)

    law = learn_road_law([table], people, counts([3000, 700, 300], "0.02"))

    assert law.people[2] <= 5
    assert law.people.sum() == pytest.approx(4010)
    assert law.factor[0] > 3 * law.factor[1]


def test_a_bin_may_have_nearly_everybody_if_noise_does_not_explain_it() -> None:
    """Records that were put onto the streets: 990 in 1,000 are in the first bin."""
    table = np.array([[1.0, 99.0]])

    law = learn_road_law([table], np.array([1000.0]), counts([990, 10], 1))

    assert law.people[0] > 980


def test_what_is_cut_off_goes_to_the_others_where_it_can() -> None:
    assert at_most(np.array([60.0, 30.0, 10.0]), np.array([20.0, 100.0, 15.0])) == pytest.approx([20, 65, 15])
    assert at_most(np.array([60.0, 30.0]), np.array([20.0, 40.0])) == pytest.approx([20, 40])
    assert at_most(np.zeros(2), np.ones(2)) == pytest.approx([0, 0])


def test_squares_and_distances_are_both_right_in_the_end_if_they_can_be() -> None:
    """Two squares with other laws of distance: one factor for both moves people between them; in turn, it does not."""
    table = np.array([[80.0, 20.0], [30.0, 70.0]])

    by_square, by_bin = settle(table, np.array([100.0, 100.0]), np.ones(2, dtype=bool), np.array([150.0, 50.0]), 0.01)
    people = table * by_square[:, None] * by_bin

    assert people.sum(axis=1) == pytest.approx([100, 100], rel=1e-9)
    assert people.sum(axis=0) == pytest.approx([150, 50], abs=0.02)


@pytest.mark.parametrize("held", [np.array([True, True]), np.array([False, False])], ids=["clear", "unclear"])
def test_where_both_cannot_be_right_squares_clearly_above_zero_win_over_distances(held: Bools) -> None:
    """All of the second square's places are far, but the histogram wants nobody there."""
    table = np.diag([50.0, 50.0])

    by_square, by_bin = settle(table, np.array([50.0, 50.0]), held, np.array([100.0, 0.0]), 1.0)

    people = np.diag(table * by_square[:, None] * by_bin)
    assert people == pytest.approx([50, 50] if held[1] else [100, 0], abs=0.1)


def test_squares_too_unsure_of_their_own_totals_keep_one_together_so_that_nobody_is_lost() -> None:
    """The first square is sure, and has too few places far away for what the histogram wants; the others give none."""
    table = np.array([[99.0, 1.0], [2.0, 8.0], [0.0, 10.0]])
    held = np.array([True, False, False])

    by_square, by_bin = settle(table, np.array([100.0, 10.0, 10.0]), held, np.array([115.0, 5.0]), 0.01)
    people = (table * by_square[:, None] * by_bin).sum(axis=1)

    assert people[0] == pytest.approx(100)
    assert people[1:].sum() == pytest.approx(20)
    assert people[1] > people[2]  # the distances move people between them


def test_a_released_square_is_never_farther_from_its_answer_than_noise_goes() -> None:
    """With 3 squares and epsilon 1 noise goes ln 3,000 = 8: 100 people against 50, 4 against 2, 3 against -90."""
    noisy = NoisyCounts(np.array([50, 2, -90]), "shape", Fraction(1))
    square = np.array([0, 0, 1, 2])
    reach = np.log(3000)

    checked = within_noise(np.array([40.0, 60.0, 4.0, 3.0]), square, noisy)

    assert checked == pytest.approx([0.4 * (50 + reach), 0.6 * (50 + reach), 4, 0])


def test_rounding_is_believed_only_where_the_counts_are_clear() -> None:
    for crs, most in ((DEGREES, [960]), ("EPSG:32632", [960, 10])):
        assert shared_rounding(counts([0, 3, *most, 40], "0.1"), crs) == (crs, 1000)
        assert shared_rounding(counts([0, 500, 400 + most[0] - 960, *most[1:], 40], "0.1"), crs) == (crs, 1000)
    assert shared_rounding(counts([0, 3, 40, 960], "0.1"), DEGREES) is None
    assert shared_rounding(counts([0, 3, 96, 4], "0.01"), DEGREES) is None
    assert shared_rounding(counts([-5, -3, -9, -4], "0.1"), DEGREES) is None
    assert shared_rounding(counts([10_000]), DEGREES) is None  # not asked
    assert shared_rounding(counts([0, 3, 5, 960, 40], "0.1"), "EPSG:2263") == (DEGREES, 1000)
    assert shared_rounding(counts([0, 3, 460, 500, 40], "0.1"), "EPSG:2263") is None  # two different ones


def test_significant_digits() -> None:
    assert significant(np.array([0.0, 1234.5, 0.0012345, -98.76])).tolist() == [0.0, 1230.0, 0.00123, -98.8]


def test_as_many_people_as_the_answers_say_together_but_never_more_for_a_total_that_may_be_noise() -> None:
    """Sums of 30 with two cells and of 60 with one, the same noise: the second is twice as sure, so 50 in all."""
    answers = counts([10, 20]), counts([60])

    assert match_the_total(np.array([40.0, 60.0]), *answers) == pytest.approx([20, 30])
    assert match_the_total(np.array([5.0, 20.0]), *answers) == pytest.approx([10, 40])
    assert match_the_total(np.array([1.0, 2.0]), counts([4])) == pytest.approx([1, 2])
    assert match_the_total(np.array([10.0, 20.0]), counts([3])) == pytest.approx([1, 2])
    assert match_the_total(np.array([10.0, 20.0]), counts([-5])) == pytest.approx([0, 0])
