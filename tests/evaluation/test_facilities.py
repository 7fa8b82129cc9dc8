from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.evaluation.towns import crossroads, people, town

from pointveil.errors import InputError
from pointveil.evaluation import UnmeasuredError
from pointveil.evaluation.facilities import (
    least_distance,
    least_distance_agreement,
    most_influential,
    most_influential_agreement,
    total_distance,
)

Points = NDArray[np.float64]


def attracted(xy: Points, chosen: Points, reach: float, existing: Points | None) -> int:
    """How many customers the chosen attract, one by one."""
    count = 0
    for customer in xy:
        nearest = min(np.hypot(*(customer - place)) for place in chosen)
        rival = np.inf if existing is None else min(np.hypot(*(customer - place)) for place in existing)
        count += nearest <= reach and nearest < rival
    return count


def all_choices(count: int, choose: int) -> list[list[int]]:
    return [list(numbers) for numbers in combinations(range(count), choose)]


@pytest.mark.parametrize("rivals", [0, 3])
@pytest.mark.parametrize("choose", [1, 3])
def test_the_exact_choice_attracts_as_many_as_the_best_of_all_choices(choose: int, rivals: int) -> None:
    customers, candidates = people(80), people(8, seed=2)
    existing = people(rivals, seed=3) if rivals else None

    chosen = most_influential(customers, candidates, choose=choose, reach=200.0, existing=existing)

    best = max(attracted(customers, candidates[c], 200.0, existing) for c in all_choices(8, choose))
    assert len(chosen) == choose
    assert attracted(customers, candidates[chosen], 200.0, existing) == best


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 2))
def test_the_exact_choice_is_as_near_as_the_best_of_all_choices(seed: int, choose: int, rivals: int) -> None:
    customers, candidates = np.round(people(60, seed=seed), -1), people(7, seed=seed + 1)
    existing = people(rivals, seed=seed + 2)

    chosen = least_distance(customers, candidates, choose=choose, existing=existing if rivals else None)

    open_places = np.concatenate([existing, candidates[chosen]])
    best = min(total_distance(customers, np.concatenate([existing, candidates[c]])) for c in all_choices(7, choose))
    assert total_distance(customers, open_places) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("rivals", [0, 2])
def test_exact_looks_as_far_down_long_lists_as_it_must(rivals: int) -> None:
    # Two of 60: the lists that greedy's answer suggests are too short for the best answer.
    customers, candidates, existing = people(150), people(60, seed=1), people(rivals, seed=2)

    chosen = least_distance(customers, candidates, choose=2, existing=existing if rivals else None)

    best = min(total_distance(customers, np.concatenate([existing, candidates[c]])) for c in all_choices(60, 2))
    found = total_distance(customers, np.concatenate([existing, candidates[chosen]]))
    assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("seed", "choose"), [(2, 2), (12, 3), (73, 3)])
def test_exact_opens_whole_facilities_where_parts_of_them_would_do_better(seed: int, choose: int) -> None:
    rng = np.random.default_rng(seed)
    customers = rng.integers(0, 10, (40, 2)).astype(np.float64)
    candidates = rng.integers(0, 10, (12, 2)).astype(np.float64) + 0.5

    chosen = least_distance(customers, candidates, choose=choose)

    best = min(total_distance(customers, candidates[c]) for c in all_choices(12, choose))
    assert len(chosen) == choose
    assert total_distance(customers, candidates[chosen]) == pytest.approx(best, rel=1e-9)


def test_greedy_takes_the_best_next_and_may_miss_the_best_together() -> None:
    customers = np.array([[-10.0, 0.0]] * 3 + [[-4.0, 0.0]] * 2 + [[4.0, 0.0]] * 2 + [[10.0, 0.0]] * 3)
    candidates = np.array([[-7.0, 0.0], [0.0, 0.0], [7.0, 0.0]])

    greedy, exact = (
        most_influential(customers, candidates[[0, 1, 2]], choose=2, reach=7.0, solver=solver)
        for solver in ("greedy", "exact")
    )
    first = least_distance(customers, candidates, choose=1, solver="greedy")

    assert exact.tolist() == greedy.tolist() == [0, 2]
    assert first.tolist() == [1]
    assert least_distance(customers, candidates, choose=2, solver="greedy").tolist() == [0, 1]
    assert least_distance(customers, candidates, choose=2, solver="exact").tolist() == [0, 2]


@pytest.mark.parametrize("choose", [1, 4])
def test_lazy_greedy_is_the_plain_greedy_of_a_slow_loop(choose: int) -> None:
    customers, candidates = people(200), people(15, seed=2)
    taken: list[int] = []
    for _ in range(choose):
        rest = [number for number in range(15) if number not in taken]
        taken.append(min(rest, key=lambda number: total_distance(customers, candidates[[*taken, number]])))

    assert least_distance(customers, candidates, choose=choose, solver="greedy").tolist() == sorted(taken)


def test_where_existing_facilities_serve_everybody_any_choice_will_do() -> None:
    customers = people(20)

    for solver in ("exact", "greedy"):
        options = {"choose": 2, "existing": customers, "solver": solver}
        assert len(least_distance(customers, people(5, seed=1), **options)) == 2  # type: ignore[arg-type]
        assert len(most_influential(customers, people(5, seed=1), **options)) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", ["exact", "greedy"])
def test_the_same_customers_get_the_same_facilities(solver: str) -> None:
    world, customers = crossroads(), people(400)

    assert most_influential_agreement(customers, customers, world, reach=80.0, solver=solver) == 1.0
    assert least_distance_agreement(customers, customers, world, solver=solver) == 1.0


def test_customers_on_two_sides_of_town_agree_on_nothing() -> None:
    world, customers = town(), people(50) / 5
    candidates = np.concatenate([people(3, seed=1) / 5, people(3, seed=2) / 5 + 800])

    share = least_distance_agreement(customers, customers + 800, world, choose=1, candidates=candidates)

    assert share == 0.0


def test_questions_without_an_answer_say_why() -> None:
    with pytest.raises(InputError, match="choose is 4, with 3 candidates"):
        least_distance(people(5), people(3), choose=4)
    with pytest.raises(InputError, match="'quick'"):
        most_influential(people(5), people(3), choose=1, solver="quick")
    with pytest.raises(UnmeasuredError, match="more than 20 candidates; there are 3"):
        least_distance_agreement(people(5), people(5), town(), candidates=people(3))
    with pytest.raises(UnmeasuredError, match="at least one synthetic point"):
        most_influential_agreement(people(5), np.zeros((0, 2)), crossroads())
