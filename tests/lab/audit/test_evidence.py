"""The bound is neither too bold nor too weak."""

import math

import numpy as np
import pytest

from pointveil.lab.audit.evidence import Evidence, Trials, choose, examine, moving_cells


def randomized_response(epsilon: float, count: int, rng: np.random.Generator) -> Trials:
    """Coins that are shown truly with the odds e^epsilon, beside a feature that says nothing."""
    coins = rng.random(count) < 0.5
    honest = rng.random(count) < 1 / (1 + math.exp(-epsilon))
    shown = np.where(honest, coins, ~coins)
    return Trials(coins, np.column_stack([rng.random(count), shown]), ("nothing", "shown"))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_bound_comes_within_five_percent_of_a_known_epsilon(epsilon: float) -> None:
    evidence = examine(randomized_response(epsilon, 200_000, np.random.default_rng(1)))

    assert 0.95 * epsilon < evidence.bound() < 1.02 * epsilon
    assert evidence.rule.startswith("shown")


def test_a_true_promise_is_refuted_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(2)

    wrong = sum(examine(randomized_response(1.0, 400, rng)).bound(0.9) > 1.0 for _ in range(400))

    assert wrong <= 40 + 4 * math.sqrt(36)  # at most 10 % of 400, and four standard errors


def test_what_tells_nothing_proves_nothing() -> None:
    rng = np.random.default_rng(3)
    coins = rng.random(2000) < 0.5

    bounds = [examine(Trials(coins, rng.normal(size=(2000, 30)), tuple("x" * 30))).bound() for _ in range(5)]

    assert max(bounds) < 0.3


def test_an_event_that_only_one_dataset_allows_is_found_in_every_direction() -> None:
    rng = np.random.default_rng(4)
    coins = rng.random(4000) < 0.5
    for guilty in (coins, ~coins):
        for sign in (1, -1):
            rare = sign * np.where(guilty & (rng.random(4000) < 0.05), 9.0, rng.integers(-3, 4, 4000))
            middle = np.where(guilty & (rng.random(4000) < 0.05), 0.5, rng.integers(-3, 4, 4000))
            for seen in (rare, middle):
                assert examine(Trials(coins, seen[:, None], ("rare",))).bound() > 2


def test_cells_that_move_are_found_wherever_they_are() -> None:
    rng = np.random.default_rng(5)
    coins = rng.random(2000) < 0.5
    answers = rng.laplace(size=(2000, 300))
    answers[:, [17, 250]] += coins[:, None]

    score = moving_cells(coins[:1000], answers[:1000], answers)

    assert score[1000:][coins[1000:]].mean() > score[1000:][~coins[1000:]].mean() + 0.5


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    evidence = Evidence(correct=60, guesses=60, trials=120, rule="all right")

    chance = 0.05 ** (1 / 60)  # the exact bound when every guess was right

    assert evidence.bound() == pytest.approx(math.log(chance / (1 - chance)))
    assert Evidence(0, 0, 10, "none").bound() == 0


def test_of_rules_that_are_equally_right_the_one_with_the_fewest_values_is_chosen() -> None:
    coins = np.arange(40) % 2 == 0
    many, few = np.where(coins, 100.0, 0.0) + np.arange(40), coins.astype(np.float64)

    rule = choose(Trials(coins, np.column_stack([many, few]), ("many", "few")), 4.0)

    assert rule.name.startswith("few")
