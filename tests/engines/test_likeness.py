"""Copies of the same places are found, whatever their CRS and order; other files are not taken for copies."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.engines.likeness import CLASSES, SAMPLE, Likeness
from pointveil.files.crs import DEGREES, transform
from pointveil.world import World

Floats = NDArray[np.float64]


def digests(coordinates: Floats, crs: str = DEGREES, batch: int = 997) -> set[bytes]:
    likeness = Likeness.of(crs)
    for start in range(0, len(coordinates), batch):
        likeness.merge(likeness.candidates(coordinates[start : start + batch]))
    return set(likeness.digests())


def city(count: int, seed: int = 1, decimals: int = 7) -> Floats:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal((-73.97, 40.78), (0.03, 0.02), (count, 2)), decimals)


@pytest.mark.parametrize("decimals", [5, 6, 7, 15])
@pytest.mark.parametrize(("crs", "written"), [("EPSG:32618", 2), ("EPSG:2263", 2), ("EPSG:3857", 2), ("EPSG:32618", 6)])
def test_a_copy_in_another_crs_is_found_although_it_is_rounded(decimals: int, crs: str, written: int) -> None:
    points = city(3000, decimals=decimals)
    copy = np.round(transform(DEGREES, crs)(points), written)

    shared = digests(points) & digests(copy[np.random.default_rng(2).permutation(len(copy))], crs)

    assert len(shared) >= 5  # of 17; one is enough


def test_order_and_batches_make_no_difference_and_a_few_rows_more_spoil_little() -> None:
    points = city(2000)
    first = digests(points)

    assert len(first) == CLASSES + 1
    assert digests(points[::-1], batch=61) == first
    assert len(digests(np.concatenate([points, city(5, seed=3)])) & first) > CLASSES - 5


def test_other_people_of_the_same_city_are_not_taken_for_a_copy() -> None:
    assert not digests(city(3000)) & digests(city(3000, seed=2))


def test_the_same_stations_in_another_month_are_not_taken_for_a_copy() -> None:
    stations, rng = city(300), np.random.default_rng(5)
    months = [digests(stations[rng.integers(0, len(stations), 600)]) for _ in range(60)]

    assert sum(bool(one & two) for one, two in pairwise(months)) == 0
    assert digests(stations) == digests(stations)


def test_few_places_and_none_say_nothing() -> None:
    nowhere = np.array([[np.nan, 1.0], [np.inf, -np.inf], [1e300, 2.0]])

    assert digests(city(SAMPLE - 1)) == digests(nowhere) == digests(np.zeros((0, 2))) == set()
    assert len(digests(city(SAMPLE))) == 1
    assert digests(np.concatenate([nowhere, city(500)])) == digests(city(500))


@pytest.mark.parametrize("person", [None, "who"])
def test_a_copy_in_another_crs_spends_the_budget_of_the_first(
    person: str | None, people: Floats, world: World, tmp_path: Path
) -> None:
    who = np.arange(len(people)) // 3
    metres = np.round(transform(DEGREES, "EPSG:32632")(people), 2)
    for name, x, y in (("a", *people.T), ("b", *metres.T), ("c", people[:, 0] + 1e-4, people[:, 1])):
        pq.write_table(pa.table({"x": x, "y": y, "who": who}), tmp_path / f"{name}.parquet")
    ledger = pv.Ledger(tmp_path / "ledger.db")

    def release(name: str, **options: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pv.PointveilWarning)
            pv.release(
                tmp_path / f"{name}.parquet", world, output=tmp_path / f"{name}.csv", epsilon=2, method="ugrid-uni",
                person=person, unit=None if person else "point", ledger=ledger, **options,
            )  # fmt: skip

    release("a")
    with pytest.raises(pv.BudgetError, match=r"one account with 'a\.parquet'.*1 left"):
        release("b", crs="EPSG:32632")
    release("c")  # 7 m away: other places

    assert [account.name for account in ledger.accounts()] == ["a.parquet", "c.parquet"]
    assert ledger.verify() == []


def test_a_sample_that_another_thread_is_exchanging_rules_out_the_same_cells() -> None:
    likeness, points = Likeness.of(DEGREES), city(3000)
    likeness.merge(likeness.candidates(points[:1000]))
    expected = likeness.candidates(points[1000:])
    likeness._counts = likeness._counts[:1]  # its cells are the new ones already

    assert likeness.candidates(points[1000:]).tolist() == expected.tolist()
