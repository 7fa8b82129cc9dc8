from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.evaluation.towns import crossroads, people, town

from pointveil.errors import InputError
from pointveil.evaluation import Comparison, UnmeasuredError, facilities
from pointveil.evaluation.facilities import Customers, least_distance, most_influential
from pointveil.evaluation.measures.facility_agreement import least_distance_agreement, most_influential_agreement

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


def customers_at(xy: Points, candidates: Points, existing: Points | None = None) -> Customers:
    return Customers.of(xy, np.ones(len(xy)), candidates, existing)


def total_distance(xy: Points, facilities: Points) -> float:
    """The total way to the nearest facility, one customer after the other."""
    return float(sum(np.hypot(*(facilities - customer).T).min() for customer in xy))


@pytest.mark.parametrize("rivals", [0, 3])
@pytest.mark.parametrize("choose", [1, 3])
def test_the_exact_choice_attracts_as_many_as_the_best_of_all_choices(choose: int, rivals: int) -> None:
    xy, candidates = people(80), people(8, seed=2)
    existing = people(rivals, seed=3) if rivals else None

    chosen = most_influential(customers_at(xy, candidates, existing), choose=choose, reach=200.0)

    best = max(attracted(xy, candidates[c], 200.0, existing) for c in all_choices(8, choose))
    assert len(chosen) == choose
    assert attracted(xy, candidates[chosen], 200.0, existing) == best


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(0, 2))
def test_after_swaps_no_other_facility_would_shorten_the_ways(seed: int, choose: int, rivals: int) -> None:
    xy, candidates = np.round(people(60, seed=seed), -1), people(12, seed=seed + 1)
    existing = people(rivals, seed=seed + 2)

    chosen = least_distance(customers_at(xy, candidates, existing if rivals else None), choose=choose).tolist()

    assert len(set(chosen)) == choose
    found = total_distance(xy, np.concatenate([existing, candidates[chosen]]))
    for out in chosen:
        for other in set(range(12)) - set(chosen):
            swapped = [other if one == out else one for one in chosen]
            assert found <= total_distance(xy, np.concatenate([existing, candidates[swapped]])) + 1e-6


@pytest.mark.parametrize("rivals", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_swaps_from_several_starts_find_the_best_of_all_choices(seed: int, rivals: int) -> None:
    xy, candidates, existing = people(150, seed=seed), people(20, seed=seed + 10), people(rivals, seed=2)

    chosen = least_distance(customers_at(xy, candidates, existing if rivals else None), choose=3)

    best = min(total_distance(xy, np.concatenate([existing, candidates[c]])) for c in all_choices(20, 3))
    assert total_distance(xy, np.concatenate([existing, candidates[chosen]])) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", [1, 6, 9])
def test_random_starts_lead_on_where_swaps_of_the_greedy_choice_get_stuck(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    customers = customers_at(people(150, seed=seed), people(20, seed=seed + 10))

    several = customers.total(least_distance(customers, choose=4))
    monkeypatch.setattr(facilities, "STARTS", 0)
    stuck = customers.total(least_distance(customers, choose=4))

    assert several == pytest.approx(min(customers.total(np.array(c)) for c in all_choices(20, 4)), rel=1e-9)
    assert stuck > several + 1


def test_greedy_takes_the_best_next_and_may_miss_the_best_together() -> None:
    xy = np.array([[-10.0, 0.0]] * 3 + [[-4.0, 0.0]] * 2 + [[4.0, 0.0]] * 2 + [[10.0, 0.0]] * 3)
    customers = customers_at(xy, np.array([[-7.0, 0.0], [0.0, 0.0], [7.0, 0.0]]))

    influential = [most_influential(customers, choose=2, reach=7.0, solver=solver) for solver in ("greedy", "exact")]
    first = least_distance(customers, choose=1, solver="greedy")
    two = [least_distance(customers, choose=2, solver=solver) for solver in ("greedy", "swaps")]

    assert [chosen.tolist() for chosen in influential] == [[0, 2], [0, 2]]
    assert first.tolist() == [1]
    assert [chosen.tolist() for chosen in two] == [[0, 1], [0, 2]]


@pytest.mark.parametrize("choose", [1, 4])
def test_greedy_is_the_plain_greedy_of_a_slow_loop(choose: int) -> None:
    xy, candidates = people(200), people(15, seed=2)
    taken: list[int] = []
    for _ in range(choose):
        rest = [number for number in range(15) if number not in taken]
        taken.append(min(rest, key=lambda number: total_distance(xy, candidates[[*taken, number]])))

    assert least_distance(customers_at(xy, candidates), choose=choose, solver="greedy").tolist() == sorted(taken)


@pytest.mark.parametrize("choose", [2, 5])
def test_where_existing_facilities_serve_everybody_any_choice_will_do(choose: int) -> None:
    customers = customers_at(people(20), people(5, seed=1), people(20))

    for solver in ("swaps", "greedy"):
        assert len(set(least_distance(customers, choose=choose, solver=solver).tolist())) == choose
    for solver in ("exact", "greedy"):
        assert len(set(most_influential(customers, choose=choose, solver=solver).tolist())) == choose


def test_the_same_customers_get_the_same_facilities() -> None:
    comparison = Comparison(people(400), people(400), crossroads())

    for solver in ("exact", "greedy"):
        assert most_influential_agreement(comparison, reach=80.0, solver=solver) == 1.0
    for solver in ("swaps", "greedy"):
        assert least_distance_agreement(comparison, solver=solver) == 1.0


def test_customers_who_stand_together_count_as_often() -> None:
    # Two spots: three customers on the left, one on the right.
    real = np.array([[100.0, 500.0]] * 3 + [[900.0, 500.0]])
    candidates = np.array([[120.0, 500.0], [880.0, 500.0]])
    left, right = (Comparison(xy, xy, town()).customers(candidates)[0] for xy in (real, 1000 - real))

    for choose in (least_distance, most_influential):
        assert choose(left, choose=1).tolist() == [0]
        assert choose(right, choose=1).tolist() == [1]


def test_customers_on_two_sides_of_town_agree_on_nothing() -> None:
    customers = people(50) / 5
    candidates = np.concatenate([people(3, seed=1) / 5, people(3, seed=2) / 5 + 800])

    share = least_distance_agreement(Comparison(customers, customers + 800, town()), choose=1, candidates=candidates)

    assert share == 0.0


def test_questions_without_an_answer_say_why() -> None:
    with pytest.raises(InputError, match="choose must be from 1 to 3"):
        least_distance(customers_at(people(5), people(3)), choose=4)
    with pytest.raises(InputError, match="'quick'"):
        most_influential(customers_at(people(5), people(3)), choose=1, solver="quick")
    with pytest.raises(UnmeasuredError, match="more than 20 candidates; there are 3"):
        least_distance_agreement(Comparison(people(5), people(5), town()), candidates=people(3))
    with pytest.raises(UnmeasuredError, match="at least one synthetic point"):
        most_influential_agreement(Comparison(people(5), np.zeros((0, 2)), crossroads()))
