"""What columns say is learned region by region, and agrees with the map and with itself."""

from fractions import Fraction

import numpy as np
import pytest
from axes import circle_axis, list_axis
from column_laws import ColumnAnswers, learn_column, learn_next_column, levels_worth_asking

from pointveil.vault import NoisyCounts

PEOPLE = np.array([400.0, 100.0, 300.0, 200.0])
TRUTH = np.array([[300.0, 100.0], [75.0, 25.0], [60.0, 240.0], [40.0, 160.0]])


def counts(values: np.ndarray, epsilon: str = "1") -> NoisyCounts:
    return NoisyCounts(np.rint(values).astype(np.int64).ravel(), "places", Fraction(epsilon))


def answers(table: np.ndarray, epsilon: str = "1") -> ColumnAnswers:
    return ColumnAnswers(list_axis(table.shape[1]), counts(table.sum(axis=0), epsilon), counts(table, epsilon))


def test_a_column_is_learned_at_the_regions_of_its_table() -> None:
    assert np.allclose(learn_column(answers(TRUTH), PEOPLE), TRUTH, rtol=0.02)


def test_smaller_regions_take_the_law_of_the_region_they_lie_in() -> None:
    coarse = TRUTH.reshape(2, 2, 2).sum(axis=1)

    found = learn_column(answers(coarse), PEOPLE)

    assert np.allclose(found.sum(axis=1), PEOPLE)
    assert np.allclose(found[0] / 400, found[1] / 100)
    assert found[0, 0] / 400 == pytest.approx(0.75, abs=0.01)


def test_no_answer_makes_a_law_that_is_no_law() -> None:
    rng = np.random.default_rng(1)
    for scale in (0, 1, 10**6):
        noisy = rng.integers(-scale, scale + 1, 8).reshape(4, 2).astype(np.float64)

        found = learn_column(answers(noisy, "1/1000"), PEOPLE)

        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert np.allclose(found.sum(axis=1), PEOPLE)


def test_the_next_column_agrees_with_the_first_and_with_its_own_tables() -> None:
    joint = TRUTH[:, :, None] * np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6]])

    found = learn_next_column(TRUTH, list_axis(2), answers(joint.sum(axis=1)), counts(joint.sum(axis=0)))

    assert np.allclose(found.sum(axis=2), TRUTH)
    assert np.allclose(found, joint, atol=3)


def test_what_else_is_known_of_a_histogram_is_used() -> None:
    flat = np.full((4, 2), 125.0)
    known = np.array([800.0, 200.0]), 1e-6

    found = learn_next_column(TRUTH, list_axis(2), answers(flat), counts(np.full((2, 2), 250.0)), known)

    assert np.allclose(found.sum(axis=(0, 1)), [800, 200], atol=5)


def test_a_column_that_follows_place_is_asked_in_more_regions_than_one_that_does_not() -> None:
    table = np.tile([[900.0, 100.0], [100.0, 900.0]], (4, 1))

    follows = levels_worth_asking(counts(table, "1/10"), list_axis(2), Fraction(1, 2), 8000)
    ignores = levels_worth_asking(counts(np.full((8, 2), 500.0), "1/10"), list_axis(2), Fraction(1, 2), 8000)

    assert follows > 6
    assert ignores == 3


def test_the_outline_of_a_rhythm_may_be_the_histogram_alone() -> None:
    hours = np.arange(1, 25)
    table = np.tile(hours, (4, 1)).astype(np.float64)
    asked = ColumnAnswers(circle_axis(24), counts(table.sum(axis=0)), counts(table))

    found = learn_column(asked, np.full(4, 300.0))

    assert np.allclose(found, table, rtol=0.05)
