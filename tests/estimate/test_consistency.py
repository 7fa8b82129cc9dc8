"""Two levels of noisy counts are weighed by their variance and made non-negative together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells.arrays import BLOCK, Floats
from pointveil.estimate import members_of_total, project_parts, project_to_total, reconcile, round_to_total

OWNER = np.array([0, 0, 0, 0, 1])


def test_a_whole_and_its_parts_are_weighed_by_the_inverse_of_their_variance() -> None:
    parts = np.array([1.0, 2.0, 3.0, 4.0, 7.0])

    wholes = reconcile(np.array([20.0, 5.0, 9.0]), 2.0, parts, 2.0, OWNER)

    # Four parts have four times the variance: 20 weighs 4/5, their sum 1/5. One part weighs as much as its whole.
    assert wholes.tolist() == pytest.approx([20 * 4 / 5 + 10 / 5, 6.0, 9.0])


def test_weighing_brings_the_variance_down_as_far_as_it_goes() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 2, (5000, 1)), rng.normal(0, 1, (5000, 9))
    owner = np.repeat(np.arange(5000), 9)

    wholes = reconcile(noise[0].ravel(), 4.0, noise[1].ravel(), 1.0, owner)

    best = 1 / (1 / 4 + 1 / 9)
    assert wholes.var() == pytest.approx(best, rel=0.1)


values = st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=12)


@given(values, values, st.floats(-100, 1e5), st.floats(-100, 1e5))
def test_parts_are_projected_as_each_whole_would_be_by_itself(
    one: list[float], other: list[float], total: float, other_total: float
) -> None:
    parts = np.array([*one, *other])
    owner = np.repeat([0, 1], [len(one), len(other)])
    order = np.random.default_rng(3).permutation(len(parts))

    together = np.empty(len(parts))
    together[order] = project_parts(parts[order], owner[order], np.array([total, other_total]))

    alone = [project_to_total(np.array(one), total), project_to_total(np.array(other), other_total)]
    assert together == pytest.approx(np.concatenate(alone), abs=1e-6)


def test_projected_parts_are_non_negative_and_add_up() -> None:
    parts = np.array([-5.0, 1.0, 9.0, -2.0, -7.0])

    projected = project_parts(parts, OWNER, np.array([6.0, 3.0, 8.0]))

    assert (projected >= 0).all()
    assert np.bincount(OWNER, projected, 3) == pytest.approx([6.0, 3.0, 0.0])


def test_a_whole_without_people_has_empty_parts() -> None:
    projected = project_parts(np.array([4.0, 5.0, 1.0, 2.0, 3.0]), OWNER, np.array([0.0, -2.0]))

    assert projected.tolist() == [0, 0, 0, 0, 0]


def test_nothing_gives_nothing() -> None:
    assert project_parts(np.empty(0), np.empty(0, dtype=np.int64), np.array([3.0])).tolist() == []


@pytest.mark.parametrize("count", [1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_counts_are_rounded_some_at_a_time_as_all_at_once(count: int) -> None:
    expected = np.random.default_rng(1).gamma(0.3, 30, count)
    total = 2 * count + 3
    marks = np.minimum(np.cumsum(expected) * (total / float(expected.sum())), total)
    marks = np.minimum(np.floor(marks + np.random.default_rng(2).random()), total)
    marks[-1] = total

    rounded = round_to_total(expected, total, np.random.default_rng(2))

    assert (rounded == np.diff(marks, prepend=0)).all()
    owner = members_of_total(expected, total, np.random.default_rng(2))
    assert owner.tolist() == np.repeat(np.arange(count), rounded).tolist()


@pytest.mark.parametrize("expected", [np.zeros(0), np.zeros(3), np.array([0.0, 2.5, 0.0])])
@pytest.mark.parametrize("total", [-1, 0, 2])
def test_whom_nobody_expects_belongs_nowhere(expected: Floats, total: int) -> None:
    rounded = round_to_total(expected, total, np.random.default_rng(1))

    owner = members_of_total(expected, total, np.random.default_rng(1))

    assert owner.tolist() == np.repeat(np.arange(len(expected)), rounded).tolist()


@pytest.mark.parametrize("count", [1, BLOCK, 2 * BLOCK + 5])
def test_what_falls_below_zero_is_found_some_at_a_time_as_all_at_once(count: int) -> None:
    counts = np.random.default_rng(1).normal(1, 5, count) ** 3
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - count) / np.arange(1, count + 1)
    taken = excess[max(int(np.count_nonzero(ordered > excess)), 1) - 1]

    projected = project_to_total(counts, count)

    assert (projected == np.maximum(counts - taken, 0.0)).all()
