"""pointveil table: every format, polygons and cells of H3, with times; and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyogrio
import pytest
import shapely
from typer.testing import CliRunner

import pointveil as pv
from pointveil.cli import app
from pointveil.demo import city
from pointveil.demo.people import people
from pointveil.vault import Vault
from pointveil.world.layers import read_layer

RUN = CliRunner()
BOXES = [shapely.box(24.93, 60.165, 24.94, 60.172), shapely.box(24.94, 60.165, 24.95, 60.172)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey that keeps hours, and two districts."""
    folder = tmp_path_factory.mktemp("table")
    world = city()
    lon, lat = world.projection.from_metres(people(world, count=5_000)).T
    table = pa.table({"lon": lon, "lat": lat, "hour": np.where(np.arange(len(lon)) % 4 == 0, 8, 20)})
    keep = [pv.Time("hour", "2024-05-01/2024-05-02", resolution="hour-of-day")]
    pv.survey(Vault.open(table, world, epsilon=2, keep=keep, ledger=None)).write(folder / "city.survey", key=None)
    districts = pa.table({"name": ["west", "east"], "geometry": pa.array(shapely.to_wkb(BOXES), pa.binary())})
    pyogrio.write_arrow(
        districts, folder / "districts.gpkg", geometry_name="geometry", geometry_type="Polygon", crs="EPSG:4326"
    )
    return folder


def table(folder: Path, output: str, *options: str) -> Path:
    path = folder / output
    done = RUN.invoke(app, ["table", str(folder / "city.survey"), str(path), "--force", *options])
    assert done.exit_code == 0, done.output
    return path


@pytest.mark.parametrize("output", ["counts.geojson", "counts.gpkg", "counts.parquet"])
def test_polygons_keep_their_columns_and_shapes(output: str, folder: Path) -> None:
    made = read_layer(table(folder, output, "--by", str(folder / "districts.gpkg")), kinds=("Polygon",))

    rows = made.attributes.to_pylist()
    drawn = pv.draw(folder / "city.survey", seed=1)
    assert [row["name"] for row in rows] == ["west", "east"]
    for row, box in zip(rows, BOXES, strict=True):
        assert abs(row["count"] - int(drawn.count(box))) <= row["margin"]
        assert row["low"] < row["count"] < row["high"]
    assert shapely.equals(made.geometries, BOXES).all()


def test_cells_of_h3_hold_everybody(folder: Path) -> None:
    pytest.importorskip("h3", reason="h3 is an extra")

    made = arrow_csv.read_csv(table(folder, "cells.csv", "--by", "h3:8")).to_pydict()

    assert list(made) == ["h3", "count", "margin", "low", "high"]
    assert sum(made["count"]) == pytest.approx(len(pv.draw(folder / "city.survey")), abs=len(made["count"]))
    assert len(set(made["h3"])) == len(made["h3"]) > 5


def test_each_bin_of_a_time_has_a_row(folder: Path) -> None:
    by = ("--by", str(folder / "districts.gpkg"))
    whole = arrow_csv.read_csv(table(folder, "whole.csv", *by)).to_pydict()

    made = arrow_csv.read_csv(table(folder, "hours.csv", *by, "--time", "hour")).to_pydict()

    assert made["hour"] == [*range(24), *range(24)]
    counts = np.reshape(made["count"], (2, 24))
    assert np.abs(counts.sum(axis=1) - whole["count"]).max() <= 12  # each of 24 was rounded
    assert counts[:, 8].sum() > 5 * counts[:, 9].sum()


def test_the_same_table_comes_out_each_time_and_json_says_what_it_has(folder: Path) -> None:
    by = ("--by", str(folder / "districts.gpkg"))

    assert table(folder, "a.csv", *by).read_bytes() == table(folder, "b.csv", *by).read_bytes()

    path = str(folder / "c.csv")
    told = RUN.invoke(app, ["table", str(folder / "city.survey"), path, *by, "--json"])
    assert json.loads(told.stdout) == {
        "output": path, "rows": 2, "columns": ["name", "count", "margin", "low", "high"], "margins": True,
    }  # fmt: skip


def test_a_release_is_counted_as_it_stands(folder: Path) -> None:
    made = pv.draw(folder / "city.survey", seed=2)
    made.write(folder / "drawn.gpkg", key=None)
    by = ["--by", str(folder / "districts.gpkg"), "--time", "hour"]

    done = RUN.invoke(app, ["table", str(folder / "drawn.gpkg"), str(folder / "of_release.csv"), *by])

    assert "Wrote 48 counts" in done.output
    rows = arrow_csv.read_csv(folder / "of_release.csv").to_pydict()
    expected = [made.count(box, time=(hour, hour + 1)) for box in BOXES for hour in range(24)]
    assert rows["count"] == [each.value for each in expected]
    assert rows["margin"] == pytest.approx([each.margin for each in expected], abs=0.06)


def test_cells_of_h3_hold_everybody_in_a_release_too(folder: Path) -> None:
    pytest.importorskip("h3", reason="h3 is an extra")
    made = pv.draw(folder / "city.survey", seed=3)

    counted = pv.table(made, folder / "cells_of_release.csv", by="h3:8")

    assert sum(counted["count"].to_pylist()) == len(made)


def test_areas_outside_of_the_world_have_no_margin_and_if_all_are_there_is_no_table(folder: Path) -> None:
    for name, shapes in {
        "one": [BOXES[0], shapely.box(60.16, 24.93, 60.17, 24.94)],
        "none": [shapely.box(0, 0, 1, 1)],
    }.items():
        path = folder / f"{name}.geojson"
        features = [
            {"type": "Feature", "properties": {}, "geometry": json.loads(shapely.to_geojson(each))} for each in shapes
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")

    counted = pv.table(folder / "city.survey", folder / "one.csv", by=folder / "one.geojson")

    assert [row["margin"] is None for row in counted.to_pylist()] == [False, True]
    with pytest.raises(pv.InputError, match=r"None of the areas in none\.geojson lies in the world"):
        pv.table(folder / "city.survey", folder / "none.csv", by=folder / "none.geojson")


@pytest.mark.parametrize(("own", "time"), [("count", None), ("low", None), ("hour", "hour")])
def test_a_column_of_the_areas_is_never_lost(own: str, time: str | None, folder: Path) -> None:
    areas = pa.table({own: [1], "geometry": pa.array(shapely.to_wkb(BOXES[:1]), pa.binary())})
    path = folder / f"own_{own}.gpkg"
    pyogrio.write_arrow(areas, path, geometry_name="geometry", geometry_type="Polygon", crs="EPSG:4326")

    with pytest.raises(pv.InputError, match=f"has a column '{own}' of its own"):
        pv.table(folder / "city.survey", folder / "own.csv", by=path, time=time)


def test_what_is_counted_is_never_written_over(folder: Path) -> None:
    pv.draw(folder / "city.survey", seed=2).write(folder / "same.gpkg", key=None)

    done = RUN.invoke(
        app, ["table", *[str(folder / "same.gpkg")] * 2, "--by", str(folder / "districts.gpkg"), "--force"]
    )

    assert "what is counted" in str(done.exception)
    assert pv.verify(folder / "same.gpkg")


def test_without_margins_it_says_why(folder: Path) -> None:
    world = city()
    lon, lat = world.projection.from_metres(people(world, count=2_000)).T
    vault = Vault.open(pa.table({"lon": lon, "lat": lat}), world, epsilon=2, ledger=None)
    pv.survey(vault, "ugrid-uni").write(folder / "even.survey", key=None)

    by = ["--by", str(folder / "districts.gpkg")]
    done = RUN.invoke(app, ["table", str(folder / "even.survey"), str(folder / "even.csv"), *by])

    assert "with no margin: an even grid" in done.output


@pytest.mark.parametrize(
    ("output", "options", "complaint"),
    [
        ("counts.xlsx", ["--by", "h3:8"], "A table is written as"),
        ("city.survey", ["--by", "h3:8"], "A table is written as"),
        ("districts.gpkg", ["--by", "h3:8"], "exists already"),
        ("counts.csv", ["--by", "h3:99"], "resolutions from 0 to 15"),
        ("counts.csv", ["--by", "h3:15"], "more than"),
        ("counts.csv", ["--by", "nowhere.gpkg"], "does not exist"),
        ("counts.csv", ["--by", "districts.gpkg", "--time", "day"], "No column 'day' with a time"),
    ],
)
def test_what_cannot_be_is_refused(
    output: str, options: list[str], complaint: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("h3", reason="h3 is an extra")
    monkeypatch.chdir(folder)

    done = RUN.invoke(app, ["table", "city.survey", output, *options])

    assert complaint in str(done.exception)
    assert not Path("counts.csv").exists()
