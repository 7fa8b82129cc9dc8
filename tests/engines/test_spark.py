"""The tasks of a cluster, one after the other in this process: the same answers as here, and persons in one task."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pointveil.cells import Grid
from pointveil.engines import AtMost, LocalEngine, SparkEngine, Tally
from pointveil.formats import DamagedError, open_points
from pointveil.formats.base import Request
from pointveil.formats.spark import FAILED, Cluster, _of_frame
from pointveil.vault.cleaning import Cleaner
from pointveil.world import World

KEY = bytes(range(16))
TALLIES = [Tally(Grid((-2000, -2000, 2000, 2000), side, side), side**2) for side in (5, 7)]


@dataclass
class Sent:
    """Work that was sent to executors."""

    work: Any

    @property
    def value(self) -> Any:
        return self.work._work

    def destroy(self) -> None:
        self.work = None


@dataclass
class Session:
    """A session of two cores, which is its own context."""

    defaultParallelism: int = 2  # noqa: N815 - as above
    broadcast: Callable[[Any], Sent] = Sent

    @property
    def sparkContext(self) -> "Session":  # noqa: N802 - Spark's name
        return self


@dataclass
class Frame:
    """Partitions of record batches, and what Spark does with them."""

    partitions: list[list[Any]]
    twice: bool = False  # whether tasks are run once more than they should be, and their first results thrown away
    scattered: bool = False  # whether the first record comes to another task than the others of its person

    def mapInArrow(self, work: Callable[[Iterator[Any]], Iterator[Any]], _: str) -> "Frame":  # noqa: N802 - Spark's name
        for part in self.partitions if self.twice else []:
            list(work(iter(part)))
        return replace(self, partitions=[list(work(iter(part))) for part in self.partitions])

    def repartition(self, count: int, *columns: str) -> "Frame":
        table = pa.Table.from_batches([batch for part in self.partitions for batch in part])
        task = np.sum([np.asarray(table[column]) for column in columns], axis=0) % count
        task[:1] = (task[:1] + self.scattered) % count
        parts = [table.filter(pa.array(task == number)).to_batches(300) for number in range(count)]
        return replace(self, partitions=parts)

    def persist(self) -> "Frame":
        return self

    unpersist = persist

    def toArrow(self) -> Any:  # noqa: N802 - Spark's name
        return pa.Table.from_batches([batch for part in self.partitions for batch in part])


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": np.arange(len(people)) // 4})


def engines(table: pa.Table, world: World, person: str | None, **options: Any) -> tuple[LocalEngine, SparkEngine]:
    source = open_points(table, person=person)
    request = Request(person=person)
    parts = [table.slice(first, 700).to_batches(100) for first in range(0, len(table), 700)]
    read = partial(_of_frame, layout=source.layout, request=request)
    cluster = Cluster(Session(), Frame(parts, **options), read)
    cleaner, at_most = Cleaner.of(world, source.layout.crs), None if person is None else AtMost(2, KEY)
    there = replace(source, cluster=cluster, is_query=True)
    return LocalEngine(source, cleaner, at_most), SparkEngine(there, cleaner, at_most)


def test_long_values_do_not_wait_for_a_million_records(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.formats.spark.BATCH_BYTES", table.nbytes // 4)

    read = list(_of_frame(iter(table.to_batches(100)), open_points(table).layout, Request()))

    assert len(read) > 2
    assert sum(len(batch.coordinates) for batch in read) == len(table)


@pytest.mark.parametrize("options", [{}, {"twice": True}], ids=["once", "twice"])
@pytest.mark.parametrize("person", [None, "who"])
def test_tasks_add_up_to_what_one_machine_counts(
    person: str | None, options: dict[str, bool], table: pa.Table, world: World
) -> None:
    here, there = engines(table, world, person, **options)

    for tallies in (TALLIES, TALLIES[:1]):
        for mine, other in zip(here.sums(tallies), there.sums(tallies), strict=True):
            assert mine.tolist() == other.tolist()
    assert (there.digest(), there.alike) == (here.digest(), here.alike)
    there.forget()


@pytest.mark.parametrize("person", [None, "who"])
def test_many_cells_are_added_up_by_several_tasks(
    person: str | None, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, least in {"PART": 4, "TOGETHER": 10, "HERE": 0}.items():
        monkeypatch.setattr(f"pointveil.engines.spark.{name}", least)
    here, there = engines(table, world, person)

    found = there.sums(TALLIES)

    assert [each.tolist() for each in found] == [each.tolist() for each in here.sums(TALLIES)]
    assert (there.digest(), there.alike) == (here.digest(), here.alike)


def test_a_person_whose_records_come_to_two_tasks_stops_the_answer(table: pa.Table, world: World) -> None:
    _, there = engines(table, world, "who", scattered=True)

    with pytest.raises(RuntimeError, match="came to two tasks"):
        there.sums(TALLIES)
    with pytest.raises(RuntimeError, match="came to two tasks"):
        there.persons((1, 2))


def test_a_task_that_fails_says_nothing_of_its_records(table: pa.Table, world: World) -> None:
    _, there = engines(table, world, None)
    there.source.cluster.frame.partitions[0][0] = pa.record_batch({"lon": ["SECRET"], "lat": [{"a": 1}]})

    with pytest.raises(DamagedError, match="tasks of the cluster failed") as caught:
        there.sums(TALLIES)

    assert FAILED.format("The frame") == str(caught.value)
    assert caught.value.__context__ is None


def test_records_that_differ_in_another_reading_are_refused(table: pa.Table, world: World) -> None:
    _, there = engines(table, world, None)
    there.sums(TALLIES)
    there.source.cluster.frame.partitions.pop()

    with pytest.raises(DamagedError, match="gave other records than before"):
        there.sums(TALLIES)
