"""At most k points of each person are kept, and one person never changes another's."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells import Everywhere, Ints
from pointveil.engines import AtMost, at_most, fresh_key
from pointveil.engines.at_most import Part
from pointveil.engines.siphash import Numbers, siphash
from pointveil.formats import base
from pointveil.formats.persons import person_column, person_values
from pointveil.vault import VOTES, Share, Vault
from pointveil.world import World

KEY = bytes(range(16))


def kept(records: list[tuple[int, int]], limit: int, batch: int, key: bytes = KEY) -> list[tuple[int, int]]:
    """Return the persons and places that are kept, in order."""
    rows = np.array([(0, person, place) for person, place in records], dtype=np.uint64).reshape(-1, 3).T
    part = Part()
    for first in range(0, len(records), batch):
        assert part.observe(rows[:, first : first + batch]) is None
        part.merge()
    if part.rows is None:
        return []
    times = AtMost(limit, key).chosen(part.rows, part.counts)
    return [(person, place) for _, person, place in np.repeat(part.rows, times, axis=1).T.tolist()]


RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=60)


@given(RECORDS, st.integers(1, 4), st.integers(1, 20))
def test_each_person_keeps_as_many_as_allowed_and_no_more(
    records: list[tuple[int, int]], limit: int, batch: int
) -> None:
    chosen = kept(records, limit, batch)

    persons = [person for person, _ in records]
    for person in set(persons):
        assert sum(each == person for each, _ in chosen) == min(limit, persons.count(person))
    assert not Counter(chosen) - Counter(records)


@given(RECORDS.flatmap(lambda records: st.tuples(st.just(records), st.permutations(records))), st.integers(1, 20))
def test_neither_the_order_of_the_records_nor_the_batches_matter(
    both: tuple[list[tuple[int, int]], list[tuple[int, int]]], batch: int
) -> None:
    assert kept(both[0], 2, 1000) == kept(both[1], 2, batch)


@given(RECORDS, st.integers(1, 3), st.integers(0, 4))
def test_without_one_person_all_others_keep_the_same_records(
    records: list[tuple[int, int]], limit: int, leaver: int
) -> None:
    before, after = kept(records, limit, 7), kept([each for each in records if each[0] != leaver], limit, 7)

    assert [each for each in before if each[0] != leaver] == after
    assert len(before) - len(after) <= limit


def test_the_choice_is_even_among_records_and_not_among_places() -> None:
    times: Counter[int] = Counter()
    for number in range(3000):
        key = number.to_bytes(16, "little")
        times.update(place for _, place in kept([(1, 5), (1, 5), (1, 5), (1, 7), (1, 8), (1, 9)], 2, 4, key))

    # Two of six records are kept, and three of them are at place 5.
    assert abs(times[5] - 3000) < 6 * np.sqrt(3000 / 2)
    assert all(abs(times[place] - 1000) < 6 * np.sqrt(3000 * 2 / 9) for place in (7, 8, 9))


def test_another_key_chooses_otherwise() -> None:
    records = [(1, place) for place in range(100)]

    assert kept(records, 5, 100) != kept(records, 5, 100, key=bytes(16))
    assert AtMost(1).key != AtMost(1).key


@pytest.mark.parametrize(
    ("words", "expected"), [(0, "310e0edd47db6f72"), (1, "6224939a79f5f593"), (2, "db9bc2577fcc2a3f")]
)
def test_tickets_are_siphash_as_published(words: int, expected: str) -> None:
    message = np.arange(8 * words, dtype=np.uint8).view("<u8").reshape(words, 1)

    assert siphash(KEY, message)[0].astype("<u8").tobytes().hex() == expected


@pytest.mark.parametrize("most", [1, 3, 10, 2**23])
def test_persons_that_are_put_off_to_another_reading_lose_nothing(
    most: int, plain_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    places = rng.uniform((10.001, 50.001), (10.008, 50.011), (2000, 2))
    table = pa.table({"lon": places[:, 0], "lat": places[:, 1], "who": rng.integers(0, 60, 2000)})
    options: dict[str, Any] = {"epsilon": 1, "seed": 1, "person": "who", "max_points": 3}
    expected = Vault.rehearse(table, plain_world, **options).exact_points()
    monkeypatch.setattr(at_most, "HELD_AT_MOST", most)
    monkeypatch.setattr(at_most, "MERGE_AT_LEAST", 50)
    monkeypatch.setattr(base, "BATCH_ROWS", 64)

    found = Vault.rehearse(table, plain_world, **options).exact_points()

    assert len(found) == 180
    assert sorted(map(tuple, found)) == sorted(map(tuple, expected))


SAME = [7, " 7", "7", 7.0, Decimal("7.000"), "7.0", b"7 ", np.int8(7), np.float32(7)]
ONE_PERSON: dict[str, Any] = {
    "objects": SAME,
    "whole numbers": pa.array([7] * 9, pa.int32()),
    "unsigned numbers": pa.array([7] * 9, pa.uint64()),
    "floats": pa.array([7.0] * 9),
    "texts": pa.array(["7", " 7", "7.0"] * 3),
    "decimals": pa.array([Decimal("7.00")] * 9, pa.decimal128(5, 2)),
    "categories": pa.array(["7", " 7", "7.00"] * 3).dictionary_encode(),
}


@pytest.mark.parametrize("kind", ONE_PERSON)
def test_one_person_is_one_person_in_every_kind_of_column(kind: str) -> None:
    column = ONE_PERSON[kind]
    names = person_values(column) if isinstance(column, list) else person_column(column)

    words, named = AtMost(1).persons(names)

    assert named.all()
    assert {tuple(word) for word in words.T.tolist()} == {(0, 7)}


@pytest.mark.parametrize("number", [0, -1, 10**18 - 1, 10**18, -(10**18), 2**63 - 1, -(2**63), 1 - 10**18])
def test_a_number_and_its_text_are_one_person_whatever_its_size(number: int) -> None:
    chooser = AtMost(1)

    words = [chooser.persons(person_column(pa.array([each]))) for each in (number, str(number), f" {number}.0")]

    assert all(np.array_equal(word, words[0][0]) and named.all() for word, named in words)


@pytest.mark.parametrize("number", [2.0**53, 2.0**53 + 2, 1.2345678901234567e18, -4e18, 1e22, 0.1, -0.0])
def test_a_float_names_one_person_in_a_column_and_as_an_object(number: float) -> None:
    """Beyond 2^53 the digits of the double itself are not the shortest ones that stand for it."""
    chooser, text = AtMost(1), f"{Decimal(repr(number)):f}"

    words = [
        chooser.persons(names)[0].tolist()
        for names in (person_column(pa.array([number])), person_values([number]), person_column(pa.array([text])))
    ]

    assert words[0] == words[1] == words[2]


@given(st.lists(st.text("aé\u0301 \t\u00a0.-+07", max_size=4) | st.text(max_size=4), min_size=1))
def test_a_text_names_one_person_in_a_column_and_as_an_object_whatever_is_around_it(texts: list[str]) -> None:
    names = person_column(pa.array(texts, pa.string())).cast(pa.binary())

    assert names.equals(person_values(texts))
    assert names.equals(person_column(pa.array([f" {text} " for text in texts], pa.string())))


def test_records_that_name_nobody_are_dropped(plain_world: World) -> None:
    table = pa.table({"lon": [10.001] * 4, "lat": [50.001] * 4, "who": ["a", None, "a", "b"]})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=1)

    assert vault.exact_count(Everywhere()).tolist() == [2]


def test_a_persons_records_off_the_land_neither_count_nor_take_the_place_of_others(plain_world: World) -> None:
    places = [10.001, 99.0, float("nan"), 10.001] * 20  # in the world, outside, nowhere
    table = pa.table({"lon": places, "lat": [50.001] * 80, "who": ["a"] * 80})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=50)

    assert vault.exact_count(Everywhere()).tolist() == [40]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.string(), pa.float64(), pa.uint64()])
def test_any_kind_of_column_can_name_people(kind: pa.DataType, plain_world: World) -> None:
    people = pa.array([1, 1, 1, 2, 3], pa.int64()).cast(kind)
    table = pa.table({"lon": [10.001] * 5, "lat": [50.001] * 5, "who": people})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who", max_points=2)

    assert vault.exact_count(Everywhere()).tolist() == [4]


def test_a_person_costs_wider_noise(plain_world: World) -> None:
    table = pa.table({"lon": [10.001] * 5, "lat": [50.001] * 5, "who": [1, 1, 1, 2, 3]})

    vault = Vault.open(table, plain_world, epsilon=1, person="who", max_points=8)

    assert (vault.points_per_unit, vault.kept_per_unit) == (8 * VOTES, 8)
    assert "any one person with all their points" in vault.statement.guarantee.unit


def test_different_names_are_different_persons() -> None:
    names = ["7", "007", "+7", "7a", "7.5", "-7", "1e1", "10", "0", "00", "ä", "a", "\ufeff7", "x" * 300, "x" * 301]
    column = person_values([*names, b"\xff", b"\xfe", 2**70, 2**70 + 1, True, np.datetime64("2020-01-02")])

    words, named = AtMost(1).persons(column)

    assert named.all()
    assert len({tuple(word) for word in words.T.tolist()}) == len(column)


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


def rows_of(sizes: list[int], seed: int = 1) -> tuple[Numbers, Ints]:
    """Return a part with persons who have so many records, some of them equal."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(len(sizes)), sizes).astype(np.uint64)
    part = Part()
    part.observe(np.vstack([np.zeros_like(person), person, rng.integers(0, 40, len(person)).astype(np.uint64)]))
    part.merge()
    assert part.rows is not None
    return part.rows, part.counts


@pytest.mark.parametrize("limit", [1, 3, 8, 500])
def test_votes_are_shared_evenly_and_add_up_exactly(limit: int) -> None:
    sizes = [1, 2, 3, 7, 8, 9, 64, 65, 100, 1000, 5000]
    rows, counts = rows_of(sizes)

    votes = AtMost(limit).votes(rows, counts, VOTES)

    found = np.bincount(rows[1].astype(int), weights=votes)
    assert (found == VOTES * np.minimum(sizes, limit)).all()
    for number, size in enumerate(sizes):
        mine = rows[1] == number
        even = VOTES * min(size, limit) / size
        assert (np.abs(votes[mine] - even * counts[mine]) < counts[mine] + 1e-9).all()


def test_nobody_else_changes_a_persons_votes() -> None:
    key = fresh_key()
    rows, counts = rows_of([100, 1000, 30])
    without = rows[1] != 1

    votes = AtMost(3, key=key).votes(rows, counts, VOTES)

    assert (AtMost(3, key=key).votes(rows[:, without], counts[without], VOTES) == votes[without]).all()


def test_persons_are_counted_once_by_how_many_points_they_have(plain_world: World) -> None:
    who = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 900])
    table = pa.table({"lon": np.full(len(who), 10.001), "lat": np.full(len(who), 50.001), "who": who})

    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, person="who")

    assert vault.exact_persons((1,)).tolist() == [6]
    assert vault.exact_persons((1, 2, 4, 8)).tolist() == [1, 1, 2, 2]


def test_what_a_person_counts_for_is_said_once_and_before_any_count(plain_world: World) -> None:
    table = pa.table({"lon": [10.001] * 3, "lat": [50.001] * 3, "who": [1, 1, 2]})
    vault = Vault.rehearse(table, plain_world, epsilon=9, seed=1, person="who")
    with pytest.raises(ValueError, match="ask first"):
        vault.count(Everywhere(), Share("count", Fraction(1)))
    assert vault.left == 9

    vault.persons((1,), Share("persons", Fraction(1)))
    vault.use_at_most(2)

    assert vault.count(Everywhere(), Share("count", Fraction(1))).points_per_unit == 2 * VOTES
    with pytest.raises(ValueError, match="said before"):
        vault.use_at_most(3)
    with pytest.raises(ValueError, match="person column"):
        Vault.rehearse(table, plain_world, epsilon=1, seed=1).persons((1,), Share("persons", Fraction(1)))


@pytest.mark.slow
def test_millions_of_people_are_bounded_in_a_stream() -> None:
    rng = np.random.default_rng(1)
    part = Part()
    counts = np.zeros(1_000_000, dtype=np.int64)
    for _ in range(4):
        people = rng.integers(0, 1_000_000, 2**20).astype(np.uint64)
        counts += np.bincount(people.astype(int), minlength=1_000_000)
        assert (
            part.observe(np.vstack([np.zeros_like(people), people, rng.integers(0, 9, 2**20).astype(np.uint64)]))
            is None
        )
    part.merge()

    assert part.rows is not None
    times = AtMost(2).chosen(part.rows, part.counts)
    found = np.bincount(part.rows[1].astype(int), weights=times, minlength=1_000_000)
    assert (found == np.minimum(counts, 2)).all()
