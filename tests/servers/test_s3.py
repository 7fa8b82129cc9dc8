"""Points in an S3 store: read and written as files are, and no credential is ever shown."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyarrow import csv, fs
from tests.privacy.test_rooms import Guard, records_in, table_of

import pointveil as pv
from pointveil.cells import Grid
from pointveil.cli import main
from pointveil.errors import InputError, VerificationError
from pointveil.formats import DamagedError, open_points
from pointveil.releases import survey
from pointveil.vault import Vault
from pointveil.world import World

pytestmark = pytest.mark.filterwarnings("ignore::pointveil.errors.PointveilWarning")

SECRET = "SECRETKEY"
GRID = Grid((-2000, -2000, 2000, 2000), 5, 5)
Address = Callable[..., str]


@pytest.fixture
def store(s3: str) -> Any:
    return fs.S3FileSystem(
        access_key="ME", secret_key=SECRET, endpoint_override=s3, scheme="http", region="us-east-1",
        allow_bucket_creation=True,
    )  # fmt: skip


@pytest.fixture
def bucket(store: Any) -> str:
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    store.create_dir(name)
    return name


@pytest.fixture
def address(s3: str, bucket: str) -> Address:
    """Return the address of a key, with the password in it."""

    def made(key: str, password: str = SECRET) -> str:
        return f"s3://ME:{password}@{bucket}/{key}?endpoint_override={s3}&scheme=http&region=us-east-1"

    return made


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": np.arange(len(people)) // 4})


def fill(store: Any, bucket: str, table: Any, names: list[str]) -> None:
    rows = len(table) // len(names) + 1
    for place, name in enumerate(names):
        part = table.slice(place * rows, rows)
        with store.open_output_stream(f"{bucket}/{name}") as stream:
            (csv.write_csv if name.endswith(".csv") else pq.write_table)(part, stream)


def answers(source: Any, world: World) -> tuple[Any, bytes]:
    vault = Vault.rehearse(source, world, epsilon=1, seed=3, person="who", max_points=2)
    return vault.exact_count(GRID).tolist(), vault._Rehearsal__engine.digest()  # type: ignore[attr-defined]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_objects_answer_as_the_same_file_on_this_machine_does(
    suffix: str, store: Any, bucket: str, address: Address, table: pa.Table, world: World
) -> None:
    fill(store, bucket, table, [f"one/whole{suffix}"])
    fill(store, bucket, table, [f"many/a{suffix}", f"many/deep/b{suffix}"])

    expected = answers(table, world)

    for key in (f"one/whole{suffix}", "many", "many/", f"many/**/*{suffix}", f"**/whole{suffix}"):
        assert answers(address(key), world) == expected


def test_an_object_that_changes_between_two_questions_fails(
    store: Any, bucket: str, address: Address, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, bucket, table, ["a.parquet"])
    monkeypatch.setattr("pointveil.engines.local.KEEP_AT_MOST", 10)
    vault = Vault.rehearse(address("a.parquet"), world, epsilon=1, seed=3)
    vault.exact_count(GRID)

    fill(store, bucket, table.slice(3), ["a.parquet"])

    with pytest.raises(DamagedError, match=r"a\.parquet changed while it was read"):
        vault.exact_count(GRID)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("missing.parquet", "missing.parquet has no file in it; check"),
        ("a.gpkg", "a.gpkg cannot be read from a store, only .csv"),
        ("a.xlsx", "a.xlsx is in no format known"),
    ],
)
def test_what_cannot_be_read_is_named_without_its_credentials(
    key: str, words: str, store: Any, bucket: str, address: Address, table: pa.Table
) -> None:
    fill(store, bucket, table, ["a.gpkg", "a.xlsx"])

    with pytest.raises(InputError, match=words) as caught:
        open_points(address(key))

    assert SECRET not in f"{caught.value!r}"
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_no_server_and_no_bucket_are_said_plainly(address: Address, s3: str) -> None:
    for url, words in (
        (f"s3://ME:{SECRET}@nobody-has-this/a.csv?endpoint_override={s3}&scheme=http", "has no file"),
        ("s3://", "cannot be opened"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            open_points(url)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["out/synthetic.parquet", "out/synthetic.geojson", "out/synthetic"])
def test_a_release_goes_to_a_store_and_comes_back_verified(
    name: str, store: Any, bucket: str, address: Address, table: pa.Table, world: World
) -> None:
    fill(store, bucket, table, ["people.parquet"])
    url = address(name)

    made = pv.release(address("people.parquet"), world, epsilon=1, output=url, method="ugrid-uni", request="one")

    assert np.array_equal(pv.read(url).coordinates, made.coordinates)
    assert pv.verify(url).statement == made.statement
    with pytest.raises(InputError, match="exists already"):
        pv.release(table, world, epsilon=1, output=url, method="ugrid-uni")
    again = pv.release(address("people.parquet"), world, epsilon=1, output=url, method="ugrid-uni", request="one")
    assert np.array_equal(again.coordinates, made.coordinates)
    pv.release(table, world, epsilon=1, output=url, method="ugrid-uni", force=True, count=5)
    assert len(pv.read(url)) == 5
    assert not pv.evaluate(address("people.parquet"), url, world).warnings()


def content(store: Any, bucket: str) -> list[str]:
    return [info.path for info in store.get_file_info(fs.FileSelector(bucket, recursive=True)) if info.is_file]


def test_private_files_in_a_store_are_never_replaced(
    store: Any, bucket: str, address: Address, table: pa.Table, world: World
) -> None:
    names = ["a.parquet", "b.parquet"]
    fill(store, bucket, table, ["other/notes.parquet", *(f"trips/{name}" for name in names)])
    fill(store, bucket, table, ["parts/part-00000.parquet", "parts/2024/part-00000.parquet"])
    before = content(store, bucket)

    for source, output, words in (
        (table, "other", "directory with other files"),
        (address("trips"), "trips/a.parquet", "among the private files, trips"),
        (address("trips"), "trips/synthetic", "among the private files, trips"),
        (address("trips/*.parquet"), "trips/c.parquet", r"among the private files, trips/\*"),
        ([address("trips/a.parquet")], "trips/a.parquet", "among the private files, a.parquet"),
        (address("parts/*.parquet"), "parts", r"among the private files, parts/\*"),
        (address("parts/**/*.parquet"), "parts/2024", r"among the private files, parts/\*"),
        (address("parts/part-00000.parquet"), "parts", "among the private files, part-00000.parquet"),
    ):
        for password in (SECRET, "ANOTHER"):
            with pytest.raises(InputError, match=words):
                pv.release(source, world, epsilon=1, output=address(output, password), method="ugrid-uni", force=True)
    for output in ("x/../trips/a.parquet", "./trips/a.parquet"):
        with pytest.raises(InputError, match="one object or folder in a bucket"):
            pv.release(table, world, epsilon=1, output=address(output), method="ugrid-uni", force=True)

    assert content(store, bucket) == before
    assert pv.Ledger().accounts() == []


@pytest.mark.parametrize(
    ("key", "words"),
    [("*.parquet", "one object or folder in a bucket"), ("", "one object or folder in a bucket"), ("x", "no bucket")],
)
def test_an_output_that_no_store_can_take_is_refused_before_the_charge(
    key: str, words: str, bucket: str, address: Address, table: pa.Table, world: World
) -> None:
    output = address(key) if key != "x" else address(key).replace(bucket, "nobody-has-this")

    with pytest.raises(InputError, match=words) as caught:
        pv.release(table, world, epsilon=1, output=output, method="ugrid-uni")

    assert SECRET not in str(caught.value)
    assert pv.Ledger().accounts() == []


def test_nothing_beside_an_output_is_replaced_unless_that_is_said(
    store: Any, bucket: str, address: Address, table: pa.Table, world: World
) -> None:
    fill(store, bucket, table, ["out/a.parquet.statement.json", "out/b.dbf"])

    for name in ("a.parquet", "b.shp"):
        with pytest.raises(InputError, match=f"{name} exists already"):
            pv.release(table, world, epsilon=1, output=address(f"out/{name}"), method="ugrid-uni")


def test_what_exists_is_refused_without_being_fetched(
    store: Any, bucket: str, address: Address, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, bucket, table, ["out/part-00000.parquet"])
    monkeypatch.setattr(fs, "copy_files", None)

    with pytest.raises(InputError, match="out exists already"):
        pv.release(table, world, epsilon=1, output=address("out"), method="ugrid-uni")


def test_a_part_too_many_in_a_store_exits_with_4_and_shows_no_secret(
    store: Any, bucket: str, address: Address, table: pa.Table, world_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(store, bucket, table, ["people.parquet"])
    main_(
        ["synthesize", address("people.parquet"), address("out"), "-w", str(world_file), "-e", "1", "-m", "ugrid-uni"]
    )
    main_(["verify", address("out")])
    store.copy_file(f"{bucket}/out/part-00000.parquet", f"{bucket}/out/part-00001.parquet")

    with pytest.raises(SystemExit) as stopped:
        main(["verify", address("out")])

    assert stopped.value.code == 4
    with pytest.raises(VerificationError):
        pv.read(address("out"))
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert "s3://" in said.err
    for file in Path(pv.Ledger().path).parent.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes()


def main_(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0


def test_a_store_that_takes_no_more_keeps_nothing_and_the_charge_is_told(
    store: Any, bucket: str, address: Address, table: pa.Table, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = fs.copy_files

    def failing(source: str, target: str, **options: Any) -> None:
        if source.endswith("synthetic.parquet"):
            raise OSError(f"no room, {SECRET}")
        honest(source, target, **options)

    monkeypatch.setattr(fs, "copy_files", failing)
    with pytest.raises(InputError, match=r"synthetic\.parquet cannot be written.*stays charged.*request=") as caught:
        pv.release(table, world, epsilon=1, output=address("synthetic.parquet"), method="ugrid-uni", request="two")
    assert SECRET not in str(caught.value)
    assert [info.path for info in store.get_file_info(fs.FileSelector(bucket, recursive=True))] == []
    monkeypatch.undo()


def test_records_of_a_store_stay_in_the_rooms(store: Any, bucket: str, address: Address, plain_world: World) -> None:
    lonlat = records_in(plain_world)
    fill(store, bucket, table_of(lonlat), ["a.parquet", "b.parquet"])
    guard = Guard(lonlat, plain_world)

    with guard.watching():
        survey(Vault.rehearse(address(""), plain_world, epsilon=1, seed=5, person="who"), "ugrid-uni")

    assert guard.caught == set()
