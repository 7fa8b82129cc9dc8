"""At most k points of each person are kept, and one person never changes another's."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells import Everywhere
from pointveil.engines import AtMost
from pointveil.vault import Vault
from pointveil.world import World


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


def test_tickets_do_not_depend_on_how_the_file_is_cut() -> None:
    chooser = AtMost(3)
    whole = chooser.tickets(0, 1000)

    for cut in (1, 3, 500, 997):
        pieces = np.concatenate([chooser.tickets(0, cut), chooser.tickets(cut, 1000 - cut)])
        assert (pieces == whole).all()


def test_reading_in_other_batches_the_second_time_keeps_the_same_records() -> None:
    persons = np.random.default_rng(1).integers(0, 50, 5000).astype(np.uint64)
    chooser = AtMost(4)
    for first in range(0, 5000, 700):
        piece = persons[first : first + 700]
        chooser.observe(piece, chooser.tickets(first, len(piece)))
    chooser.finish()

    kept_again = [
        persons[first : first + 333][
            chooser.keeps(piece := persons[first : first + 333], chooser.tickets(first, len(piece)))
        ]
        for first in range(0, 5000, 333)
    ]

    assert np.bincount(np.concatenate(kept_again).astype(int)).tolist() == [4] * 50


def test_bytes_that_are_no_text_name_people_too(plain_world: World) -> None:
    names = pa.array([b"\xff\xfe", b"\xff\xfe", b"a", None], pa.binary())
    table = pa.table({"lon": [10.001] * 4, "lat": [50.001] * 4, "who": names})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=1)

    assert vault.exact_count(Everywhere()).tolist() == [2]


def test_categories_name_people_too(plain_world: World) -> None:
    names = pa.array(["a", "b", "a", None]).dictionary_encode()
    table = pa.table({"lon": [10.001] * 4, "lat": [50.001] * 4, "who": names})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=1)

    assert vault.exact_count(Everywhere()).tolist() == [2]


@pytest.mark.slow
def test_millions_of_people_are_bounded_in_a_stream() -> None:
    people, batch, limit = 1_000_000, 2**20, 2
    rng = np.random.default_rng(1)
    chooser = AtMost(limit)
    batches = [rng.integers(0, people, batch).astype(np.uint64) for _ in range(4)]
    for number, persons in enumerate(batches):
        chooser.observe(persons, chooser.tickets(number * batch, batch))
    chooser.finish()

    chosen = [
        persons[chooser.keeps(persons, chooser.tickets(number * batch, batch))]
        for number, persons in enumerate(batches)
    ]

    counts = np.bincount(np.concatenate(batches).astype(int), minlength=people)
    assert (np.bincount(np.concatenate(chosen).astype(int), minlength=people) == np.minimum(counts, limit)).all()


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 3), st.integers(0, 4))
def test_without_one_person_all_others_keep_as_many(persons: list[int], limit: int, leaver: int) -> None:
    left = [person for person in persons if person != leaver]

    before = np.array(persons)[kept(persons, limit, 7)]
    after = np.array(left, dtype=int)[kept(left, limit, 7)]

    assert sorted(before[before != leaver]) == sorted(after)
    assert len(before) - len(after) <= limit
