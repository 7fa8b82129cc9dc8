"""A Spark cluster: the same answers as here, whoever is lost on the way, and no record in any text."""

import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyarrow import fs
from tests.formats.test_kept import KEEP, trips

import pointveil as pv
from pointveil.cells import Grid
from pointveil.cli import main as command
from pointveil.engines import NotOneByOneError
from pointveil.errors import BudgetError, InputError, VerificationError
from pointveil.formats import DamagedError, open_points, output_layout
from pointveil.formats.spark import for_each
from pointveil.parts import _write_part
from pointveil.releases import draw, draw_apart, survey
from pointveil.vault import Share, Vault
from pointveil.world import World

pytestmark = pytest.mark.filterwarnings("ignore::pointveil.errors.PointveilWarning")
GRID = Grid((-2000, -2000, 2000, 2000), 5, 5)
SECRET = "SECRET7"
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.fixture(scope="module")
def table(people: NDArray[np.float64]) -> pa.Table:
    who = np.arange(len(people)) // 4
    return pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": who, "label": [f"{n} x" for n in who]})


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people in two files, one of them in several row groups."""
    path = tmp_path_factory.mktemp("trips") / "trips"
    path.mkdir()
    pq.write_table(table.slice(0, 1500), path / "a.parquet", row_group_size=400)
    pq.write_table(table.slice(1500), path / "b.parquet")
    return path


@pytest.fixture
def frame(spark: Any, folder: Path) -> Any:
    return spark.read.parquet(str(folder))


@pytest.fixture(autouse=True)
def functions_of_this_file(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Executors cannot import this file, so what they need of it is sent; few tasks are enough."""
    from pyspark import cloudpickle

    del spark
    monkeypatch.setattr("pointveil.formats.spark.TASKS_PER_CORE", 1)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


def answers(source: Any, world: World, person: str | None = None, **options: Any) -> tuple[Any, ...]:
    vault = Vault.rehearse(source, world, epsilon=1, seed=3, person=person, max_points=2, **options)
    counts, engine = vault.exact_count(GRID).tolist(), vault._Rehearsal__engine  # type: ignore[attr-defined]
    found = counts, engine.digest(), engine.alike
    vault.close()
    return found


def kill_executor_once(flag: Path) -> None:
    """End the Java process that this task runs for, the first time that this is called anywhere."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return
    status = Path(f"/proc/{os.getppid()}/stat").read_text()  # of the process that Spark forks workers from
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)


# ---- the same answers ----


def test_frames_and_files_count_as_one_file_does(
    frame: Any, folder: Path, table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    arrow_csv.write_csv(table, tmp_path / "people.csv")

    for person in (None, "who", "label"):
        expected = answers(table, world, person)
        assert answers(frame, world, person) == expected
        assert answers(folder.name, world, person, engine="spark") == expected
    assert answers(tmp_path / "people.csv", world, engine="spark")[1] == answers(table, world)[1]
    assert sum(len(batch.coordinates) for batch in open_points(frame).batches()) == 2000


@pytest.mark.parametrize("method", ["veil", "ugrid-uni", "agrid-wud", "clust-uni", "road"])
def test_noisy_answers_are_the_same_to_the_last_bit(method: str, frame: Any, table: pa.Table, world: World) -> None:
    by_person: dict[str, dict[str, Any]] = {"veil": {"person": "who"}, "road": {"person": "who", "max_points": 2}}
    person = by_person.get(method, {})
    ours, theirs = (
        survey(Vault.rehearse(source, world, epsilon=3, seed=5, **person), method) for source in (table, frame)
    )

    assert len(ours.answers) == len(theirs.answers)
    for mine, other in zip(ours.answers, theirs.answers, strict=True):
        assert np.array_equal(mine.values, other.values)  # type: ignore[union-attr]


def test_a_kernel_is_refused_before_anything_is_charged(frame: Any, world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"never gathers them.*without a kernel.*Nothing was charged"):
        pv.release(frame, world, epsilon=1, output=tmp_path / "out", method="ugrid-kde")

    assert pv.Ledger().accounts() == []


# ---- a release ----


def test_executors_write_a_folder_of_parts(
    frame: Any, table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointveil.releases.DRAWN_AT_ONCE", 250)
    monkeypatch.setattr("pointveil.releases.BLOCKS_PER_PART", 2)
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "dataset": "trips"}

    made = pv.release(frame, world, output=tmp_path / "out", request="one", seed=1, **options)

    parts = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert parts == [f"part-{number:05}.parquet" for number in range(len(parts))]
    assert len(parts) == -(-len(made) // 500)
    assert pv.verify(tmp_path / "out", ledger=pv.Ledger().path).statement == made.statement
    assert np.array_equal(pv.read(tmp_path / "out").coordinates, made.coordinates)
    assert not pv.evaluate(frame, tmp_path / "out", world).warnings()
    assert len(np.unique(made.coordinates, axis=0)) > 0.99 * len(made)
    with pytest.raises(InputError, match="out exists already"):
        pv.release(frame, world, output=tmp_path / "out", **options)
    again = pv.release(frame, world, output=tmp_path / "out", request="one", seed=1, **options)
    assert again.statement == made.statement
    # The same records have one account, wherever they are read.
    pv.Ledger().set_cap("trips", "3/2")
    with pytest.raises(BudgetError):
        pv.release(table, world, output=tmp_path / "other.csv", **options | {"dataset": "another name"})
    (tmp_path / "out" / "part-00001.parquet").unlink()
    with pytest.raises(VerificationError, match="missing"):
        pv.verify(tmp_path / "out")


def test_a_folder_in_a_store_is_written_by_this_machine(frame: Any, world: World, s3: str) -> None:
    options = f"endpoint_override={s3}&scheme=http&region=us-east-1"
    store, _ = fs.FileSystem.from_uri(f"s3://ME:{SECRET}@?{options}&allow_bucket_creation=true")
    store.create_dir("of-spark")
    url = f"s3://ME:{SECRET}@of-spark/out?{options}"

    made = pv.release(frame, world, epsilon=1, output=url, method="ugrid-uni", dataset="trips")

    assert np.array_equal(pv.read(url).coordinates, made.coordinates)


def test_kept_columns_and_persons_of_a_frame(
    spark: Any, plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = trips()
    monkeypatch.setattr("pointveil.releases.DRAWN_AT_ONCE", 100)
    monkeypatch.setattr("pointveil.releases.BLOCKS_PER_PART", 2)
    pq.write_table(table, tmp_path / "trips.parquet")
    frame = spark.read.parquet(str(tmp_path / "trips.parquet"))
    options: dict[str, Any] = {"epsilon": 5, "seed": 5, "keep": KEEP[1:], "person": "user", "max_points": 1}

    ours, theirs = (survey(Vault.rehearse(source, plain_world, **options), "ugrid-uni") for source in (table, frame))
    parts = draw_apart(theirs, spark, count=300, seed=1)
    made = parts.write(tmp_path / "out", key=None, ready=lambda _: None)

    assert [list(each.values) for each in ours.answers] == [list(each.values) for each in theirs.answers]  # type: ignore[union-attr]
    found = pv.read(tmp_path / "out")
    assert found.kept is not None
    assert found.kept.equals(made.kept)
    assert np.array_equal(found.coordinates, np.concatenate([parts.draw(number).coordinates for number in range(2)]))
    assert len(set(found.kept["user"].to_pylist())) == 300
    monkeypatch.setattr("pointveil.releases.DRAWN_AT_ONCE", 300)
    assert np.array_equal(
        draw_apart(theirs, spark, count=300, seed=1).draw(0).coordinates, draw(ours, count=300, seed=1).coordinates
    )
    assert pq.read_schema(tmp_path / "out" / "part-00000.parquet").names == [
        "user",
        "lat",
        "kind",
        "lon",
        "fare",
        "riders",
    ]


def test_the_command_runs_on_the_cluster(
    folder: Path, world_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")

    def main(arguments: list[str]) -> None:
        with pytest.raises(SystemExit, match="0"):
            command(arguments)

    main(["synthesize", str(folder), out, "-w", str(world_file), "-e", "1", "--engine", "spark", "-m", "ugrid-uni"])
    assert "synthetic points to" in capsys.readouterr().err
    main(["verify", out])
    main(
        [
            "synthesize",
            str(folder),
            f"{out}.csv",
            "-w",
            str(world_file),
            "-e",
            "1",
            "--engine",
            "spark",
            "-m",
            "ugrid-uni",
        ]
    )
    main(["verify", f"{out}.csv"])

    assert [(account.name, account.spent) for account in pv.Ledger().accounts()] == [("trips", Fraction(2))]


def test_the_example_of_the_page_runs(
    table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = re.findall(r"```py\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    example = example.replace('parquet("trips")', f'parquet("{tmp_path}/trips")')  # Java has a folder of its own
    (tmp_path / "trips").mkdir()
    pq.write_table(table.rename_columns(["lon", "lat", "taxi", "label"]), tmp_path / "trips" / "a.parquet")
    world.write(tmp_path / "city.gpkg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pv, "release", partial(pv.release, method="ugrid-uni", small=True))

    exec(compile(example, PAGE.name, "exec"), {})  # noqa: S102 - our own page

    assert (tmp_path / "synthetic.statement.json").exists()


# ---- what is lost on the way ----


@dataclass(frozen=True)
class Deadly:
    """Cells that end the executor of the first task that asks."""

    flag: Path

    def __len__(self) -> int:
        return len(GRID)

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        kill_executor_once(self.flag)
        return GRID.locate(xy)


def test_an_executor_that_is_killed_changes_nothing(frame: Any, table: pa.Table, world: World, tmp_path: Path) -> None:
    vault = Vault.rehearse(frame.repartition(4), world, epsilon=1, seed=3, person="who", max_points=2)

    found = vault.exact_count(Deadly(tmp_path / "flag")).tolist()

    assert (tmp_path / "flag").exists()
    assert found == answers(table, world, "who")[0]


def square_at_second(flags: Path, number: int) -> int:
    """Fail at the first attempt."""
    flag = flags / f"tried {number}"
    if not flag.exists():
        flag.touch()
        raise OSError(SECRET)
    return number**2


def test_work_that_is_lost_is_done_again(spark: Any, tmp_path: Path) -> None:
    found = for_each(spark, 5, partial(square_at_second, tmp_path), "failed")

    assert found == [0, 1, 4, 9, 16]


def test_two_attempts_write_the_same_part(table: pa.Table, world: World, tmp_path: Path) -> None:
    asked = survey(Vault.rehearse(table, world, epsilon=1, seed=5), "ugrid-uni")

    def one(number: int) -> Any:
        return draw(asked, count=100, seed=number)

    written = set()
    for _ in range(2):
        assert _write_part(one, tmp_path, tmp_path, output_layout(tmp_path / "out", asked.layout), 3) == 100
        (part,) = tmp_path.glob("*part*")
        written.add((part.name, part.read_bytes()))
    assert [name for name, _ in written] == ["part-00003.parquet"]


# ---- faults ----


def test_a_frame_without_the_columns_is_refused(frame: Any, folder: Path, world: World, tmp_path: Path) -> None:
    faults = {
        "no columns that are surely longitude": frame.drop("lon"),
        "2 columns called 'lon'": frame.select("lon", "lon", "lat"),
        "not numbers": frame.selectExpr("array(lon) AS lon", "lat"),
    }
    for text, wrong in faults.items():
        columns = None if "surely" in text else ("lon", "lat")
        with pytest.raises(InputError, match=text):
            pv.release(wrong, world, epsilon=1, output=tmp_path / "out", columns=columns)
    with pytest.raises(InputError, match="no column 'nobody'"):
        pv.release(frame, world, epsilon=1, output=tmp_path / "out", person="nobody")
    with pytest.raises(InputError, match="not a file"):
        open_points([(10.0, 50.0)], engine="spark")
    with pytest.raises(InputError, match="Spark runs already, at local-cluster"):
        open_points(folder, engine="spark", master="local[1]")
    with pytest.raises(InputError, match="only Spark has a master"):
        open_points(folder, master="local[1]")
    assert pv.Ledger().accounts() == []
    assert list(tmp_path.glob("*out*")) == []


def test_text_in_a_column_of_numbers_fails_without_a_word_of_it_and_the_request_resumes(
    spark: Any, table: pa.Table, world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    pq.write_table(table, private / "a.parquet")
    pq.write_table(pa.table({"lon": [SECRET], "lat": [50.001]}), private / "b.parquet")
    frame = spark.read.schema("lon double, lat double").parquet(str(private))
    options: dict[str, Any] = {"epsilon": 1, "output": tmp_path / "out", "method": "ugrid-uni", "request": "a"}

    with pytest.raises(DamagedError, match=r"tasks of the cluster failed.*Epsilon 1 stays.*request='a'") as caught:
        pv.release(frame, world, dataset="private", **options)
    assert [(account.name, account.spent) for account in pv.Ledger().accounts()] == [("private", Fraction(1))]
    assert not (tmp_path / "out").exists()
    assert SECRET not in "".join([str(caught.value), repr(caught.value.__cause__), *capfd.readouterr()])
    assert caught.value.__context__ is None

    (private / "b.parquet").unlink()
    again = spark.read.schema("lon double, lat double").parquet(str(private))
    made = pv.release(again, world, dataset="private", **options)

    assert pv.verify(tmp_path / "out").statement == made.statement
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_a_frame_that_differs_each_time_fails(frame: Any, world: World) -> None:
    vault = Vault.open(frame.where("java_method('java.lang.Math', 'random') < 0.5"), world, epsilon=1)
    vault.count(GRID, Share("count", Fraction(1, 2)))

    with pytest.raises(DamagedError, match=r"gave other records than before.*stays paid"):
        vault.count(Grid((-2000, -2000, 2000, 2000), 7, 7), Share("count", Fraction(1, 2)))


class Neighbourly:
    """Cells that look at more than one point."""

    def __len__(self) -> int:
        return 2

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(xy), int(len(xy) > 1))


def test_cells_that_look_at_neighbours_are_found_out(frame: Any, world: World) -> None:
    vault = Vault.open(frame, world, epsilon=1, ledger=None)

    with pytest.raises(NotOneByOneError, match="look at each point by itself"):
        vault.count(Neighbourly(), Share("count", Fraction(1)))


def test_a_folder_that_executors_cannot_write_leaves_nothing_and_the_request_resumes(
    frame: Any, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"epsilon": 1, "output": tmp_path / "out", "method": "ugrid-uni", "request": "b"}
    with monkeypatch.context() as patch:
        patch.setattr("pointveil.parts._write_part", _no_room)
        with pytest.raises(InputError, match=r"out cannot be written: tasks.*Epsilon 1 stays charged.*request='b'"):
            pv.release(frame, world, **options)
    assert [file.name for file in tmp_path.glob("*out*")] == []

    made = pv.release(frame, world, **options)

    assert len(pv.read(tmp_path / "out")) == len(made)
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def _no_room(*_: object) -> int:
    raise OSError(28, f"No space left on device, {SECRET}")
