"""pointveil evaluate: a table for people, JSON for machines, pages on demand, and clear words for bad input."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pyproj
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.cli import main
from pointveil.columns import Category, Time
from pointveil.evaluation import BANNER, MEASURES, evaluate
from pointveil.files.crs import transform
from pointveil.releases import synthesize
from pointveil.vault import Vault
from pointveil.world import World

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "140")

    def command(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            main(["evaluate", *(str(argument) for argument in arguments)])
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="module")
def release(people_file: Path, world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release") / "synthetic.parquet"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", seed=2).write(path)
    return path


def write(path: Path, lonlat: NDArray[np.float64]) -> Path:
    pq.write_table(pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1]}), path)
    return path


def test_the_table_begins_with_the_banner_and_names_every_measure(
    run: Run, people_file: Path, release: Path, world_file: Path
) -> None:
    code, out, err = run(people_file, release, "--world", world_file)

    assert code == 0, err
    assert out.startswith(BANNER.upper())
    assert "in the right 100 m square" in out
    for name in ("nce_shifted", "medd", "range", "hotspots", "copied"):
        assert name in out


def test_json_is_for_machines(run: Run, people_file: Path, release: Path, world_file: Path) -> None:
    code, out, _ = run(people_file, release, "--world", world_file, "--json")

    content = json.loads(out)
    assert code == 0
    assert content["banner"] == BANNER
    assert set(content["measures"]) | set(content["not_measured"]) == {
        name for name, row in MEASURES.items() if row.always
    }


def test_both_pages_are_written_and_told_apart(
    run: Run, people_file: Path, release: Path, world_file: Path, tmp_path: Path
) -> None:
    report, page = tmp_path / "report.html", tmp_path / "release.html"

    code, _, err = run(
        people_file, release, "--world", world_file, "--report", report, "--release-report", page, "--json"
    )

    assert code == 0, err
    assert BANNER in report.read_text()
    assert BANNER not in page.read_text()
    assert '"real"' not in page.read_text().split('id="data">')[1].split("</script>")[0]


def test_a_release_for_another_world_is_told(
    run: Run, people_file: Path, release: Path, world: World, world_file: Path, tmp_path: Path
) -> None:
    west, south, east, north = world.boundary.bounds
    World.make((west - 0.001, south, east, north)).write(tmp_path / "wider.gpkg")

    told = [run(people_file, release, "--world", place)[2] for place in (world_file, tmp_path / "wider.gpkg")]

    assert ["was made for another world" in text for text in told] == [False, True]


def test_no_page_for_a_release_is_made_of_other_points(
    run: Run, people_file: Path, release: Path, world_file: Path, tmp_path: Path
) -> None:
    """Real points in the place of a release, with its statement still beside them, get no page to share."""
    swapped, page = tmp_path / release.name, tmp_path / "page.html"
    swapped.with_name(f"{release.name}.statement.json").write_bytes(
        release.with_name(f"{release.name}.statement.json").read_bytes()
    )
    write(swapped, np.array([[10.005, 50.005], [10.006, 50.004]]))

    code, _, err = run(people_file, swapped, "--world", world_file, "--release-report", page)

    assert code == 2
    assert "no valid statement" in err
    assert not page.exists()


def test_files_in_different_coordinate_systems_are_compared_in_the_worlds(
    run: Run, people_file: Path, people: NDArray[np.float64], world_file: Path, tmp_path: Path
) -> None:
    east, north = pyproj.Transformer.from_crs(4326, 32632, always_xy=True).transform(*people.T)
    copy = tmp_path / "copy.geojson"
    features = [
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [x, y]}}
        for x, y in zip(east, north, strict=True)
    ]
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32632"}}
    copy.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": features}))

    code, out, err = run(people_file, copy, "--world", world_file, "--json")

    assert code == 0, err
    values = json.loads(out)["measures"]
    # Those in the river are left out of the real ones only.
    assert values["nce_100"]["value"] < 0.06
    assert values["copied"]["value"] > 0.9


def test_synthetic_points_elsewhere_are_refused_and_not_scored(
    run: Run, people_file: Path, people: NDArray[np.float64], world_file: Path, tmp_path: Path
) -> None:
    elsewhere = write(tmp_path / "elsewhere.parquet", people + 5)

    code, out, err = run(people_file, elsewhere, "--world", world_file, "--json")

    assert (code, out) == (2, "")
    assert "No point of elsewhere.parquet is within this world" in err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_and_crs_of_the_synthetic_file_come_from_its_statement(
    suffix: str, run: Run, people: NDArray[np.float64], world: World, world_file: Path, tmp_path: Path
) -> None:
    metres = transform("EPSG:4326", "EPSG:32632")(people)
    private = tmp_path / f"private{suffix}"
    table = pa.table({"rechts": metres[:, 0], "hoch": metres[:, 1]})
    (pa_csv.write_csv if suffix == ".csv" else pq.write_table)(table, private)
    said: dict[str, Any] = {"columns": ("rechts", "hoch"), "crs": "EPSG:32632"}
    output = tmp_path / f"synthetic{suffix}"
    synthesize(Vault.open(private, world, epsilon=10, ledger=None, **said), "ugrid-uni", seed=2).write(output)
    page = tmp_path / "release.html"
    given = ("--columns", "rechts,hoch", "--crs", "EPSG:32632", "--release-report", page)

    code, out, err = run(private, output, "--world", world_file, "--json", *given)

    assert code == 0, err
    assert json.loads(out)["measures"]["nce_500"]["value"] < 1
    assert page.exists()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_kept_columns_are_compared_as_the_statement_declares_them(
    suffix: str, run: Run, people: NDArray[np.float64], world: World, world_file: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(4)
    when = np.datetime64("2026-06-01", "s") + rng.integers(0, 86_400 * 3, len(people))
    kind = np.where(people[:, 0] > np.median(people[:, 0]), "tram", "bus")
    kind[:100] = "balloon"
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1], "when": when, "kind": kind.tolist()})
    private, output = tmp_path / f"private{suffix}", tmp_path / f"synthetic{suffix}"
    (pa_csv.write_csv if suffix == ".csv" else pq.write_table)(table, private)
    keep = (Time("when", "2026-06-01/2026-06-04"), Category("kind", ("bus", "tram"), other="drop"))
    synthesize(Vault.open(private, world, epsilon=10, ledger=None, keep=keep), seed=2).write(output)

    code, out, err = run(
        private,
        output,
        "--world",
        world_file,
        "--json",
        "--report",
        tmp_path / "r.html",
        "--release-report",
        tmp_path / "s.html",
    )

    assert code == 0, err
    told = json.loads(out)
    assert told["real_left_out"] >= 100
    kinds = told["measures"]["profile: kind"]
    assert kinds["value"] < 0.1 < kinds["without_place"]
    assert "two_columns: when, time of day × kind" in told["measures"]
    assert '"clock": true' in (tmp_path / "s.html").read_text()
    assert json.loads(out) == evaluate(private, output, World.read(world_file)).to_dict()


def test_an_empty_synthetic_file_says_why_numbers_are_missing(
    run: Run, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    empty = write(tmp_path / "empty.parquet", np.zeros((0, 2)))

    code, out, err = run(people_file, empty, "--world", world_file, "--report", tmp_path / "report.html")

    assert code == 0, err
    assert "empty.parquet has no points" in err
    assert "needs at least one synthetic point" in " ".join(out.split())
    assert (tmp_path / "report.html").exists()


def test_one_point_is_compared(
    run: Run, people_file: Path, people: NDArray[np.float64], world_file: Path, tmp_path: Path
) -> None:
    one = write(tmp_path / "one.parquet", people[:1])

    code, _, err = run(people_file, one, "--world", world_file, "--report", tmp_path / "report.html", "--json")

    assert code == 0, err


def test_without_roads_medd_says_why_it_is_not_there(
    run: Run, people_file: Path, release: Path, plain_world: World, tmp_path: Path
) -> None:
    plain_world.write(tmp_path / "plain.gpkg")

    code, out, _ = run(people_file, release, "--world", tmp_path / "plain.gpkg")

    assert code == 0
    assert "MEDD needs roads in the world" in " ".join(out.split())


def test_real_points_of_another_place_are_refused(
    run: Run, people: NDArray[np.float64], release: Path, world_file: Path, tmp_path: Path
) -> None:
    wrong = write(tmp_path / "wrong.parquet", people + 5)

    code, _, err = run(wrong, release, "--world", world_file)

    assert code == 2
    assert "No point of wrong.parquet is on land in this world" in err


def test_a_report_never_replaces_the_private_file(run: Run, people_file: Path, release: Path, world_file: Path) -> None:
    code, _, err = run(people_file, release, "--world", world_file, "--report", people_file)

    assert code == 2
    assert "is the private file itself" in err


def test_no_page_for_a_release_without_a_statement(
    run: Run, people_file: Path, people: NDArray[np.float64], world_file: Path, tmp_path: Path
) -> None:
    plain = write(tmp_path / "plain.parquet", people)

    code, _, err = run(people_file, plain, "--world", world_file, "--release-report", tmp_path / "page.html")

    assert code == 2
    assert "no valid statement" in err
    assert not (tmp_path / "page.html").exists()


def test_a_terminal_shows_which_measure_is_being_worked_out(
    run: Run, people_file: Path, release: Path, world_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    _, _, shown = run(people_file, release, "--world", world_file)
    _, _, quiet = run(people_file, release, "--world", world_file, "--quiet")

    assert "Measuring: " in shown
    assert f"/{sum(row.always for row in MEASURES.values())}" in shown
    assert not quiet


def test_the_command_and_the_function_agree(run: Run, people_file: Path, release: Path, world_file: Path) -> None:
    _, out, _ = run(people_file, release, "--world", world_file, "--json", "--seed", 5)

    assert json.loads(out) == evaluate(people_file, release, World.read(world_file), seed=5).to_dict()


def test_the_page_for_a_release_is_made_without_opening_the_private_file(
    run: Run, release: Path, world_file: Path, tmp_path: Path
) -> None:
    real = tmp_path / "real.parquet"
    real.write_bytes(b"not to be read")

    code, _, _ = run(real, release, "--world", world_file, "--release-report", tmp_path / "page.html")

    assert code != 0
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("option", ["--report", "--release-report"])
def test_a_report_that_is_no_page_is_refused(
    option: str, run: Run, people_file: Path, release: Path, world_file: Path, tmp_path: Path
) -> None:
    code, _, err = run(people_file, release, "--world", world_file, option, tmp_path / "r.pdf")

    assert code == 2
    assert "name it .html, not r.pdf" in err


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".gpkg", ".geojson"])
def test_what_synthesize_wrote_is_read_with_and_without_its_statement(
    suffix: str, people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    real, synthetic = tmp_path / "odd.csv", tmp_path / f"synthetic{suffix}"
    lines = [f"{y},{x}" for x, y in people]
    real.write_text("\n".join(["Breite,Länge", *lines]), encoding="utf-8")
    columns = ("Länge", "Breite")
    pv.release(
        real, world, epsilon=5, cap=5, output=synthetic, columns=columns, crs="EPSG:4326", method="ugrid-uni", seed=1
    )

    with_statement = pv.evaluate(real, synthetic, world, columns=columns)
    Path(f"{synthetic}.statement.json").unlink()
    without = pv.evaluate(real, synthetic, world, columns=columns)

    assert with_statement.values == without.values


def test_files_that_do_not_belong_together_are_refused(world: World) -> None:
    rng = np.random.default_rng(1)
    west, east = (rng.normal((x, 50.006), 0.0005, (500, 2)) for x in (10.002, 10.018))

    with pytest.raises(pv.InputError, match="cannot belong together"):
        pv.evaluate(west, east, world)
    assert pv.evaluate(west, np.concatenate([west[:50], east]), world)
