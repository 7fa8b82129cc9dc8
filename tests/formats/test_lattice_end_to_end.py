"""The lattice of the statement is the one that the written points lie on, in any CRS and any format."""

import sqlite3
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyogrio
import pytest
from numpy.typing import NDArray
from pyproj import CRS

from pointveil.errors import InputError, VerificationError
from pointveil.files.crs import crs_name, same_places, transform
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.formats import FORMATS, Layout, open_points, output_layout, write_points
from pointveil.ledger import Ledger
from pointveil.reading import read
from pointveil.releases import release, synthesize
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World

OBLIQUE = "+proj=omerc +lat_0=46.95 +lonc=7.44 +alpha=35 +gamma=20 +k=1 +x_0=600 +y_0=200 +ellps=bessel"
# Each with the south-west corner of a world, and the length of its sides, in units of the CRS.
PLACES = {
    "degrees": ("EPSG:4326", (7.4, 46.9), 0.1),
    "metres": ("EPSG:32632", (380_000, 5_200_000), 9000),
    "US survey feet": ("EPSG:2263", (980_000, 190_000), 30_000),
    "kilometres": ("+proj=tmerc +lat_0=41 +lon_0=-8.6 +ellps=GRS80 +units=km", (-3.5, 4.25), 9),
    "UTM in kilometres": ("+proj=utm +zone=29 +ellps=WGS84 +units=km +no_defs", (525, 4550), 9),
    "UTM in feet": ("+proj=utm +zone=29 +south +datum=WGS84 +units=us-ft +no_defs", (1_700_000, 15_000_000), 30_000),
    "rotated": ("EPSG:26931", (800_000, 700_000), 9000),
    "rotated kilometres": (f"{OBLIQUE} +units=km", (-4, -3), 9),
    "rotated feet": (f"{OBLIQUE} +units=us-ft", (-9000, -9000), 30_000),
}
STEPS = {"degrees": 10**7, "kilometres": 10**5, "UTM in kilometres": 10**5, "rotated kilometres": 10**5}
# ESRI's form of this projection has no angle of the grid: people in a Shapefile lie elsewhere from the beginning.
TURNED = [("rotated kilometres", ".shp"), ("rotated feet", ".shp")]
SUFFIXES = [row.suffixes[0] for row in FORMATS.values()]


@cache
def place(name: str) -> tuple[str, World, NDArray[np.float64]]:
    """Return a CRS, a world in it, and people in the world."""
    code, (west, south), side = PLACES[name]
    crs = crs_name(CRS.from_user_input(code))
    people = np.random.default_rng(1).normal(0.5, 0.1, (400, 2)) * side + (west, south)
    return crs, World.make((west, south, west + side, south + side), crs=crs), people


def released(path: Path, crs: str, world: World, people: NDArray[np.float64]) -> tuple[Any, Any, NDArray[np.float64]]:
    """Write people to a file, make another like it, verify it, and read it."""
    form = output_layout(path, Layout("csv", x="x", y="y", crs=crs))
    write_points(path, [snap(people, crs)], form, statement=None, total=len(people))
    said: dict[str, Any] = {"crs": crs} if form.geometry is None else {}
    out = path.with_stem("synthetic")
    synthesize(Vault.open(path, world, epsilon=1, **said), "ugrid-uni", count=300, seed=1, small=True).write(out)
    found = open_points(out, **said)
    points = np.concatenate([batch.coordinates for batch in found.batches()])
    return verify(out).statement, found.layout, points


def check_lattice(points: NDArray[np.float64], steps: int) -> None:
    whole = np.rint(points * steps)
    assert len(points) == 300
    assert np.array_equal(whole / steps, points)
    assert (whole % 10 != 0).any(axis=1).mean() > 0.5  # and on none that is ten times as wide


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", PLACES)
def test_a_release_lies_on_the_lattice_that_its_statement_names(name: str, suffix: str, tmp_path: Path) -> None:
    crs, world, people = place(name)
    if suffix == ".geojson" and ":" not in crs[:5]:
        pytest.skip("GeoJSON cannot hold a CRS without a name")

    statement, layout, points = released(tmp_path / f"people{suffix}", crs, world, people)

    steps = STEPS.get(name, 100)
    assert statement.domain.lattice == 1 / steps == world.projection.lattice
    assert same_places(layout.crs, crs, points, 1e-7) or (name, suffix) in TURNED
    assert steps_per_unit(statement.output.crs) == steps_per_unit(layout.crs) == steps
    check_lattice(points, steps)


@pytest.mark.parametrize("suffix", [".csv", ".geoparquet", ".gpkg", ".shp"])
@pytest.mark.parametrize("name", [name for name in PLACES if name != "degrees"])
def test_a_file_in_another_crs_than_the_world_keeps_its_own_lattice(name: str, suffix: str, tmp_path: Path) -> None:
    crs, there, people = place(name)
    west, south, east, north = there.boundary.bounds
    corners = transform(crs, "EPSG:4326")(np.array([(west, south), (east, south), (east, north), (west, north)]))
    world = World.make((*corners.min(axis=0), *corners.max(axis=0)))

    statement, layout, points = released(tmp_path / f"people{suffix}", crs, world, people)

    assert (statement.domain.crs, statement.domain.lattice) == ("EPSG:4326", 1e-7)
    assert same_places(statement.output.crs, layout.crs, points, 1e-7)
    assert same_places(layout.crs, crs, points, 1e-7) or (name, suffix) in TURNED
    assert steps_per_unit(layout.crs) == STEPS.get(name, 100)
    check_lattice(points, STEPS.get(name, 100))


def test_degrees_of_people_in_kilometres_are_on_the_lattice_of_degrees(tmp_path: Path) -> None:
    _, world, people = place("kilometres")
    degrees = transform(world.projection.crs, "EPSG:4326")(people)

    statement, _, points = released(tmp_path / "people.parquet", "EPSG:4326", world, degrees)

    assert statement.domain.lattice == 1e-5
    check_lattice(points, 10**7)


def test_every_record_meets_the_same_lattice_before_it_is_counted() -> None:
    _, world, people = place("kilometres")
    shifted = snap(people, world.projection.crs) + 0.4e-5  # less than half a step
    vaults = [
        Vault.rehearse(points, world, epsilon=1, seed=3, crs=world.projection.crs) for points in (people, shifted)
    ]

    first, second = (synthesize(vault, "ugrid-uni", seed=3, small=True).coordinates for vault in vaults)

    assert np.array_equal(first, second)


def test_a_layout_of_other_units_is_not_taken_for_metres(tmp_path: Path) -> None:
    crs, _, people = place("kilometres")
    form = replace(Layout("csv", x="x", y="y"), crs=crs)

    with pytest.raises(ValueError, match="public lattice"):
        write_points(tmp_path / "a.csv", [people], form, statement=None, total=len(people))


def test_other_programs_find_a_world_in_its_own_crs(tmp_path: Path) -> None:
    crs, world, people = place("UTM in kilometres")

    world.write(tmp_path / "world.gpkg")

    assert same_places(pyogrio.read_info(tmp_path / "world.gpkg", layer="boundary")["crs"], crs, people, 1e-7)
    assert World.read(tmp_path / "world.gpkg").digest == world.digest


def test_a_release_whose_crs_was_changed_is_not_approved(tmp_path: Path) -> None:
    crs, world, people = place("metres")
    out = tmp_path / "people.gpkg"
    released(out, crs, world, people)
    out = out.with_stem("synthetic")
    out.with_name("synthetic.gpkg.statement.json").unlink()
    assert verify(out).statement.output is not None

    with sqlite3.connect(out) as file:
        other = "UPDATE gpkg_geometry_columns SET srs_id = 4326", "UPDATE gpkg_contents SET srs_id = 4326"
        for change in other:
            file.execute(change)

    with pytest.raises(VerificationError, match="its CRS is not the one"):
        verify(out)
    with pytest.raises(VerificationError, match="its CRS is not the one"):
        read(out)


@pytest.mark.parametrize("suffix", [".shp", ".geojson"])
def test_a_format_that_cannot_hold_the_crs_is_refused_before_anything_is_charged(suffix: str, tmp_path: Path) -> None:
    crs, world, people = place("rotated kilometres")
    ledger = Ledger(tmp_path / "ledger.db")

    with pytest.raises(InputError, match=r"cannot hold"):
        release(people, world, epsilon=1, crs=crs, output=tmp_path / f"synthetic{suffix}", ledger=ledger)

    assert ledger.accounts() == []
    assert not list(tmp_path.glob("synthetic*"))


def test_geojson_like_points_are_in_degrees_whatever_their_crs() -> None:
    crs, world, people = place("metres")
    points = synthesize(Vault.rehearse(people, world, epsilon=1, seed=1, crs=crs), "ugrid-uni", count=5, seed=1)

    shown = [feature["geometry"]["coordinates"] for feature in points.__geo_interface__["features"]]

    assert np.allclose(transform("EPSG:4326", crs)(np.array(shown)), points.coordinates, rtol=0, atol=1e-3)
    assert (np.abs(shown) < 90).all()
