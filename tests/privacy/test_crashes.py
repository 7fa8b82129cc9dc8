"""Whatever fails, and whenever: a release is charged once, is never lost, and never lies about half-written."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO, ENOSPC
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import pointveil as pv
from pointveil.ledger import Ledger, book, schema
from pointveil.verification import verify
from pointveil.world import World

KILLS = 8
CALLS = ("replace", "fsync", "unlink", "mkdir", "link", "rmdir")
"""What a release does to files, as functions of `os`."""


class Faults:
    """Fails at one point of a run, or at none and counts them: before a call to `os` or a commit, or just after one."""

    def __init__(self, at: int | None, fail: Callable[[], None]) -> None:
        self.at, self.fail, self.points = at, fail, 0

    def pass_by(self) -> None:
        """Come to the next point."""
        self.points += 1
        if self.points - 1 == self.at:
            self.fail()

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call with a point before it and one after it."""

        def faulty(*arguments: Any, **options: Any) -> Any:
            self.pass_by()
            result = call(*arguments, **options)
            self.pass_by()
            return result

        return faulty


class FaultyBook:
    """A connection to the ledger whose commits may fail."""

    def __init__(self, connection: sqlite3.Connection, faults: Faults) -> None:
        self.connection, self.faults = connection, faults

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == "COMMIT":
            return self.faults.around(self.connection.execute)(statement)
        return self.connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


@contextmanager
def injected(faults: Faults) -> Iterator[Faults]:
    """Put the faults where files and the ledger are written."""
    connect = schema.connect
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, faults.around(getattr(os, name)))
        patch.setattr(tempfile._os, "mkdir", os.mkdir)  # type: ignore[attr-defined]
        patch.setattr(book, "connect", lambda path: FaultyBook(connect(path), faults))
        yield faults


def disk_error() -> None:
    raise OSError(EIO, os.strerror(EIO))


def disk_full() -> None:
    raise OSError(ENOSPC, os.strerror(ENOSPC))


def database_error() -> None:
    raise sqlite3.OperationalError("disk I/O error")


FAULTS = (disk_error, database_error, disk_full)


def ask(people_file: Path, world: World, folder: Path, request: str | None = "monday", **options: Any) -> Any:
    given = {"method": "ugrid-kde", "epsilon": 1, "ledger": folder / "ledger.db", "key": None, "count": 50, **options}
    return pv.release(people_file, world, output=folder / "out.csv", request=request, **given)


def judge(folder: Path) -> None:
    """One charge, a whole release with its statement, nothing else lying about, and a sound ledger."""
    ledger = Ledger(folder / "ledger.db")
    (account,) = ledger.accounts()
    assert account.spent == account.charges == 1
    assert not account.aliases
    assert ledger.verify() == []
    assert not list(folder.glob(".*"))
    assert verify(folder / "out.csv", ledger=ledger.path).statement.output is not None


def half_released(folder: Path) -> bool:
    return (folder / "out.csv").exists() and not (folder / "out.csv.statement.json").exists()


@pytest.fixture(scope="module")
def how_many(people_file: Path, world: World, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many points there are at which a small release may fail."""
    with injected(Faults(None, disk_error)) as faults, pytest.warns(pv.PointveilWarning, match="Left out"):
        ask(people_file, world, tmp_path_factory.mktemp("whole"))
    return faults.points


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_a_fault_at_any_point_costs_nothing_twice_and_loses_nothing(
    people_file: Path, world: World, how_many: int, tmp_path: Path
) -> None:
    assert how_many > 40
    failed = 0
    for point in range(how_many):
        folder = tmp_path / str(point)
        folder.mkdir()
        try:
            with injected(Faults(point, FAULTS[point % len(FAULTS)])):
                ask(people_file, world, folder)
        except (pv.PointveilError, OSError, sqlite3.Error) as fault:
            failed += 1
            told = " ".join((str(fault), *getattr(fault, "__notes__", ())))
            charged = Ledger(folder / "ledger.db").accounts()
            assert ("stays charged" in told) <= bool(charged)
            assert ("request='monday'" in told) >= bool(charged)
            assert "No release is made" not in told
        assert not half_released(folder)

        ask(people_file, world, folder)
        judge(folder)
    assert failed > how_many / 2


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_a_fault_between_questions_about_kept_columns_costs_nothing_twice(
    people_file: Path, world: World, tmp_path: Path
) -> None:
    keep = pv.Category("name", [f"person {number}" for number in range(4)], other="others")
    (tmp_path / "whole").mkdir()
    with injected(Faults(None, disk_error)) as faults:
        ask(people_file, world, tmp_path / "whole", keep=keep)
    refused = 0
    for point in range(faults.points // 3, faults.points, 11):
        folder = tmp_path / str(point)
        folder.mkdir()
        try:
            with injected(Faults(point, FAULTS[point % len(FAULTS)])):
                ask(people_file, world, folder, keep=keep)
        except (pv.PointveilError, OSError, sqlite3.Error):
            if Ledger(folder / "ledger.db").accounts():
                with pytest.raises(pv.InputError, match="other settings"):  # the same name, for other columns
                    ask(people_file, world, folder, keep=pv.Category("name", ["person 1"]))
                refused += 1

        ask(people_file, world, folder, keep=keep)
        judge(folder)
        assert verify(folder / "out.csv").statement.columns[0]["values"] == list(keep.values)
    assert refused > 2


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_a_release_without_a_name_is_given_one_that_the_error_tells(
    people_file: Path, world: World, how_many: int, tmp_path: Path
) -> None:
    with pytest.raises(pv.InputError, match="stays charged") as failure, injected(Faults(how_many - 12, disk_full)):
        ask(people_file, world, tmp_path, request=None)
    name = str(failure.value).split("request='")[1].split("'")[0]

    ask(people_file, world, tmp_path, request=name)

    judge(tmp_path)


KILLED = """
import os, sys, warnings
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_crashes import Faults, ask, half_released, injected, judge
import pointveil as pv

warnings.simplefilter("ignore")
people, world, folder, points = Path(sys.argv[2]), pv.World.read(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])

def in_a_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def killed(place, point):
    with injected(Faults(point, lambda: os._exit(9))):
        ask(people, world, place)

def again(place):
    ask(people, world, place)
    judge(place)

(folder / "first").mkdir()
again(folder / "first")  # what takes long the first time, every copy has done
ended = set()
for point in range(points):
    place = folder / f"kill-{point}"
    place.mkdir()
    ended.add(in_a_child(lambda: killed(place, point)))
    assert not half_released(place), point
    assert in_a_child(lambda: again(place)) == 0, point
assert ended <= {0, 9} and 9 in ended, ended
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is killed by making a copy of it first")
def test_a_kill_at_any_point_costs_nothing_twice_and_loses_nothing(
    people_file: Path, world_file: Path, how_many: int, tmp_path: Path
) -> None:
    arguments = [str(Path(__file__).parent), str(people_file), str(world_file), str(tmp_path), str(how_many)]

    subprocess.run([sys.executable, "-c", KILLED, *arguments], check=True, timeout=300)


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_a_resumed_request_is_refused_if_the_data_have_changed(
    people_file: Path, world: World, how_many: int, tmp_path: Path
) -> None:
    source = tmp_path / "people.parquet"
    source.write_bytes(people_file.read_bytes())
    with pytest.raises(pv.InputError, match="stays charged"), injected(Faults(how_many // 2, database_error)):
        ask(source, world, tmp_path)
    pq.write_table(pq.read_table(people_file).slice(1), source)

    with pytest.raises(pv.InputError, match="not those that this request was charged for"):
        ask(source, world, tmp_path)

    source.write_bytes(people_file.read_bytes())
    ask(source, world, tmp_path)
    judge(tmp_path)


def test_kill_at_random_moments_never_leaves_an_output_without_its_charge(
    people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"
    Ledger(ledger).set_cap(people_file.name, 1000)
    command = [sys.executable, "-c", "from pointveil.cli import main; main()", "synthesize", str(people_file)]
    options = ["--world", str(world_file), "--epsilon", "1", "--ledger", str(ledger), "--quiet"]
    began = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole.csv"), *options], check=True)
    usual = time.monotonic() - began

    for number in range(KILLS):
        process = subprocess.Popen([*command, str(tmp_path / f"{number}.csv"), *options])
        time.sleep(random.Random(number).uniform(0.5, 1.0) * usual)
        process.send_signal(signal.SIGKILL)
        process.wait()

    outputs = list(tmp_path.glob("*.csv"))
    (account,) = Ledger(ledger).accounts()
    assert account.spent >= len(outputs)
    assert Ledger(ledger).verify() == []
    for output in outputs:
        assert output.read_text().endswith("\n")
        json.loads(output.with_name(f"{output.name}.statement.json").read_text())
        verify(output)
