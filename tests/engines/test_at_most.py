"""At most k points of each person are kept, and one person never changes another's."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.engines import AtMost
from pointveil.geography import World
from pointveil.vault import Everywhere, Vault


def kept(persons: list[int], limit: int, batch: int) -> np.ndarray:
    chooser = AtMost(limit)
    numbers = np.array(persons, dtype=np.uint64)
    pieces = [(first, numbers[first : first + batch]) for first in range(0, len(numbers), batch)]
    for first, piece in pieces:
        chooser.observe(piece, chooser.tickets(first, len(piece)))
    chooser.finish()
    return np.concatenate(
        [np.zeros(0, bool), *(chooser.keeps(piece, chooser.tickets(first, len(piece))) for first, piece in pieces)]
    )


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(1, 4), st.integers(1, 20))
def test_each_person_keeps_as_many_as_allowed_and_no_more(persons: list[int], limit: int, batch: int) -> None:
    chosen = np.array(persons, dtype=int)[kept(persons, limit, batch)]

    for person in set(persons):
        assert (chosen == person).sum() == min(limit, persons.count(person))


def test_the_choice_is_even() -> None:
    times = np.zeros(6)
    for _ in range(3000):
        times += kept([1] * 6, 2, 4)

    assert abs(times - 1000).max() < 6 * np.sqrt(3000 * 2 / 9)


def test_records_that_name_nobody_are_dropped(plain_world: World) -> None:
    table = pa.table({"lon": [10.001] * 4, "lat": [50.001] * 4, "who": ["a", None, "a", "b"]})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=1)

    assert vault.exact_count(Everywhere()).tolist() == [2]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.string(), pa.float64(), pa.uint64()])
def test_any_kind_of_column_can_name_people(kind: pa.DataType, plain_world: World) -> None:
    people = pa.array([1, 1, 1, 2, 3], pa.int64()).cast(kind)
    table = pa.table({"lon": [10.001] * 5, "lat": [50.001] * 5, "who": people})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=2)

    assert vault.exact_count(Everywhere()).tolist() == [4]


def test_a_person_costs_wider_noise(plain_world: World) -> None:
    table = pa.table({"lon": [10.001] * 5, "lat": [50.001] * 5, "who": [1, 1, 1, 2, 3]})

    vault = Vault.open(table, plain_world, epsilon=1, person="who", max_points=8)

    assert vault.points_per_unit == 8
    assert "any one person with all their points" in vault.statement.guarantee.unit
