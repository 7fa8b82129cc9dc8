"""Folders, patterns and lists of files are read as one file with all their records would be."""

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyarrow import csv

from pointveil.cells import Everywhere, Grid
from pointveil.errors import InputError
from pointveil.files.places import public_name, store_of, without_secrets
from pointveil.formats import DamagedError, open_points
from pointveil.ledger import Ledger
from pointveil.vault import Share, Vault
from pointveil.world import World

GRID = Grid((-2000, -2000, 2000, 2000), 5, 5)


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    """People, of whom each has four points."""
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": np.arange(len(people)) // 4})


def write(table: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    (csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)
    return path


def cut(table: Any, folder: Path, names: list[str]) -> list[Path]:
    """Write a table to several files."""
    rows = len(table) // len(names) + 1
    return [write(table.slice(place * rows, rows), folder / name) for place, name in enumerate(names)]


def coordinates(source: Any, **options: Any) -> NDArray[np.float64]:
    return np.concatenate([np.empty((0, 2)), *(b.coordinates for b in open_points(source, **options).batches())])


def answers(source: Any, world: World, person: str | None = None) -> tuple[Any, bytes]:
    """Return exact counts of a rehearsal, in which at most two points of a person count, and the fingerprint."""
    vault = Vault.rehearse(source, world, epsilon=1, seed=3, person=person, max_points=2)
    return vault.exact_count(GRID).tolist(), vault._Rehearsal__engine.digest()  # type: ignore[attr-defined]


NAMES = ["a.parquet", "deep/b.parquet", "deep/er/c.parquet"]
SAYINGS: dict[str, Callable[[Path], Any]] = {
    "folder": lambda folder: folder,
    "folder as text": lambda folder: f"{folder}/",
    "address": lambda folder: folder.as_uri(),
    "pattern": lambda folder: f"{folder}/**/*.parquet",
    "pattern of an address": lambda folder: f"{folder.as_uri()}/**/?.parquet",
    "list": lambda folder: [folder / name for name in NAMES],
    "list of text": lambda folder: [str(folder / "a.parquet"), str(folder / "deep")],
}


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("saying", SAYINGS)
def test_many_files_answer_as_one_does(
    saying: str, person: str | None, table: pa.Table, world: World, tmp_path: Path
) -> None:
    whole = write(table, tmp_path / "whole.parquet")
    cut(table, tmp_path / "parts", NAMES)
    source = SAYINGS[saying](tmp_path / "parts")

    assert answers(source, world, person) == answers(whole, world, person)
    assert open_points(source).layout == open_points(whole).layout


def test_a_file_that_a_list_names_twice_is_read_once(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(table, tmp_path / "parts", NAMES)
    monkeypatch.chdir(tmp_path)

    found = coordinates(["parts", "parts/a.parquet", tmp_path / "parts/deep/b.parquet", "parts/../parts/*.parquet"])

    assert len(found) == len(table)


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_that_a_folder_holds_under_two_names_is_read_once(link: Any, table: pa.Table, tmp_path: Path) -> None:
    cut(table, tmp_path / "parts", NAMES)
    link(tmp_path / "parts" / "latest.parquet", tmp_path / "parts" / "a.parquet")

    assert len(coordinates(tmp_path / "parts")) == len(table)
    assert len(coordinates(f"{tmp_path}/parts/**/*.parquet")) == len(table)


@pytest.mark.parametrize("pattern", ["x[].parquet", "x[z-a].parquet"])
def test_a_pattern_that_cannot_be_read_is_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pattern cannot be read"):
        open_points(tmp_path / pattern)


@pytest.mark.parametrize(
    "source",
    [
        "s3:/ME:SECRET@bucket/*.csv",
        Path("s3://ME:SECRET@bucket/*.csv"),
        ["s3:/ME:SECRET@bucket"],
        [Path("s3://ME:SECRET@bucket/a.csv")],
        "postgresql:/me:SECRET@host/city?table=t",
        "s3://ME:SE[CRET@bucket/a.csv",
        "s3://ME:SE℀CRET@bucket/a.csv",
        "s3://ME:SEC/RET@/a.csv",
        ["postgresql://me:SECRET@host/city?table=t"],
    ],
)
def test_no_way_to_misspell_an_address_shows_its_password(source: Any) -> None:
    with pytest.raises(InputError) as caught:
        open_points(source)

    assert not any(part in str(caught.value) for part in ("SECRET", "CRET", "RET@", "SE["))


def test_files_of_text_are_read_with_the_same_patience_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_text("lon,lat\n1,2\nsomebody,else\n")
    (folder / "b.csv").write_text("lat;lon;note\n4;3;x\n4;3\n")

    found = coordinates(folder)

    assert found[[0, 2]].tolist() == [[1, 2], [3, 4]]
    assert np.isnan(found[1]).all()
    assert open_points(folder).layout.left_out == ("note",)


def test_a_pattern_takes_only_what_it_matches(tmp_path: Path) -> None:
    table = pa.table({"lon": [1.0], "lat": [2.0]})
    cut(table, tmp_path, ["x1.parquet", "x2.parquet", "y1.parquet", "deep/x3.parquet", "odd[1].parquet"])

    assert len(coordinates(tmp_path / "x*.parquet")) == 1
    assert len(open_points(f"{tmp_path}/x?.parquet").stamp()) == 2  # type: ignore[arg-type]
    assert len(open_points(f"{tmp_path}/[xy]1.parquet").stamp()) == 2  # type: ignore[arg-type]
    assert set(map(str, open_points(f"{tmp_path}/[!xo]*.parquet").stamp())) == {f"{tmp_path}/y1.parquet"}  # type: ignore[call-overload]
    with pytest.raises(InputError, match="has no file in it"):
        open_points(f"{tmp_path}[!x]x1.parquet")
    assert len(open_points(f"{tmp_path}/**/x*.parquet").stamp()) == 3  # type: ignore[arg-type]
    assert open_points(tmp_path / "odd[1].parquet").path == tmp_path / "odd[1].parquet"
    with pytest.raises(InputError, match="has no file in it"):
        open_points(f"{tmp_path}/z*.parquet")


def test_folders_may_say_whose_records_they_hold(table: pa.Table, world: World, tmp_path: Path) -> None:
    whole = write(table, tmp_path / "whole.parquet")
    for who in range(500):
        part = table.slice(4 * who, 4).drop_columns("who")
        write(part, tmp_path / f"parts/city=P%C3%A9cs/who={who}/part-0.parquet")

    source = tmp_path / "parts"

    assert answers(source, world, "who") == answers(whole, world, "who")
    assert open_points(source).layout.left_out == ("city", "who")
    (batch,) = open_points(source, person="city").batches()
    assert set(batch.person.to_pylist()) == {"Pécs".encode()}


def test_a_folder_for_no_value_is_nobodys(tmp_path: Path) -> None:
    write(pa.table({"lon": [1.0], "lat": [2.0]}), tmp_path / "parts/who=__HIVE_DEFAULT_PARTITION__/a.parquet")

    (batch,) = open_points(tmp_path / "parts", person="who").batches()

    assert batch.person.to_pylist() == [None]


def test_a_person_is_the_same_whatever_type_a_file_gives_the_column(tmp_path: Path, world: World) -> None:
    kinds = [pa.array([7] * 3), pa.array(["7"] * 3), pa.array([7.0] * 3), pa.array([b"7"] * 3)]
    for place, kind in enumerate(kinds):
        columns = {"lon": [10.001, 10.002, 10.003], "lat": ["50.001"] * 3 if place % 2 else [50.001] * 3, "who": kind}
        write(pa.table(columns), tmp_path / f"parts/{place}.parquet")

    counts, _ = answers(tmp_path / "parts", world, "who")

    assert sum(counts) == 2


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda path: write(pa.table({"x": [1], "y": [1]}), path.with_suffix(".parquet")), "b.parquet in parts differ"),
        (lambda path: write(pa.table({"lon": [1], "lat": [1]}), path.with_suffix(".csv")), "b.csv in parts differs"),
        (lambda path: write(pa.table({"lon": [1.0]}), path.with_suffix(".parquet")), "b.parquet has no columns"),
        (lambda path: path.with_suffix(".parquet").write_bytes(b"PAR1junk"), "b.parquet is not a whole Parquet"),
        (lambda path: path.with_suffix(".parquet").touch(), "b.parquet is not a whole Parquet"),
        (lambda path: path.with_suffix(".md").write_text("read me"), "b.md is in no format known"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_named(other: Callable[[Path], Any], words: str, tmp_path: Path) -> None:
    write(pa.table({"lon": [1.0], "lat": [2.0]}), tmp_path / "parts/a.parquet")
    other(tmp_path / "parts/b")

    with pytest.raises(InputError, match=words):
        open_points(tmp_path / "parts")


def test_a_file_that_is_missing_from_a_list_is_named(tmp_path: Path) -> None:
    here = write(pa.table({"lon": [1.0], "lat": [2.0]}), tmp_path / "here.parquet")

    with pytest.raises(InputError, match=r"gone\.parquet does not exist"):
        open_points([here, tmp_path / "gone.parquet"])


def test_the_notes_of_other_programs_are_not_read(tmp_path: Path) -> None:
    write(pa.table({"lon": [1.0], "lat": [2.0]}), tmp_path / "parts/a.parquet")
    for note in ("_SUCCESS", ".a.parquet.crc", "_temporary/0/b.parquet"):
        (tmp_path / "parts" / note).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "parts" / note).write_text("note")

    assert len(coordinates(tmp_path / "parts")) == 1


def change_one(folder: Path) -> None:
    write(pa.table({"lon": [9.0], "lat": [9.0]}), folder / "a.parquet")


CHANGES: dict[str, Callable[[Path], Any]] = {
    "changed": change_one,
    "more": lambda folder: shutil.copy(folder / "a.parquet", folder / "z.parquet"),
    "fewer": lambda folder: (folder / "a.parquet").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_files_that_change_between_two_questions_fail_and_stay_paid(
    change: str, table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(table, tmp_path / "parts", ["a.parquet", "b.parquet"])
    monkeypatch.setattr("pointveil.engines.local.KEEP_AT_MOST", 10)  # so that every question reads again
    vault = Vault.open(tmp_path / "parts", world, epsilon=1)
    vault.count(GRID, Share("first", Fraction(1, 2)))

    CHANGES[change](tmp_path / "parts")

    with pytest.raises((DamagedError, RuntimeError), match="stays paid"):
        vault.count(Everywhere(), Share("second", Fraction(1, 2)))


def test_all_ways_to_say_the_same_records_lead_to_one_account(table: pa.Table, world: World, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.set_cap("whole.parquet", 4)
    sources = [
        write(table, tmp_path / "whole.parquet"),
        tmp_path / "parts",
        f"{tmp_path}/parts/*.parquet",
        table.to_reader(),
    ]
    cut(table, tmp_path / "parts", ["a.parquet", "b.parquet"])

    for source in sources:
        Vault.open(source, world, epsilon=1, ledger=book).pay()

    (account,) = book.accounts()
    assert account.spent == 4
    assert {account.name, *account.aliases} == {"whole.parquet", "parts", "parts/*.parquet", "frame"}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("trips.parquet", "trips.parquet"),
        (Path("data/trips"), "trips"),
        ("data/trips/", "trips"),
        ("data/trips/**/*.csv", "trips/**/*.csv"),
        (["a.csv", "b.csv", "c.csv"], "a.csv and 2 more"),
        ("file:///home/me/trips.csv", "trips.csv"),
        ("s3://KEY:SECRET@bucket/year/trips.parquet?region=x", "trips.parquet"),
        ("s3://KEY:SECRET@bucket", "bucket"),
        ("s3://KEY:SECRET@bucket/*.csv", "bucket/*.csv"),
        ("gs://bucket/trips/", "trips"),
        ("postgresql://me:SECRET@host:5432/city?table=public.trips", "city: public.trips"),
        ("postgresql://me:SECRET@host/city?query=SELECT%201", "city: query 9b6d5a39"),
        (np.zeros((1, 2)), "frame"),
    ],
)
def test_every_source_has_a_public_name_without_a_secret(source: Any, name: str) -> None:
    found = public_name(source)

    assert "SECRET" not in found
    assert found == name or ("query" in name and found.startswith("city: query "))


@pytest.mark.parametrize(("options", "seconds"), [("", 60), ("?scheme=https", 60), ("?retry_limit_seconds=5", 5)])
def test_a_store_of_google_that_does_not_answer_is_given_up_within_a_minute(options: str, seconds: int) -> None:
    system, key = store_of(f"gs://bucket/trips.parquet{options}")

    assert key == "bucket/trips.parquet"
    assert system.__reduce__()[1][0]["retry_time_limit"].total_seconds() == seconds


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("out/synthetic.parquet", "out/synthetic.parquet"),
        ("s3://KEY:SECRET@bucket/a.parquet?table=SECRET", "s3://bucket/a.parquet"),
        (
            "postgresql://me:SECRET@host/city?password=SECRET&table=public.trips",
            "postgresql://host/city?table=public.trips",
        ),
    ],
)
def test_what_was_written_is_told_without_a_secret(place: str, told: str) -> None:
    assert without_secrets(place) == told


@pytest.mark.parametrize(
    "url", ["http://me:SECRET@host/x.csv", "hdfs://me:SECRET@host/x.csv", "file://me:SECRET@host/x.csv"]
)
def test_an_address_that_cannot_be_read_says_so_without_its_password(url: str) -> None:
    with pytest.raises(InputError, match=r"x\.csv cannot be reached: an address begins with") as caught:
        open_points(url)

    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
