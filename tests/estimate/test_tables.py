"""Each step from a noisy table to expected people, with a number worked by hand."""

import numpy as np
import pytest

from pointveil.estimate.axes import Axis, circle_axis, list_axis, tree_axis
from pointveil.estimate.tables import (
    combine,
    denoise_table,
    finer_levels,
    fit_pairs,
    fit_totals,
    independent,
    merge_tables,
    shrink,
)


def laplace(rng: np.random.Generator, shape: tuple[int, ...], epsilon: float) -> np.ndarray:
    ratio = 1 - np.exp(-epsilon)
    return np.asarray(rng.geometric(ratio, shape) - rng.geometric(ratio, shape), dtype=np.float64)


def test_independence_shares_each_row_like_the_whole() -> None:
    assert independent(np.array([30.0, 10.0]), np.array([10.0, 30.0])).tolist() == [[7.5, 22.5], [2.5, 7.5]]


def test_a_block_is_shrunk_by_its_signal_over_signal_and_noise() -> None:
    gap = np.array([[3.0, 1.0], [1.0, 1.0]])

    # The first row: mean square 5, noise 2, so signal 3. The second: mean square 1, nothing above noise.
    shrunk = shrink(gap, np.array([2.0, 2.0]), np.array([1, 2]), np.array([1, 1]))

    assert np.allclose(shrunk, [[1.8, 0.6], [0.0, 0.0]])


def test_a_histogram_known_twice_is_weighed_by_its_variances() -> None:
    found = combine(10.0, (np.array([8.0, 2.0]), 1.0), (np.array([4.0, 6.0]), 3.0), other=False)

    assert np.allclose(found, [7.0, 3.0])


def test_a_histogram_is_never_negative_and_adds_up() -> None:
    found = combine(10.0, (np.array([12.0, -5.0, 1.0]), 1.0), other=False)

    assert (found >= 0).all()
    assert found.sum() == pytest.approx(10)


def test_other_values_that_noise_explains_are_none() -> None:
    few, many = (combine(100.0, (np.array([60.0, 40.0, others]), 4.0), other=True) for others in (5.9, 6.1))

    assert few[-1] == 0
    assert few.sum() == pytest.approx(100)
    assert many[-1] > 0


def test_fitting_reaches_both_totals() -> None:
    table = fit_totals(np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([6.0, 4.0]), np.array([5.0, 5.0]))

    assert np.allclose(table.sum(axis=1), [6, 4])
    assert np.allclose(table.sum(axis=0), [5, 5], atol=1e-6)
    assert table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]) == pytest.approx(1 / 6)


def test_nobody_comes_where_nobody_is() -> None:
    table = fit_totals(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([3.0, 0.0]), np.array([3.0, 0.0]))

    assert table.tolist() == [[3.0, 0.0], [0.0, 0.0]]


def test_a_table_far_above_its_noise_is_kept() -> None:
    truth = np.array([[900.0, 100.0, 200.0], [100.0, 700.0, 400.0]])

    found = denoise_table(truth, np.full(2, 1.0), truth.sum(axis=1), truth.sum(axis=0), tree_axis(1), list_axis(3))

    assert np.allclose(found, truth, rtol=0.01)


@pytest.mark.parametrize(("axis", "part"), [(list_axis(24), 0.15), (circle_axis(24), 0.3)], ids=["list", "circle"])
def test_where_place_says_nothing_little_but_independence_is_left(axis: Axis, part: float) -> None:
    rng = np.random.default_rng(4)
    rows, columns = np.full(64, 500.0), 32000 * np.bincount(rng.integers(0, 24, 4000), minlength=24) / 4000
    expected = independent(rows, columns)
    noise = laplace(rng, expected.shape, 0.1)

    found = denoise_table(expected + noise, np.full(64, 200.0), rows, columns, tree_axis(6), axis)

    assert np.abs(found - expected).mean() < part * np.abs(noise).mean()


def test_denoising_is_nearer_to_a_rhythm_that_follows_place_than_noise_and_than_independence() -> None:
    rng = np.random.default_rng(5)
    hours = np.arange(24)
    late = 1 + 0.8 * np.cos(2 * np.pi * (hours - 20) / 24)
    early = 1 + 0.8 * np.cos(2 * np.pi * (hours - 8) / 24)
    east = np.linspace(0, 1, 64)[:, None]
    truth = 20 * (east * late + (1 - east) * early)
    noise = laplace(rng, truth.shape, 0.1)
    rows, columns = truth.sum(axis=1), truth.sum(axis=0)

    found = denoise_table(truth + noise, np.full(64, 200.0), rows, columns, tree_axis(6), circle_axis(24))

    error = np.abs(found - truth).mean()
    assert error < 0.3 * np.abs(noise).mean()
    assert error < 0.5 * np.abs(independent(rows, columns) - truth).mean()
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=1), rows)


def test_two_tables_are_merged_by_their_variances() -> None:
    # Coarse: one region, 12 people, variance 1. Fine: two regions with 4 and 4, variance 1, so their sum has 2.
    table, variance = merge_tables(np.array([[12.0]]), 1.0, np.array([[4.0], [4.0]]), 1.0)

    # The sum is the mean of 12 and 8 with weights 2 and 1, and each region gets half of what is added.
    assert np.allclose(table, [[16 / 3], [16 / 3]])
    assert np.allclose(variance, [1 / 3, 1.0])


def test_merging_tables_that_agree_changes_nothing_but_the_doubt() -> None:
    fine = np.random.default_rng(6).integers(0, 50, (8, 3)).astype(np.float64)
    coarse = fine.reshape(2, 4, 3).sum(axis=1)

    table, variance = merge_tables(coarse, 5.0, fine, 5.0)

    assert np.allclose(table, fine)
    assert np.allclose(variance, [1, 1, 5, 5, 5, 5, 5, 5])


def test_regions_are_cut_further_the_more_they_still_differ() -> None:
    columns = np.array([200.0, 200.0])
    noisy = np.array([[75.0, 25.0], [25.0, 75.0], [75.0, 25.0], [25.0, 75.0]])

    # Neighbours differ by 50 in each bin, so their contrasts are 50 long: a square of 2,500, less 100 of noise.
    # Cutting quarters it until half of the next table's noise is left: log4(2400 / 50) = 2.8.
    assert finer_levels(noisy, 100.0, 100.0, columns, list_axis(2)) == 3
    assert finer_levels(noisy, 2500.0, 100.0, columns, list_axis(2)) == 0
    assert finer_levels(noisy[:1], 1.0, 1.0, columns, list_axis(2)) == 0


def test_three_tables_of_pairs_are_fitted_together() -> None:
    rng = np.random.default_rng(7)
    # A joint law without a three-way interaction is found again from its pairs.
    logs = rng.normal(size=(4, 3, 1)) + rng.normal(size=(4, 1, 2)) + rng.normal(size=(1, 3, 2))
    joint = 100 * np.exp(logs)

    found = fit_pairs(joint.sum(axis=2), joint.sum(axis=1), joint.sum(axis=0))

    assert np.allclose(found, joint, rtol=1e-3)
