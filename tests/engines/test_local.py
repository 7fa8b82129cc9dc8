"""The engine reads what can be read only once a single time, and answers as from a file."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pointveil.cells import Distances, Everywhere, Grid, KindOffsets, SmallSquares, Streets
from pointveil.engines import NotOneByOneError, Tally, at_most, local, spool
from pointveil.engines import base as engine_base
from pointveil.errors import InputError
from pointveil.formats import DamagedError, base, open_points
from pointveil.ground import leaves_from_levels, raster_of
from pointveil.ledger import Ledger
from pointveil.network import road_cells
from pointveil.releases import survey
from pointveil.vault import VOTES, Cells, Share, Vault
from pointveil.vault.protection import Protection
from pointveil.vault.vault import make_engine
from pointveil.world import World

GRID = Grid((-2000, -2000, 2000, 2000), 5, 5)


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    who = np.arange(len(people)) // 4
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": who, "kind": (who % 3).astype(str)})


@pytest.fixture(params=["in memory", "on disk", "in parts"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How much is kept: all; nothing, so that every question reads what was laid aside; or a few persons at a time."""
    if request.param != "in memory":
        monkeypatch.setattr(local, "KEEP_AT_MOST", 10)
        monkeypatch.setattr(spool, "IN_MEMORY", 100)
        monkeypatch.setattr(base, "BATCH_ROWS", 300)
    if request.param == "in parts":
        monkeypatch.setattr(at_most, "MERGE_AT_LEAST", 100)
        monkeypatch.setattr(at_most, "HELD_AT_MOST", 200)
    return str(request.param)


@pytest.mark.parametrize("keep", [(), ("kind=category:0,1",)])
@pytest.mark.parametrize("person", [None, "who"])
def test_a_stream_answers_several_questions_as_a_table_does(
    store: str, person: str | None, keep: tuple[str, ...], table: pa.Table, world: World
) -> None:
    options: dict[str, Any] = {"epsilon": 1, "seed": 3, "person": person, "max_points": 2, "keep": keep}
    vaults = [Vault.rehearse(source, world, **options) for source in (table, table.to_reader(max_chunksize=100))]

    for _ in range(2):
        counts = [vault.exact_count(GRID).tolist() for vault in vaults]
        assert counts[0] == counts[1]
        votes = [vault.exact_votes(GRID).tolist() for vault in vaults]
        assert votes[0] == votes[1]
        if person:
            sizes = [vault.exact_persons((1, 2, 4)).tolist() for vault in vaults]
            assert sizes[0] == sizes[1]
            assert sum(votes[0]) == VOTES * sum(counts[0])
    engines = [vault._Rehearsal__engine for vault in vaults]  # type: ignore[attr-defined]
    coded = [
        np.sort(np.concatenate([one.records.codes[0] for one in engine._voted(of_kept=False)]))
        for engine in engines
        if keep
    ]
    assert not keep or coded[0].tolist() == coded[1].tolist()
    digests = [vault._Rehearsal__engine.digest() for vault in vaults]  # type: ignore[attr-defined]
    assert digests[0] == digests[1]


def test_what_is_laid_aside_on_disk_has_no_name_and_is_gone_afterwards(
    table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 100)
    monkeypatch.setattr(local, "KEEP_AT_MOST", 10)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    engine = make_engine(open_points(table.to_reader()), world, Protection())

    assert isinstance(engine, local.LocalEngine)
    engine.digest()
    laid = engine._spool
    assert laid is not None
    assert laid._file._rolled  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
    assert Path(f"/proc/self/fd/{laid._file.fileno()}").stat().st_mode & 0o777 == 0o600
    engine.forget()

    assert laid._file.closed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_stream_that_no_disk_has_room_for_is_paid_for_and_says_what_to_do(
    table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault.open(table.to_reader(), world, epsilon=1)

    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda **_: full)
        with pytest.raises(DamagedError, match=r"No space left on device. Point TMPDIR to .* Epsilon 1 stays paid"):
            vault.count(GRID, Share("count", Fraction(1)))

    assert [account.spent for account in Ledger().accounts()] == [1]


def test_a_stream_that_breaks_is_paid_for_by_name_and_never_half_an_answer(table: pa.Table, world: World) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches(max_chunksize=500)
        raise RuntimeError("secret")

    vault = Vault.open(pa.RecordBatchReader.from_batches(table.schema, batches()), world, epsilon=1)

    with pytest.raises(DamagedError, match="stays paid") as caught:
        vault.count(GRID, Share("count", Fraction(1)))

    assert "secret" not in str(caught.value)
    assert vault.charge is not None


def test_a_query_that_gives_other_records_the_second_time_fails(
    table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "KEEP_AT_MOST", 10)
    honest = open_points(table)
    sources = iter([honest, open_points(table.slice(1))])
    engine = make_engine(replace(honest, pieces=lambda: next(sources).pieces(), is_query=True), world, Protection())

    assert sum(len(xy) for xy in engine.points()) > 0
    with pytest.raises(DamagedError, match="gave other records than before"):
        list(engine.points())


def test_questions_made_of_the_same_cells_share_one_reading(
    table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what memory keeps, too: and the noisy answers are those of as many readings as questions."""
    raster = raster_of(world, 20.0, 8)
    levels = [np.full(raster.shape, level, dtype=np.int8) for level in (0, 1, 3)]
    asked: list[Any] = [*(leaves_from_levels(raster, level) for level in levels), Distances(raster), SmallSquares()]
    share = Share("count", Fraction(1, 10))
    answers = []
    for kept, most_base in ((2**24, 2**24), (2**24, 0), (10, 2**24), (10, 0)):
        monkeypatch.setattr(local, "KEEP_AT_MOST", kept)
        monkeypatch.setattr("pointveil.vault.vault.MOST_BASE", most_base)
        readings: list[int] = []
        honest = open_points(table)

        def pieces(honest: Any = honest, readings: list[int] = readings) -> Any:
            readings.append(1)
            return honest.pieces()

        source = replace(honest, pieces=pieces)
        monkeypatch.setattr("pointveil.vault.rehearsal.open_points", lambda *_, source=source, **__: source)
        vault = Vault.rehearse(table, world, epsilon=1, seed=3)
        answers.append([vault.count(Grid(world.bounds, 3, 3), share).values.tolist()])
        answers[-1] += [vault.count(cells, share).values.tolist() for cells in asked]
        assert len(readings) == (1 if kept > 10 else 2 if most_base else 6)

    assert answers[0] == answers[1] == answers[2] == answers[3]


def test_parts_of_streets_and_offsets_from_them_share_one_reading(
    table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, sums = [], local.LocalEngine.sums
    for kept in (2**24, 10):
        monkeypatch.setattr(local, "KEEP_AT_MOST", kept)
        together: list[int] = []

        def watched(engine: local.LocalEngine, tallies: Any, together: list[int] = together) -> Any:
            together.append(len(tallies))
            return sums(engine, tallies)

        monkeypatch.setattr(local.LocalEngine, "sums", watched)
        made = survey(Vault.rehearse(table, world, epsilon=1, seed=3), "road", small=True)
        answers.append([answer.values.tolist() for answer in made.answers])  # type: ignore[union-attr]
        assert together == ([1, 1, 1, 1] if kept > 10 else [1, 1, 2])  # total, edges, parts, offsets

    assert answers[0] == answers[1]


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("threads", [2, 5])
def test_the_number_of_threads_changes_nothing(
    threads: int, person: str | None, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "BATCH_ROWS", 50)
    shared: dict[str, Any] = {"epsilon": 1, "seed": 3, "person": person, "keep": ("kind=category:0,1",)}
    shared |= {"max_points": 8} if person else {}
    vaults = [Vault.rehearse(table, world, threads=number, **shared) for number in (1, threads)]

    counts = [vault.count(GRID, Share("count", Fraction(1))).values.tolist() for vault in vaults]
    assert counts[0] == counts[1]
    points = [np.concatenate(list(vault._Rehearsal__engine.points())) for vault in vaults]  # type: ignore[attr-defined]
    assert np.array_equal(points[0], points[1])


@pytest.mark.parametrize("threads", [0, -1, 1.5, True])
def test_a_wrong_number_of_threads_is_refused(threads: Any, table: pa.Table, world: World) -> None:
    with pytest.raises(InputError, match="threads must be"):
        Vault.open(table, world, epsilon=1, threads=threads)


def test_an_engine_that_failed_can_be_asked_again_while_its_error_is_looked_at(table: pa.Table, world: World) -> None:
    engine = make_engine(open_points(table), world, Protection())

    class Failing(Everywhere):
        def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
            raise KeyError(len(xy))

    with pytest.raises(KeyError) as caught:
        engine.sums([Tally(Failing(), 1)])

    assert engine.sums([Tally(Everywhere(), 1)])[0][0] > 0
    assert caught.value.__traceback__ is not None


@pytest.mark.parametrize("person", [None, "who"])
def test_streets_are_searched_once_for_all_questions_about_the_same_records(
    store: str, person: str | None, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault.rehearse(table, world, epsilon=1, seed=3, person=person, max_points=2)
    cells = road_cells(world, 30.0, 300.0)
    xy = vault.exact_points()
    asked: tuple[Cells, ...] = (cells, KindOffsets(cells)) * 2
    found = [about.locate(xy) for about in asked]
    searched: list[int] = []
    find = Streets.find
    monkeypatch.setattr(Streets, "find", lambda self, xy: searched.append(len(xy)) or find(self, xy))  # type: ignore[func-returns-value]

    for about, number in zip(asked, found, strict=True):
        assert vault.exact_count(about).tolist() == np.bincount(number[number >= 0], minlength=len(about)).tolist()
    questions = 1 if store == "in memory" else 4
    assert questions * len(xy) < sum(searched) <= questions * (len(xy) + 3 * len(searched))


class Neighbourly:
    """Cells whose search says of a record how many others there are."""

    @property
    def found_by(self) -> "Neighbourly":
        return self

    def __len__(self) -> int:
        return 10**6

    def find(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(xy), len(xy))

    def locate(self, xy: NDArray[np.float64], found: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        return np.zeros(len(xy), dtype=np.int64) if found is None else found


def test_a_search_that_looks_at_other_records_is_refused(table: pa.Table, world: World) -> None:
    vault = Vault.rehearse(table, world, epsilon=1, seed=3)

    with pytest.raises(NotOneByOneError, match="by itself"):
        vault.exact_count(Neighbourly())


class Dropped(dict[Any, Any]):
    """What is held of a search while another thread asks about other streets: it is gone at once."""

    def __setitem__(self, search: Any, found: Any) -> None:
        """Drop it."""


def test_a_search_that_another_thread_drops_is_answered_all_the_same(world: World) -> None:
    cells = road_cells(world, 30.0, 300.0)
    xy = np.random.default_rng(1).uniform(world.bounds[:2], world.bounds[2:], (100, 2))
    records = local.Records(np.zeros((100, 2), dtype=np.int32), ())

    found = local.Voted(records, found=Dropped()).count(Tally(cells, len(cells)), xy)

    assert found.tolist() == Tally(cells, len(cells)).count(xy).tolist()


def test_the_type_that_cells_have_in_one_block_changes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_base, "BLOCK", 2)
    xy = np.column_stack([np.array([1.0, 2.0, 300.0, 4.0]), np.zeros(4)])

    def smallest(some: NDArray[np.float64], _: object) -> tuple[NDArray[np.integer]]:
        steps = some[:, 0].astype(np.int64)
        return (steps.astype(np.uint8 if steps.max() < 256 else np.uint16),)

    (found,) = engine_base.tried_alone(smallest, xy)

    assert found.tolist() == [1, 2, 300, 4]
