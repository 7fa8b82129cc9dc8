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

from pointveil.cells import Grid
from pointveil.engines import at_most, local, spool
from pointveil.formats import DamagedError, base, open_points
from pointveil.vault import Share, Vault
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
    engines = [vault._Rehearsal__engine for vault in vaults]  # type: ignore[attr-defined]
    coded = [np.sort(np.concatenate([codes[0] for _, codes in engine.coded_points()])) for engine in engines if keep]
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

    engine.digest()
    laid = engine._spool
    assert laid is not None
    assert laid._file._rolled  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
    assert Path(f"/proc/self/fd/{laid._file.fileno()}").stat().st_mode & 0o777 == 0o600
    engine.forget()

    assert laid._file.closed


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
