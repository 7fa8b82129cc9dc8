"""pointveil world: roads and places."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from typer.testing import CliRunner

from pointveil.cli import app
from pointveil.errors import InputError
from pointveil.world import World

BOUNDS = "10.0,50.0,10.02,50.012"


@pytest.fixture
def roads_file(tmp_path: Path) -> Path:
    street = shapely.LineString([(10.0, 50.003), (10.02, 50.003)])
    feature = {
        "type": "Feature",
        "properties": {"highway": "primary"},
        "geometry": json.loads(shapely.to_geojson(street)),
    }
    path = tmp_path / "roads.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature, feature]}), encoding="utf-8")
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["world", *map(str, arguments)])


def test_it_tells_what_became_of_the_roads(roads_file: Path, tmp_path: Path) -> None:
    result = run(tmp_path / "town.gpkg", f"--bounds={BOUNDS}", "--roads", roads_file, "--json")

    network = json.loads(result.stdout)["network"]
    assert network["edges"] == 1
    assert network["class_km"] == {"primary": pytest.approx(1.434, abs=0.01)}
    assert network["cleaning"]["merged_or_without_length"] == 1


def test_without_roads_it_tells_of_none(tmp_path: Path) -> None:
    result = run(tmp_path / "town.gpkg", f"--bounds={BOUNDS}", "--json")

    assert "network" not in json.loads(result.stdout)


def test_it_says_where_the_world_is(tmp_path: Path) -> None:
    right, swapped = (
        run(tmp_path / f"{name}.gpkg", f"--bounds={bounds}")
        for name, bounds in {"right": BOUNDS, "swapped": "50.0,10.0,50.012,10.02"}.items()
    )

    assert "around 50.006° N, 10.010° E, in or near Germany" in right.output
    assert "around 10.010° N, 50.006° E, in or near Somalia" in swapped.output


def test_roads_that_are_all_in_water_write_no_world(roads_file: Path, tmp_path: Path) -> None:
    water = tmp_path / "water.geojson"
    water.write_text(shapely.to_geojson(shapely.box(9, 50.002, 11, 50.004)), encoding="utf-8")

    result = run(tmp_path / "town.gpkg", f"--bounds={BOUNDS}", "--roads", roads_file, "--water", water)

    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "town.gpkg").exists()


def test_a_place_is_fetched_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def from_place(place: str, *, network: str) -> World:
        asked.append((place, network))
        return World.make(
            (10.0, 50.0, 10.02, 50.012), roads=np.array([shapely.LineString([(10, 50.01), (10.02, 50.01)])])
        )

    monkeypatch.setattr(World, "from_place", from_place)

    result = run(tmp_path / "town.gpkg", "--place", "Porto, Portugal", "--network", "bike", "--json")

    assert asked == [("Porto, Portugal", "bike")]
    assert json.loads(result.stdout)["network"]["edges"] == 1
    assert World.read(tmp_path / "town.gpkg").roads is not None


@pytest.mark.parametrize(
    "options",
    [["--place", "Porto", f"--bounds={BOUNDS}"], ["--place", "Porto", "--crs", "EPSG:3857"], []],
)
def test_a_place_and_a_boundary_exclude_each_other(options: list[str], tmp_path: Path) -> None:
    result = run(tmp_path / "town.gpkg", *options)

    assert isinstance(result.exception, InputError)


def test_people_are_told_of_kilometres_and_per_cent(roads_file: Path, tmp_path: Path) -> None:
    result = run(tmp_path / "town.gpkg", f"--bounds={BOUNDS}", "--roads", roads_file)

    said = [line.strip() for line in result.output.splitlines()]
    assert said[0].startswith("1.43 × 1.33 km, 100% land, ")
    assert said[1] == "bounds 10, 50, 10.02, 50.012 in EPSG:4326"
    assert said[2].startswith("around 50.006° N, 10.010° E")
    assert said[3] == "1.91 km² of land"
    assert said[4] == "1.4 km of streets in 1 pieces; bridges: 0"
    assert said[-1].startswith("Wrote ")


def test_a_crs_without_a_name_is_said_to_have_none() -> None:
    crs = "+proj=utm +zone=29 +ellps=WGS84 +units=km +no_defs"

    assert repr(World.make((525, 4550, 530, 4555), crs=crs)).endswith(" in a CRS without a name>")
