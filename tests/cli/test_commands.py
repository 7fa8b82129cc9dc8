"""The command line: its words are a contract, its errors are clear, its exit codes exact."""

import errno
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import pointveil
from pointveil.cli import COMMANDS, main
from pointveil.cli.common import stage

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            main([str(argument) for argument in arguments])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command


def test_help_is_quick_because_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "pyarrow", "shapely", "pydantic")
    code = f"import sys; from pointveil.cli import app; print([m for m in {heavy} if m in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert loaded.strip() == "[]"


def test_the_verbs_of_the_library_are_commands() -> None:
    for verb in ("survey", "draw", "synthesize", "verify"):
        assert verb in COMMANDS
        assert verb in pointveil.__all__


def test_a_release_from_file_to_file(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    output = tmp_path / "synthetic.parquet"

    code, out, err = run("synthesize", people_file, output, "--world", world_file, "--epsilon", 1)

    assert code == 0, err
    assert out == ""
    assert err.count("Left out of the synthetic file: name") == 1
    assert pq.read_table(output).column_names == ["lon", "lat"]
    assert (tmp_path / "synthetic.parquet.statement.json").exists()
    assert run("verify", output)[0] == 0
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_quiet_leaves_only_warnings_and_json_says_all(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    base = ("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "--epsilon", "3/2")

    code, out, err = run(*base, "--quiet")
    assert (code, out) == (0, "")
    assert [line.split(":")[:2] for line in err.splitlines()] == [["Warning", " Left out of the synthetic file"]]
    code, out, _ = run(*base, "--json", "--quiet", "--force")

    assert code == 0
    assert json.loads(out)["statement"]["guarantee"]["epsilon"] == "3/2"


def test_survey_then_draw(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    survey, first, again = tmp_path / "city.survey", tmp_path / "a.csv", tmp_path / "b.csv"

    assert run("survey", people_file, survey, "--world", world_file, "--epsilon", 1)[0] == 0
    assert run("draw", survey, first, "--seed", 7)[0] == 0
    assert run("draw", survey, again, "--seed", 7, "--count", 100)[0] == 0

    assert len(again.read_text().splitlines()) == 101
    assert first.read_text().splitlines()[0] == "lon,lat"


def test_axes_delimiter_and_names_stay(run: Run, world_file: Path, people: np.ndarray, tmp_path: Path) -> None:
    source = tmp_path / "odd.csv"
    table = pa.table({"Breite": people[:, 1], "id": np.arange(len(people)), "Länge": people[:, 0]})
    pa_csv.write_csv(table, source, pa_csv.WriteOptions(delimiter=";"))

    code, _, err = run(
        "synthesize", source, tmp_path / "out.csv", "--world", world_file, "--epsilon", 1, "--columns", "Länge,Breite"
    )

    assert code == 0, err
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == "Breite;Länge"
    assert lines[1].startswith("50.0")


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--epsilon", "0"), 2, "epsilon must"),
        (("--epsilon", "1", "--method", "magic"), 2, "There is no method 'magic'"),
        (("--epsilon", "1", "--split", "count"), 2, "--split needs"),
        (("--epsilon", "1", "--split", "count=2"), 2, "at most 1"),
        (("--epsilon", "1", "--columns", "lon"), 2, "--columns needs"),
        (("--epsilon", "1", "--columns", "a,b"), 2, "a"),
        (("--epsilon", "1", "--max-points", "3"), 2, "--max-points (max_points=) needs --person (person=)"),
        (("--epsilon", "1", "--person", "nobody"), 2, "nobody"),
        (("--epsilon", "1", "--noise", "none"), 2, "noise must be"),
        (("--epsilon", "11"), 3, "cap"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written_or_charged(
    options: tuple[str, ...], code: int, says: str, run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    output, ledger = tmp_path / "out.parquet", tmp_path / "ledger.db"

    ended, _, err = run("synthesize", people_file, output, "--world", world_file, "--ledger", ledger, *options)

    assert ended == code
    assert says in err
    assert not output.exists()
    assert all(row["spent"] == "0" for row in json.loads(run("ledger", "show", "--ledger", ledger, "--json")[1]))


def test_bad_files_are_named(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    truncated = tmp_path / "cut.parquet"
    truncated.write_bytes(people_file.read_bytes()[:-100])
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "points.xyz").write_text("1 2")
    common = ("--world", world_file, "--epsilon", "1")

    for source in (truncated, tmp_path / "empty.csv", tmp_path / "points.xyz", tmp_path / "missing.csv", tmp_path):
        code, _, err = run("synthesize", source, tmp_path / "out.csv", *common)
        assert code == 2
        assert source.name in err
        assert "Traceback" not in err
    for output in (tmp_path / "nowhere" / "out.csv", tmp_path, tmp_path / "out.xyz", people_file):
        code, _, err = run("synthesize", people_file, output, *common)
        assert code == 2
        assert output.name in err
    assert not (tmp_path / "out.csv").exists()


def test_a_full_ledger_refuses_and_says_what_is_left(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    ledger = ("--ledger", tmp_path / "ledger.db")
    assert run("ledger", "cap", people_file.name, "1.5", *ledger)[0] == 0
    base = ("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "--epsilon", "1", *ledger)
    assert run(*base)[0] == 0

    code, _, err = run(*base, "--force")

    assert code == 3
    assert "0.5" in err
    assert run("ledger", "verify", *ledger)[0] == 0


def test_a_repeated_request_gives_the_same_release_at_no_cost(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    ledger = ("--ledger", tmp_path / "ledger.db")
    base = ("--world", world_file, "--epsilon", "1", *ledger, "--request", "monday")

    assert run("synthesize", people_file, tmp_path / "a.csv", *base)[0] == 0
    assert run("synthesize", people_file, tmp_path / "b.csv", *base)[0] == 0
    code, _, err = run("synthesize", people_file, tmp_path / "c.csv", *base[:2], "--epsilon", "2", *base[4:])

    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert code == 2
    assert "monday" in err
    assert json.loads(run("ledger", "show", *ledger, "--json")[1])[0]["spent"] == "1"


def test_every_command_that_writes_refuses_a_file_that_exists_unless_told(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    survey, points, taken = tmp_path / "a.survey", tmp_path / "a.csv", tmp_path / "taken.csv"
    public, release = ("--world", world_file), ("--epsilon", 1, "--method", "ugrid-uni", "--quiet")
    assert run("survey", people_file, survey, *public, *release)[0] == 0
    assert run("draw", survey, points, "--quiet")[0] == 0
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "mine.txt").write_text("mine")
    commands: list[tuple[object, ...]] = [
        ("synthesize", people_file, taken, *public, *release),
        ("survey", people_file, taken, *public, *release),
        ("draw", survey, taken, "--quiet"),
        ("evaluate", people_file, points, *public, "--report", taken, "--quiet"),
        ("evaluate", people_file, points, *public, "--release-report", taken, "--quiet"),
        ("world", tmp_path / "taken.gpkg", "--bounds=10,50,10.02,50.012", "--quiet"),
        ("audit", "--table", taken, "--runs", 20, "--method", "ugrid-uni"),
        ("audit", "--picture", taken, "--runs", 20, "--method", "ugrid-uni"),
        ("demo", tmp_path / "demo"),
        *([("keys", "new", "--key", taken)] if find_spec("cryptography") else []),
    ]
    for name in ("taken.csv", "taken.gpkg"):
        (tmp_path / name).write_text("mine")

    for command in commands:
        code, _, err = run(*command)
        assert code == 2, command
        assert "exist" in err or "has files in it" in err or "There is a key" in err
        assert taken.read_text() == "mine"
    for command in (*commands[:3], commands[5]):
        assert run(*command, "--force")[0] == 0
        assert taken.read_bytes() != b"mine"


def test_the_ledger_shows_names_as_they_are(run: Run, tmp_path: Path) -> None:
    names = ["trips[v2].csv", "[/x]", "[red]a[/red]"]
    for name in names:
        assert run("ledger", "cap", name, "1", "--ledger", tmp_path / "ledger.db")[0] == 0

    code, out, _ = run("ledger", "show", "--ledger", tmp_path / "ledger.db")

    assert code == 0
    assert all(name in out for name in names)


@pytest.mark.parametrize("command", ["synthesize", "survey"])
def test_an_empty_file_of_points_stops_the_release_for_one_per_cent_unless_told(
    command: str, run: Run, world_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pointveil.releases.is_noise", lambda _: True)
    (tmp_path / "nobody.csv").write_text("lon,lat\n")
    base = (command, tmp_path / "nobody.csv", tmp_path / "out.csv", "--world", world_file, "--epsilon", 1)

    code, out, err = run(*base)

    assert (code, out) == (5, "")  # a false alarm in a thousand: exp(-3 √2) / 2 is 0.7 %, of totals below
    assert "Epsilon 0.01 stays charged to 'nobody.csv'; the rest was given back." in err
    assert "--small" in err
    assert not list(tmp_path.glob("out.csv*"))
    assert json.loads(run("ledger", "show", "--json")[1])[0]["spent"] == "1/100"
    assert run("ledger", "verify")[0] == 0
    code, _, err = run(*base, "--small")
    assert code == 0, err
    assert (tmp_path / "out.csv").exists()


def test_a_world_is_made_from_public_files(run: Run, tmp_path: Path) -> None:
    water = '{"type":"Polygon","coordinates":[[[10.009,49.9],[10.011,49.9],[10.011,50.1],[10.009,50.1],[10.009,49.9]]]}'
    (tmp_path / "water.geojson").write_text(water)

    code, out, err = run(
        "world", tmp_path / "w.gpkg", "--bounds=10,50,10.02,50.012", "--water", tmp_path / "water.geojson", "--json"
    )

    assert code == 0, err
    assert 0.89 < json.loads(out)["land_share"] < 0.91
    assert run("world", tmp_path / "v.gpkg")[0] == 2
    assert run("world", tmp_path / "v.gpkg", "--bounds=1,2,3")[0] == 2


def test_methods_are_listed(run: Run) -> None:
    rows = json.loads(run("methods", "--json")[1])

    assert {row["method"] for row in rows} == set(pointveil.METHODS)
    assert run("methods")[0] == 0


def test_an_unforeseen_fault_shows_no_text_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    monkeypatch.delenv("POINTVEIL_DEBUG", raising=False)

    def fail(*_: object, **__: object) -> None:
        raise KeyError("a secret at 10.0041, 50.0032")

    monkeypatch.setattr("pointveil.releases.to_lattice", fail)

    code, out, err = run("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "--epsilon", 1)

    assert code == 1
    assert "KeyError" in err
    assert "secret" not in out + err
    assert "Epsilon 1 stays charged to 'people.parquet'. The same again with --request release-" in err


def test_only_our_own_warnings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with stage("Working", quiet=False):
            warnings.warn("a secret at 10.0041, 50.0032", RuntimeWarning, stacklevel=1)
            warnings.warn("the map is coarse", pointveil.PointveilWarning, stacklevel=1)

    assert capsys.readouterr().err == "Warning: the map is coarse\n"


def test_on_a_terminal_the_steps_of_a_release_are_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    _, _, err = run("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "--epsilon", 1)

    assert "Writing" in err  # the last step; how many others are seen is a matter of time
    assert not logging.getLogger("pointveil").handlers


@pytest.mark.usefixtures("rough_margins")
def test_the_demo_runs(run: Run, tmp_path: Path) -> None:
    code, out, err = run("demo", tmp_path / "demo", "--json")

    assert code == 0, err
    told = json.loads(out)
    assert {result["method"] for result in told["results"]} == set(pointveil.METHODS)
    hours, _, kinds = told["columns"]
    assert [hours["column"], kinds["column"]] == ["time, time of day", "kind"]
    assert all(2 * made["profile"] < 1.5 * made["profile_without_place"] for made in (hours, kinds))
    pytest.importorskip("matplotlib", reason="the picture needs the extra figures")
    for picture in ("real-beside-synthetic", "kept-columns"):
        assert (tmp_path / "demo" / f"{picture}.png").stat().st_size > 50_000


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_demo_with_a_file_in_its_way_is_refused(inside: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")

    code, _, err = run("demo", tmp_path / "demo" / inside)

    assert code == 2
    assert "a file is in the way" in err


def test_few_people_for_the_epsilon_are_told_of_a_coarse_map(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    notes = []
    for epsilon in ("1/100", "2"):
        code, out, err = run(
            "synthesize", people_file, tmp_path / "out.parquet", "-w", world_file, "--epsilon", epsilon, "--force",
            "--small",
        )  # fmt: skip
        assert code == 0, err
        notes.append("The map is coarse" in out + err)

    assert notes == [True, False]


def test_what_verify_leaves_open_is_marked(run: Run, people_file: Path, world_file: Path, tmp_path: Path) -> None:
    release = tmp_path / "out.parquet"
    run("synthesize", people_file, release, "--world", world_file, "--epsilon", "1", "--method", "ugrid-uni")
    Path(f"{release}.statement.json").unlink()

    code, out, err = run("verify", release)

    assert code == 0, err
    assert [
        line.split()[0] for line in (out + err).splitlines() if "not every byte" in line or "not signed" in line
    ] == [
        "!",
        "!",
    ]


def test_check_costs_nothing_and_its_exit_code_says_whether_a_release_would_be_made(
    run: Run, people_file: Path, world_file: Path
) -> None:
    code, out, err = run("check", people_file, "--world", world_file)
    refused, listed, _ = run("check", people_file, "--world", world_file, "--columns", "lat,lon", "--json")

    assert (code, out) == (0, "")
    assert "parquet with x = lon, y = lat, in EPSG:4326" in err
    assert (refused, json.loads(listed)["ok"]) == (2, False)
    assert run("check", people_file, "--world", world_file, "--quiet")[2].count("\n") == 1  # the warning alone
    assert json.loads(run("ledger", "show", "--json")[1]) == []


def test_survey_takes_all_that_synthesize_takes_but_for_drawing() -> None:
    import typer

    from pointveil.cli import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    taken = {name: {parameter.name for parameter in commands[name].params} for name in ("synthesize", "survey")}

    assert taken["synthesize"] - taken["survey"] == {"count", "seed"}
    assert taken["survey"] <= taken["synthesize"]


def test_the_log_says_who_when_what_and_what_became_of_it(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nobody.csv").write_text("lon,lat\n")
    ledger = ("--ledger", tmp_path / "ledger.db")
    base = ("--world", world_file, "--epsilon", "1", "--method", "ugrid-uni", *ledger)
    said = (
        "--owner",
        "Transport office",
        "--purpose",
        "bus stops",
        "--period",
        "2026-03-01/2026-03-31",
        "--note",
        "[a]",
    )
    assert run("synthesize", people_file, tmp_path / "a.csv", *base, *said, "--cap", "4")[0] == 0
    people = ("--person", "name", "--max-points", "1")
    assert run("synthesize", people_file, tmp_path / "b.csv", *base, *people)[0] == 0
    monkeypatch.setattr("pointveil.releases.is_noise", lambda _: True)
    assert run("synthesize", tmp_path / "nobody.csv", tmp_path / "c.csv", *base)[0] == 5

    first, second, third = json.loads(run("ledger", "log", *ledger, "--json")[1])

    assert (first["dataset"], first["unit"], first["epsilon"], first["state"]) == (
        people_file.name,
        "point",
        "1",
        "finished",
    )
    assert first["output"] == "a.csv"
    assert first["left_out"] == ["name"]
    assert first["about"]["owner"] == "Transport office"
    assert first["about"]["by"]
    assert second["unit"] == "person (at most 1 points)"
    assert (third["state"], third["epsilon"], third["output"]) == ("stopped", "1/100", "")
    account, _ = json.loads(run("ledger", "show", *ledger, "--json")[1])
    assert account["by_unit"] == {"person": "1", "point": "1"}
    assert (account["cap"], account["spent"]) == ("4", "2")
    assert run("ledger", "log", "nobody.csv", *ledger)[0] == run("ledger", "show", *ledger)[0] == 0
    shown = run("ledger", "log", *ledger)[1]
    for line in (
        "epsilon 1 for people.parquet, finished",
        "epsilon 0.01 for nobody.csv, stopped",
        "output: a.csv",
        "note: [a]",
    ):
        assert line in shown
    statement = json.loads((tmp_path / "a.csv.statement.json").read_text())
    assert statement["operator_states"]["period"] == "2026-03-01/2026-03-31"
    assert "operator_states" not in json.loads((tmp_path / "b.csv.statement.json").read_text())
    assert run("verify", tmp_path / "a.csv", *ledger)[0] == run("verify", tmp_path / "b.csv")[0] == 0


def test_a_cap_is_for_the_first_release_and_what_is_left_under_the_name_is_told(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    base = (
        "synthesize",
        people_file,
        tmp_path / "a.csv",
        "--world",
        world_file,
        "-e",
        "2",
        "-m",
        "ugrid-uni",
        "--force",
    )

    assert [run(*base, "--cap", cap)[0] for cap in ("1", "much")] == [3, 2]  # and it is as if nothing had been said
    assert json.loads(run("ledger", "show", "--json")[1]) == []
    _, _, first = run(*base, "--cap", "3")
    code, _, second = run(*base, "--cap", "9")

    assert "Spent under the name 'people.parquet' so far: epsilon 2; 1 of 3 is left." in first
    assert code == 3
    assert "keeps its cap" in second


def test_after_a_release_only_the_sum_under_its_own_name_is_told(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    base = ("--world", world_file, "-e", "0.5", "-m", "ugrid-uni", "--force")
    run("synthesize", people_file, tmp_path / "a.csv", *base, "--cap", "2")

    _, _, told = run("synthesize", people_file, tmp_path / "b.csv", *base, "--dataset", "copy")

    assert "Spent under the name 'copy' so far: epsilon 0.5; 2.5 of 3 is left." in told
    assert [account["spent"] for account in json.loads(run("ledger", "show", "--json")[1])] == ["1"]

    _, _, told = run("synthesize", people_file, tmp_path / "b.csv", *base, "--dataset", "copy", "--cap", "7")

    # The account has a cap of 2, which would tell that somebody released the same content under another name.
    assert "'copy' keeps its cap of 3." in told


def test_a_cap_for_a_name_that_was_never_charged_is_set_and_the_name_that_was_meant_is_asked_about(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    base = ("--world", world_file, "-e", "0.5", "-m", "ugrid-uni")
    assert "Nothing was charged" not in run("ledger", "cap", "people.parquet", "2")[2]  # the first of all
    run("synthesize", people_file, tmp_path / "a.csv", *base)

    code, _, told = run("ledger", "cap", "peple.parquet", "5")

    assert code == 0
    assert "Nothing was charged under this name so far. Did you mean 'people.parquet'?" in told
    assert "Nothing was charged" not in run("ledger", "cap", "people.parquet", "4")[2]


def test_a_ledger_or_a_name_under_which_nothing_was_charged_is_said_to_be_empty(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    run("synthesize", people_file, tmp_path / "a.csv", "--world", world_file, "-e", "1", "-m", "ugrid-uni")

    for command in ("show", "log"):
        code, out, told = run("ledger", command, "--ledger", tmp_path / "other.db")
        assert (code, out) == (0, "")
        assert f"The ledger {tmp_path / 'other.db'} has nothing to show." in told
        assert not (tmp_path / "other.db").exists()
    meant = "has no charge under the name 'peple.parquet'. Did you mean 'people.parquet'?"
    assert meant in run("ledger", "log", "peple.parquet")[2]
    assert "nothing to show" not in run("ledger", "log", "people.parquet")[2]


def test_the_log_says_with_which_charge_two_datasets_became_one(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    base = ("--world", world_file, "-e", "0.5", "-m", "ugrid-uni", "--force")
    run("synthesize", people_file, tmp_path / "a.csv", *base)
    run("synthesize", people_file, tmp_path / "b.csv", *base, "--dataset", "copy", "--cap", "9")

    assert "one account since then: people.parquet, copy" in run("ledger", "log", "copy")[1]
    assert [entry["joined"] for entry in json.loads(run("ledger", "log", "--json")[1])] == [
        [],
        ["people.parquet", "copy"],
    ]
    (account,) = json.loads(run("ledger", "show", "--json")[1])
    assert [account["aliases"], account["cap"], account["spent"]] == [["copy"], "3", "1"]
    assert run("ledger", "verify")[0] == 0


def test_who_sits_at_a_terminal_is_asked_for_the_cap_once(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(question: str, **_: object) -> str:
        asked.append(question)
        return "5"

    monkeypatch.setattr("typer.prompt", answer)
    base = (
        "synthesize",
        people_file,
        tmp_path / "a.csv",
        "--world",
        world_file,
        "-e",
        "1",
        "-m",
        "ugrid-uni",
        "--force",
    )
    assert run(*base, "--dataset", "other")[0] == 0
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    for _ in range(2):
        assert run(*base, "--quiet")[0] == 0

    assert len(asked) == 1
    (account,) = json.loads(run("ledger", "show", "--json")[1])  # the same data: one account, with the lower cap
    assert [account["dataset"], account["aliases"], account["cap"]] == ["other", ["people.parquet"], "3"]
    assert pointveil.Ledger().named_cap("people.parquet") == 5


def test_a_period_that_ends_before_it_starts_is_refused(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    code, _, err = run(
        "synthesize", people_file, tmp_path / "a.csv", "-w", world_file, "-e", 1, "--period", "2026-03-31/2026-03-01"
    )

    assert code == 2
    assert "ends before it starts" in err


def test_a_disk_that_fails_is_told_with_its_file_and_exits_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its kind and the name of the file alone: the text of an error may quote what was read."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO) + " near 24.95, 60.17", "folder/trips.csv")

    monkeypatch.setattr("pointveil.cli.app", fail)

    with pytest.raises(SystemExit) as stopped:
        main([])

    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Input/output error (trips.csv)" in said
    assert "24.95" not in said


def test_a_failure_whose_number_is_a_text_is_told_by_its_kind_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python takes the first of two words for the number, whatever it is."""

    def fail(*_: object) -> None:
        raise OSError("near 24.95", "60.17")

    monkeypatch.setattr("pointveil.cli.app", fail)

    with pytest.raises(SystemExit) as stopped:
        main([])

    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "could not be used: OSError." in said
    assert "24.95" not in said


def test_the_command_line_is_a_module_too() -> None:
    done = subprocess.run([sys.executable, "-m", "pointveil", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("pointveil ")
