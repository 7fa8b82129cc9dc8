"""A certificate is one page that says who is protected, how much, by whom and why; and it is checked first."""

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.cli import main
from pointveil.cli.certificate import BROWSERS
from pointveil.world import World


def run(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def release(people: NDArray[np.float64], world: World, tmp_path: Path) -> Path:
    source, output = tmp_path / "trips.parquet", tmp_path / "synthetic.csv"
    pq.write_table(pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": np.arange(len(people))}), source)
    options = {"epsilon": 2, "method": "ugrid-uni", "ledger": tmp_path / "ledger.db", "key": None, "cap": 9}
    said = {"owner": "Transport <office>", "purpose": "bus stops", "period": "2026-03"}
    pv.release(source, world, output=output, person="who", max_points=1, **options, **said)  # type: ignore[arg-type]
    with pytest.warns(pv.PointveilWarning, match="Left out"):
        pv.release(source, world, output=tmp_path / "points.csv", unit="point", **options)  # type: ignore[arg-type]
    # Other data, and the same data under another name: both are none of this certificate's business.
    others = pa.table({"lon": people[:1000, 1] - 40, "lat": people[:1000, 0] + 40})
    for table, name in ((others, "others"), (pq.read_table(source), "copy")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pv.PointveilWarning)
            pv.release(table, world, output=tmp_path / f"{name}.csv", dataset=name, unit="point", **options)  # type: ignore[arg-type]
    return output


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.read_text(encoding="utf-8").partition("<body>")[2]))


def test_the_page_answers_who_what_why_and_how_much(release: Path, tmp_path: Path) -> None:
    assert run("certificate", release, "--ledger", tmp_path / "ledger.db", "--quiet") == 0

    page = text_of(tmp_path / "synthetic.csv.certificate.html")
    for said in (
        "Protects any one person with all their points (counted as at most 1 of them), with ε = 2",
        "One row stands for one point, as far as their number is known. Whoever has more than 1 counts as 1",
        "owner Transport &lt;office&gt;",
        "purpose bus stops",
        "period 2026-03",
        "the map is around 50.006° N, 10.010° E, in or near Germany",
        "50% before at most 88.1%, at least 11.9%",  # of membership
        "50% before can become at most 98.2%",  # of whereabouts: twice epsilon
        "name trips.parquet person epsilon 2 point epsilon 2 in all epsilon 4 cap epsilon 9; 5 is left",
        "a factor of at most 7.39",
        "NOT SIGNED",
        "the ledger is whole",
        "columns all but lon, lat: who",
        "Where the map of its world comes from was not recorded.",
    ):
        assert said in page, page
    assert run("certificate", tmp_path / "points.csv") == 0
    assert "Not a person:" in text_of(tmp_path / "points.csv.certificate.html")


def test_the_cap_of_a_copy_is_shown_as_that_of_any_other_dataset(release: Path, tmp_path: Path) -> None:
    for name in ("copy", "others"):
        assert run("certificate", tmp_path / f"{name}.csv", "--ledger", tmp_path / "ledger.db") == 0
        page = text_of(tmp_path / f"{name}.csv.certificate.html")
        assert f"name {name} point epsilon 2 cap epsilon 9; 7 is left" in page
    assert {len(account.aliases) for account in pv.Ledger(tmp_path / "ledger.db").accounts()} == {0, 1}


def test_whom_maps_must_name_comes_from_the_world(people_file: Path, world: World, tmp_path: Path) -> None:
    named = replace(world, attribution="© OpenStreetMap contributors, City <Office>")
    named.write(tmp_path / "world.gpkg")
    with pytest.warns(pv.PointveilWarning, match="Left out"):
        pv.release(people_file, tmp_path / "world.gpkg", output=tmp_path / "out.csv", epsilon=1, method="ugrid-uni")

    assert run("certificate", tmp_path / "out.csv", "--quiet") == 0

    page = text_of(tmp_path / "out.csv.certificate.html")
    assert "Map of its world: © OpenStreetMap contributors, City &lt;Office&gt; (ODbL)." in page


def test_a_release_that_was_changed_gets_none(release: Path, tmp_path: Path) -> None:
    release.write_text(release.read_text().replace("1", "2", 1))

    assert run("certificate", release) == 4
    assert not list(tmp_path.glob("*.certificate.*"))


def test_nothing_is_overwritten_and_the_name_must_fit(release: Path, tmp_path: Path) -> None:
    assert run("certificate", release, "--output", tmp_path / "c.html") == 0
    assert run("certificate", release, "--output", tmp_path / "c.html") == 2
    assert run("certificate", release, "--output", tmp_path / "c.html", "--force") == 0
    assert run("certificate", release, "--output", tmp_path / "c.txt") == 2
    assert run("certificate", release, "--output", release, "--force") == 2


@pytest.mark.parametrize("protects", [{"unit": "point"}, {"person": "who"}], ids=str)
def test_the_pdf_is_one_page_however_much_the_operator_says(
    protects: dict[str, str], people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    import shutil

    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("needs Chromium on this machine")
    said = dict.fromkeys(("owner", "purpose", "period", "note"), "much to say " * 80)
    who, kind = np.arange(len(people)) // 2, ["a"] * len(people)
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1], "who": who, "kind": kind})
    pq.write_table(table, tmp_path / "trips.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PointveilWarning)
        pv.release(
            tmp_path / "trips.parquet", world, output=tmp_path / "synthetic.csv", epsilon=1, method="ugrid-uni",
            key=None, ledger=tmp_path / "ledger.db", keep=["kind=category:a,b"], **said, **protects,  # type: ignore[arg-type]
        )  # fmt: skip
    assert run("certificate", tmp_path / "synthetic.csv", "--pdf", "--ledger", tmp_path / "ledger.db") == 0

    content = (tmp_path / "synthetic.csv.certificate.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page[^s]", content)) == 1


def test_without_a_browser_the_error_says_what_to_do(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("POINTVEIL_CHROMIUM", raising=False)

    assert run("certificate", release, "--pdf") == 2
    assert "leave --pdf out" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.pdf"))


def test_verify_tells_caveats_from_checks(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("verify", release, "--json") == 0

    told = json.loads(capsys.readouterr().out)
    assert told["caveats"] == ["the statement is not signed: who made it is not known"]
    assert not set(told["checks"]) & set(told["caveats"])
    assert run("verify", release, "--registry") == 0
    assert "The operator states: bus stops" in capsys.readouterr().out
