"""Many points are drawn and written in blocks: the same whatever the number of threads, and never all in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import pointveil as pv
from pointveil import releases
from pointveil.surveys import Survey
from pointveil.synthetic import points_digest

KEEP = ("kind=category:bus,tram", "user=id")


@pytest.fixture
def surveyed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, people_table: Any, world: pv.World) -> Survey:
    monkeypatch.setattr(releases, "DRAWN_AT_ONCE", 1000)
    vault = pv.Vault.open(people_table, world, epsilon=1, keep=KEEP, ledger=None)
    return pv.survey(vault, "ugrid-uni")


@pytest.fixture
def people_table(people: np.ndarray) -> Any:
    import pyarrow as pa

    kind = np.where(np.arange(len(people)) % 3, "bus", "tram")
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "kind": kind, "user": np.arange(len(people))})


def test_threads_change_nothing(surveyed: Survey) -> None:
    drawn = [pv.draw(surveyed, count=3500, seed=5, threads=threads) for threads in (1, 2, 5)]

    for each in drawn[1:]:
        assert np.array_equal(each.coordinates, drawn[0].coordinates)
        assert each.kept is not None
        assert each.kept.equals(drawn[0].kept)


def test_blocks_are_written_as_they_were_drawn(surveyed: Survey, tmp_path: Path) -> None:
    drawn = pv.draw(surveyed, count=3500, seed=5)

    stated = drawn.write(tmp_path / "made.parquet")

    assert "coordinates" not in vars(drawn)  # they were never all in memory
    assert len(drawn) == stated.output.rows == 3500  # type: ignore[union-attr]
    assert pv.verify(tmp_path / "made.parquet").statement == stated
    table = pq.read_table(tmp_path / "made.parquet")
    assert np.array_equal(np.column_stack([table["lon"], table["lat"]]), drawn.coordinates)
    assert stated.output.points_sha256 == points_digest([drawn.coordinates], 10**7)  # type: ignore[union-attr]
    assert len(set(table["user"].to_pylist())) == 3500
    assert table["kind"].to_pylist() == drawn.to_arrow()["kind"].to_pylist()


def test_blocks_follow_the_same_counts(surveyed: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = pv.draw(surveyed, count=20_000, seed=5).coordinates
    monkeypatch.setattr(releases, "DRAWN_AT_ONCE", 10**6)
    at_once = pv.draw(surveyed, count=20_000, seed=5).coordinates

    counts = [np.histogram2d(each[:, 0], each[:, 1], bins=4)[0] for each in (drawn, at_once)]
    assert np.abs(counts[0] - counts[1]).max() < 0.02 * 20_000


@pytest.mark.parametrize(("wanted", "number"), [(0, 1), (1000, 1), (1001, 2), (2001, 4), (4600, 6)])
def test_blocks_are_even_in_number_and_alike(wanted: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "DRAWN_AT_ONCE", 1000)

    sizes = [block.stop - block.start for block in releases._blocks(wanted)]

    assert (len(sizes), sum(sizes)) == (number, wanted)
    assert max(sizes) - min(sizes) < number


def test_what_is_laid_aside_has_no_name(surveyed: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    drawn = pv.draw(surveyed, count=3500, seed=5)

    assert list(tmp_path.iterdir()) == []
    assert len(drawn.coordinates) == 3500


def test_a_release_of_many_points_is_whole(
    people_table: Any, world: pv.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "DRAWN_AT_ONCE", 1000)

    made = pv.release(
        people_table.select(["lon", "lat"]),
        world,
        epsilon=1,
        output=tmp_path / "a.csv",
        count=2500,
        seed=3,
        unit="point",
    )

    assert len(made) == len(pv.read(tmp_path / "a.csv")) == 2500
    assert np.array_equal(made.coordinates, pv.read(tmp_path / "a.csv").coordinates)
    assert made.statement.output is not None


@pytest.mark.parametrize("threads", [0, 1.5])
def test_a_wrong_number_of_threads_is_refused(threads: Any, surveyed: Survey) -> None:
    with pytest.raises(pv.InputError, match="threads must be"):
        pv.draw(surveyed, count=5000, threads=threads)
