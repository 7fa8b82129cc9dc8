"""Each command and its Python twin agree: in statement, ledger, warnings, output and errors."""

import json
import shutil
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import shapely

import pointveil as pv
from pointveil.cli import COMMANDS, EXIT_CODES, main
from pointveil.statement import SigningKey
from pointveil.synthetic import statement_path

NO_TWIN = {
    "app": "a page, which calls what the commands call",
    "demo": "a story of the other commands",
    "schema": "starts a file for --keep-file",
    "certificate": "prints a statement",
    **dict.fromkeys(("audit", "experiment"), "pointveil.lab"),
}
TWINS = {
    "world",
    "methods",
    "plan",
    "check",
    "synthesize",
    "survey",
    "draw",
    "table",
    "verify",
    "keys",
    "ledger",
    "evaluate",
}


@dataclass(frozen=True)
class Ended:
    """How a command or a call ended: exit code, the error's sentence, all warnings, and what came back."""

    code: int
    error: str
    warnings: tuple[str, ...]
    result: Any


Run = Callable[..., Ended]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Ended:
        capsys.readouterr()
        try:
            main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        lines = err.splitlines()
        error = "\n".join(line.removeprefix("Error: ") for line in lines if line.startswith("Error: "))
        warned = tuple(line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: "))
        return Ended(code, error, warned, out)

    return command


def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Ended:
    """Call the Python twin, and end as the command line would."""
    result, code, error = None, 0, ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*arguments, **options)
        except pv.PointveilError as fault:
            code, error = next(code for kind, code in EXIT_CODES if isinstance(fault, kind)), str(fault)
    assert all(issubclass(each.category, pv.PointveilWarning) for each in caught)
    assert all(each.filename == __file__ for each in caught), "a warning must point at the caller's line"
    return Ended(code, error, tuple(str(each.message) for each in caught), result)


def test_every_command_has_a_twin_or_a_reason() -> None:
    assert set(COMMANDS) == TWINS | set(NO_TWIN)


def shape(path: Path) -> dict[str, Any]:
    """Return a statement without what noise, ids and time decide."""
    content: dict[str, Any] = json.loads(statement_path(path).read_text())
    for name in ("release", "made", "digest"):
        del content[name]
    content["margins"] = sorted(content.get("margins", ()))  # worked out from the answers
    for question in content["questions"]:
        del question["cells"]  # chosen by the noisy total
    for name in ("rows", "points_sha256", "files"):
        del content["output"][name]
    del content["survey"]["answers_sha256"]
    content["people"] = (
        {key: content["people"][key] for key in ("max_points", "max_points_from", "row")}
        if "people" in content
        else None
    )
    content["signature"] = content.get("signature", {}).get("public_key")
    if content["ledger"]:
        del content["ledger"]["chain_sha256"]
    return content


def events(ledger: Path) -> list[tuple[object, ...]]:
    """Return all events of a ledger without what noise, ids and time decide."""
    if not ledger.exists():
        return []
    query = "SELECT kind, account, name, micro, exact, entry, request, purpose, output, length(survey) > 0 FROM event"
    with closing(sqlite3.connect(ledger)) as book:
        rows = [list(row) for row in book.execute(query)]
    for row in rows:
        if row[0] == "answer":
            row[7] = row[7].split()[:3]  # how many cells there are is noisy
        if str(row[6]).startswith("release-"):
            row[6] = "a name of its own"
        if row[8] is not None:
            row[8] = sorted(json.loads(row[8]))  # the number of rows is noisy
    return [tuple(row) for row in rows]


def columns(path: Path) -> object:
    return pq.read_schema(path).remove_metadata() if path.suffix == ".parquet" else path.read_text().splitlines()[0]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    both = tmp_path / "command", tmp_path / "python"
    for folder in both:
        folder.mkdir()
        pv.Ledger(folder / "ledger.db").set_cap("people.parquet", 100)
    return both


def test_table_writes_the_same(run: Run, people_file: Path, world_file: Path, folders: tuple[Path, Path]) -> None:
    first, second = folders
    pv.survey(pv.Vault.open(people_file, pv.World.read(world_file), epsilon=1, ledger=None)).write(first / "a.survey")
    areas = first / "areas.geojson"
    areas.write_text(shapely.to_geojson(shapely.box(10, 50, 10.004, 50.004)))

    command = run("table", first / "a.survey", first / "counts.csv", "--by", areas)
    python = call(pv.table, first / "a.survey", second / "counts.csv", by=areas)

    assert (command.code, python.code) == (0, 0)
    assert (first / "counts.csv").read_bytes() == (second / "counts.csv").read_bytes()
    again = run("table", first / "a.survey", first / "counts.csv", "--by", areas)
    assert (again.code, again.error) == (2, call(pv.table, first / "a.survey", first / "counts.csv", by=areas).error)


RELEASES: list[tuple[str, tuple[object, ...], dict[str, Any]]] = [
    ("out.parquet", ("--epsilon", 4), {"epsilon": 4}),
    ("out.csv", ("--method", "ugrid-uni", "--count", 50, "--seed", 3), {"method": "ugrid-uni", "count": 50, "seed": 3}),
    ("out.csv", ("--epsilon", 9, "--person", "name", "--max-points", 2), {"epsilon": 9, "person": "name", "max_points": 2}),  # noqa: E501
    ("out.csv", ("--epsilon", 9, "--person", "name", "--max-points", "auto"), {"epsilon": 9, "person": "name", "max_points": "auto"}),  # noqa: E501
    ("out.parquet", ("--method", "ugrid-uni", "--epsilon", 11), {"method": "ugrid-uni", "epsilon": 11}),
    ("out.parquet", ("--epsilon", "0.01", "--small", "-m", "ugrid-uni", "--split", "total=1/2,count=1/2"), {"epsilon": 0.01, "small": True, "method": "ugrid-uni", "split": {"total": "1/2", "count": "1/2"}}),  # noqa: E501
    ("out.parquet", ("--epsilon", 5, "--columns", "lon,lat", "--crs", "OGC:CRS84"), {"epsilon": 5, "columns": ("lon", "lat"), "crs": "OGC:CRS84"}),  # noqa: E501
    ("out.parquet", ("--method", "agrid-uni", "--split", "shape=0.3,count=7/10"), {"method": "agrid-uni", "split": {"shape": 0.3, "count": "7/10"}}),  # noqa: E501
    ("out.parquet", ("--epsilon", 3, "--dataset", "trips", "--request", "monday"), {"epsilon": 3, "dataset": "trips", "request": "monday"}),  # noqa: E501
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "arguments"), RELEASES)
@pytest.mark.parametrize("key", ["signed", "not signed"])
def test_synthesize_and_release_agree(
    name: str, options: tuple[object, ...], arguments: dict[str, Any], key: str, run: Run, people_file: Path,
    world_file: Path, folders: tuple[Path, Path],
) -> None:  # fmt: skip
    signed = key == "signed"
    if signed:
        pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
        run("keys", "new", "--quiet")
    first, second = folders
    command = run(
        "synthesize", people_file, first / name, "--world", world_file, "--epsilon", 1,
        "--ledger", first / "ledger.db", *options,
    )  # fmt: skip
    given = {"epsilon": 1, "ledger": second / "ledger.db", **arguments}
    python = call(pv.release, people_file, world_file, output=second / name, **given)

    assert (command.code, command.error, command.warnings) == (0, "", python.warnings)
    assert python.code == 0
    assert shape(first / name) == shape(second / name)
    assert bool(shape(first / name)["signature"]) == signed
    assert events(first / "ledger.db") == events(second / "ledger.db")
    assert columns(first / name) == columns(second / name)
    assert pv.verify(second / name).statement == python.result.statement


def test_a_repeated_request_agrees_and_gives_the_same_bytes(
    run: Run, people_file: Path, world_file: Path, folders: tuple[Path, Path]
) -> None:
    first, second = folders
    for name in ("a.csv", "b.csv"):
        command = run(
            "synthesize", people_file, first / name, "--world", world_file, "--epsilon", "1.5", "--request", "monday",
            "--ledger", first / "ledger.db", "--method", "ugrid-uni",
        )  # fmt: skip
        python = call(
            pv.release, people_file, world_file, epsilon=1.5, output=second / name, request="monday",
            ledger=second / "ledger.db", method="ugrid-uni",
        )  # fmt: skip
        assert command.warnings == python.warnings

    assert "answered before" in python.warnings[0]
    for folder in folders:
        assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert events(first / "ledger.db") == events(second / "ledger.db")
    again = call(
        pv.release, people_file, world_file, epsilon="3/2", output=second / "c.csv", request="monday",
        ledger=first / "ledger.db", method="ugrid-uni",
    )  # fmt: skip
    assert (second / "c.csv").read_bytes() == (first / "a.csv").read_bytes(), again.error


def test_survey_and_release_survey_agree(
    run: Run, people_file: Path, world_file: Path, folders: tuple[Path, Path]
) -> None:
    first, second = folders
    command = run(
        "survey", people_file, first / "city.survey", "--world", world_file, "--epsilon", 1, "--method", "ugrid-uni",
        "--ledger", first / "ledger.db",
    )  # fmt: skip
    python = call(
        pv.release_survey, people_file, world_file, epsilon=1, output=second / "city.survey", method="ugrid-uni",
        ledger=second / "ledger.db",
    )  # fmt: skip

    assert (command.code, command.warnings) == (0, python.warnings)
    assert events(first / "ledger.db") == events(second / "ledger.db")
    contents = []
    for folder in folders:
        with zipfile.ZipFile(folder / "city.survey") as archive:
            contents.append((archive.namelist(), json.loads(archive.read("survey.json"))))
    assert contents[0] == contents[1]
    assert pv.Survey.read(second / "city.survey").statement == python.result.statement


def test_draw_agrees_to_the_byte(run: Run, people_file: Path, world_file: Path, folders: tuple[Path, Path]) -> None:
    survey, (first, second) = folders[0] / "city.survey", folders
    call(pv.release_survey, people_file, world_file, epsilon=1, output=survey, method="ugrid-uni", ledger=None)

    command = run("draw", survey, first / "out.csv", "--seed", 7, "--count", 30)
    python = call(lambda: pv.draw(pv.Survey.read(survey), seed=7, count=30).write(second / "out.csv"))

    assert (command.code, command.warnings) == (0, python.warnings)
    for path in (Path("out.csv"), statement_path(Path("out.csv"))):
        assert (first / path).read_bytes() == (second / path).read_bytes()
    for output in (first / "nowhere" / "out.csv", first, first / "out.xyz"):
        refused = run("draw", survey, output)
        twin = call(lambda output=output: pv.draw(pv.Survey.read(survey), count=30).write(output))
        assert (refused.code, refused.error) == (twin.code, twin.error) != (0, "")


def test_verify_agrees(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    charged, free = tmp_path / "charged.csv", tmp_path / "free.csv"
    call(pv.release, people_file, world_file, epsilon=1, output=charged, method="ugrid-uni")
    call(pv.release, people_file, world_file, epsilon=1, output=free, method="ugrid-uni", ledger=None)
    ledger = pv.Ledger().path

    for path, options in ((charged, {}), (charged, {"ledger": ledger}), (free, {}), (free, {"ledger": ledger})):
        command = run("verify", path, *(("--ledger", ledger) if options else ()), "--json")
        python = call(pv.verify, path, **options)
        assert (command.code, command.error, command.warnings) == (python.code, python.error, python.warnings)
        if command.code == 0:
            told = json.loads(command.result)
            assert sorted(told["checks"] + told["caveats"]) == sorted(python.result.checks)
    assert python.code == 4
    charged.write_text(charged.read_text() + "1,1\n")
    for path in (charged, tmp_path / "missing.csv"):
        command, python = run("verify", path), call(pv.verify, path)
        assert (command.code, command.error) == (python.code, python.error) != (0, "")


def test_world_agrees(run: Run, tmp_path: Path) -> None:
    bounds, water = (10, 50, 10.02, 50.012), tmp_path / "water.geojson"
    ring = [[10.009, 49.9], [10.011, 49.9], [10.011, 50.1], [10.009, 50.1], [10.009, 49.9]]
    water.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    texts = ",".join(str(side) for side in bounds)

    command = run("world", tmp_path / "a.gpkg", f"--bounds={texts}", "--water", water, "--json")
    made = pv.World.make(bounds, out_of_bounds=water)
    made.write(tmp_path / "b.gpkg")

    assert json.loads(command.result) == json.loads(json.dumps(made.describe()))
    assert pv.World.read(tmp_path / "a.gpkg") == pv.World.read(tmp_path / "b.gpkg")
    for wrong, sides in (("1,2,1,2", (1, 2, 1, 2)), ("500,0,501,1", (500, 0, 501, 1)), ("0,0,1,1", (0, 0, 1, 1))):
        refused = run("world", tmp_path / "c.gpkg", f"--bounds={wrong}", "--water", water)
        python = call(pv.World.make, tuple(float(side) for side in sides), out_of_bounds=water)
        assert (refused.code, refused.error) == (python.code, python.error) != (0, "")


def test_ledger_agrees(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert run("ledger", "cap", "trips", "1.5", "--ledger", path).code == 0
    pv.Ledger(path).charge(dataset="trips", content=b"1", epsilon="1/2", purpose={})
    (account,) = pv.Ledger(path).accounts()

    shown = json.loads(run("ledger", "show", "--ledger", path, "--json").result)

    assert [shown[0][name] for name in ("dataset", "cap", "spent", "left", "charges")] == [
        account.name, str(account.cap), str(account.spent), str(account.left), account.charges,
    ]  # fmt: skip
    for wrong in ("much", "-1"):
        command = run("ledger", "cap", "--ledger", path, "--", "trips", wrong)
        python = call(pv.Ledger(path).set_cap, "trips", wrong)
        assert (command.code, command.error) == (python.code, python.error) != (0, "")
    assert run("ledger", "verify", "--ledger", path).code == 0
    assert run("ledger", "verify", "--ledger", path, "--anchor", "00").code == 4
    assert pv.Ledger(path).verify(["00"])


def test_keys_methods_and_the_own_ledger_agree(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
    key = tmp_path / "key.pem"
    shown = run("keys", "new", "--key", key).result.strip()

    assert SigningKey.read(key).public == shown
    command, python = run("keys", "new", "--key", key), call(SigningKey.new, key)
    assert (command.code, command.error) == (python.code, python.error) != (0, "")
    assert [row["method"] for row in json.loads(run("methods", "--json").result)] == list(pv.METHODS)

    run("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "--epsilon", 1, "--quiet")
    pv.Vault.open(people_file, pv.World.read(world_file), epsilon=2).count(*everything())
    assert [account.spent for account in pv.Ledger().accounts()] == [3]


def everything() -> tuple[Any, Any]:
    from pointveil.cells import Everywhere
    from pointveil.vault import Share

    return Everywhere(), Share("total", pv.METHODS["veil"].shares()["total"])


def test_evaluate_agrees(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    synthetic = tmp_path / "synthetic.parquet"
    call(pv.release, people_file, world_file, epsilon=1, output=synthetic, method="ugrid-uni", ledger=None)

    command = run("evaluate", people_file, synthetic, "--world", world_file, "--json")
    python = pv.evaluate(people_file, synthetic, pv.World.read(world_file))

    assert command.code == 0, command.error
    assert json.loads(command.result) == json.loads(python.to_json())
    far = tmp_path / "far.csv"
    far.write_text("lon,lat\n0,0\n")
    refused = run("evaluate", far, synthetic, "--world", world_file)
    raised = call(pv.evaluate, far, synthetic, pv.World.read(world_file))
    assert (refused.code, refused.error) == (raised.code, raised.error) != (0, "")


BAD: list[tuple[int, tuple[object, ...], dict[str, Any]]] = [
    (2, ("--epsilon", "0"), {"epsilon": "0"}),
    (2, ("--epsilon", "much"), {"epsilon": "much"}),
    (2, ("--method", "magic"), {"method": "magic"}),
    (2, ("--split", "count=2"), {"split": {"count": "2"}}),
    (2, ("--columns", "a,b"), {"columns": ("a", "b")}),
    (2, ("--crs", "nowhere"), {"crs": "nowhere"}),
    (2, ("--max-points", 3), {"max_points": 3}),
    (2, ("--person", "name", "--max-points", 0), {"person": "name", "max_points": 0}),
    (2, ("--person", "nobody"), {"person": "nobody"}),
    (2, ("--noise", "none"), {"noise": "none"}),
    (2, ("--count", -1), {"count": -1}),
    (2, ("--seed", -1), {"seed": -1}),
    (2, ("--dataset", " "), {"dataset": " "}),
    (2, ("--request", ""), {"request": ""}),
    (2, ("--key", "missing.pem"), {"key": "missing.pem"}),
    (3, ("--epsilon", "99"), {"epsilon": 99, "dataset": None}),
]


@pytest.mark.parametrize(("code", "options", "arguments"), BAD)
def test_bad_input_is_refused_in_the_same_words_and_nothing_is_charged(
    code: int, options: tuple[object, ...], arguments: dict[str, Any], run: Run, people_file: Path, world_file: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    ledgers = tmp_path / "a.db", tmp_path / "b.db"
    base = ("synthesize", people_file, tmp_path / "out.csv", "--world", world_file, "--ledger", ledgers[0])
    command = run(*base, *(() if "--epsilon" in options else ("--epsilon", 1)), *options)
    given = {"epsilon": 1, "ledger": ledgers[1], **arguments}
    python = call(pv.release, people_file, world_file, output=tmp_path / "out.csv", **given)

    assert (command.code, command.error.replace("a.db", "b.db")) == (python.code, python.error)
    assert command.code == code
    assert command.error
    assert not (tmp_path / "out.csv").exists()
    assert events(ledgers[0]) == events(ledgers[1])
    assert not [event for event in events(ledgers[0]) if event[0] == "charge"]


def test_bad_files_are_refused_in_the_same_words(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(people_file.read_bytes()[:-100])
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "points.xyz").write_text("1 2")
    shutil.copy(people_file, tmp_path / "own.parquet")
    good = tmp_path / "out.csv"
    cases = [
        *((tmp_path / name, good, world_file) for name in ("cut.parquet", "empty.csv", "points.xyz", "missing.csv")),
        (tmp_path, good, world_file),
        *((people_file, output, world_file) for output in (tmp_path, tmp_path / "out.xyz", tmp_path / "no" / "a.csv")),
        (tmp_path / "own.parquet", tmp_path / "own.parquet", world_file),
        (people_file, good, tmp_path / "missing.gpkg"),
        (people_file, good, people_file),
    ]
    for source, output, world in cases:
        command = run("synthesize", source, output, "--world", world, "--epsilon", 1)
        python = call(pv.release, source, world, epsilon=1, output=output)
        assert (command.code, command.error) == (python.code, python.error)
        assert command.code == 2
        assert not pv.Ledger().accounts()
