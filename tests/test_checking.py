"""What public facts show is told before anything is charged, and nothing else is looked at."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.checking import Checked, Finding
from pointveil.world import World

FEET = "EPSG:2263"  # New York


def file_with(folder: Path, people: NDArray[np.float64], *names: str, **more: Any) -> Path:
    path = folder / "points.csv"
    pa_csv.write_csv(pa.table({names[0]: people[:, 0], names[1]: people[:, 1], **more}), path)
    return path


def levels(checked: Checked, word: str) -> set[str]:
    return {finding.level for finding in checked.findings if word in finding.text}


def test_a_plain_file_is_fine_and_nothing_is_charged(people_file: Path, world: World) -> None:
    checked = pv.check(people_file, world)

    assert checked.ok
    assert (checked.columns, checked.crs, checked.unit) == (("lon", "lat"), "EPSG:4326", "one point")
    assert not pv.Ledger().path.exists()


def test_what_a_format_cannot_tell_is_said(people: NDArray[np.float64], world: World, tmp_path: Path) -> None:
    features = tmp_path / "points.geojson"
    features.write_text('{"type": "FeatureCollection", "features": []}', encoding="utf-8")

    of_text = pv.check(file_with(tmp_path, people, "lon", "lat", kind=["bus"] * len(people)), world)
    of_features = pv.check(features, world)

    assert levels(of_text, "All columns of CSV are text") == {"note"}
    assert levels(of_features, "cannot be listed") == {"note"}
    assert of_features.columns == ("geometry",)


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        (("Latitude", "Longitude"), {"columns": ("Latitude", "Longitude")}, "look swapped"),
        (("pickupLat", "pickupLon"), {"columns": ("pickupLat", "pickupLon")}, "look swapped"),
        (("northing", "easting"), {"columns": ("northing", "easting"), "crs": "EPSG:25832"}, "look swapped"),
        (("lon", "lat"), {"crs": "EPSG:25832"}, "named as degrees"),
        (("easting", "northing"), {}, "named as lengths"),
        (("x_m", "y_m"), {"columns": ("x_m", "y_m")}, "named as lengths"),
        (("X_UTM32", "Y_UTM32"), {"columns": ("X_UTM32", "Y_UTM32")}, "named as lengths"),
        (("Rechtswert", "Hochwert"), {"columns": ("Rechtswert", "Hochwert"), "crs": "EPSG:4326"}, "named as lengths"),
        (("Hochwert", "Rechtswert"), {"columns": ("Hochwert", "Rechtswert"), "crs": "EPSG:25832"}, "look swapped"),
        (("x", "y"), {"crs": FEET}, "far outside"),
        (("lon", "lat"), {"person": "lons"}, "Did you mean 'lon'?"),
        (("lon", "lat"), {"method": "viel"}, "Did you mean 'veil'?"),
        (("lon", "lat"), {"person": "lon", "max_points": 10**12}, "too large for epsilon 1"),
        (("lon", "lat"), {"unit": "people"}, "'point' or 'person'"),
        (("lon", "lat"), {"unit": "person"}, "needs --person"),
    ],
)
def test_what_public_facts_show_is_refused_before_the_charge(
    names: tuple[str, str],
    options: dict[str, Any],
    says: str,
    people: NDArray[np.float64],
    world: World,
    tmp_path: Path,
) -> None:
    source = file_with(tmp_path, people, *names)

    checked = pv.check(source, world, **options)
    with pytest.raises(pv.InputError, match=says.replace("?", r"\?")):
        pv.release(source, world, epsilon=1, output=tmp_path / "out.csv", **options)

    assert not checked.ok
    assert levels(checked, says) == {"refused"}
    assert not pv.Ledger().accounts()
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("names", [("lon", "lat"), ("x", "y"), ("Länge", "Breite"), ("x_lon", "y_lat"), ("a", "b")])
def test_names_that_say_nothing_wrong_are_taken(
    names: tuple[str, str], people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    assert pv.check(file_with(tmp_path, people, *names), world, columns=names).ok


@pytest.mark.parametrize("names", [("x", "y"), ("X", "Y"), ("POINT_X", "POINT_Y"), ("a", "b")])
def test_columns_that_only_the_lack_of_a_crs_makes_degrees_are_doubted_and_in_a_metric_world_refused(
    names: tuple[str, str], people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    source = file_with(tmp_path, people, *names)
    metric = World.make((0.0, 0.0, 1000.0, 1000.0), crs="EPSG:25832")

    in_degrees, in_metres = (pv.check(source, place, columns=names) for place in (world, metric))
    told = [pv.check(source, place, columns=names, crs=crs) for place in (world, metric) for crs in ("EPSG:4326",)]

    assert levels(in_degrees, "are taken to be degrees") == {"warning"}
    assert levels(in_metres, "the world is in EPSG:25832. Say which with --crs") == {"refused"}
    assert not any(levels(each, "taken to be degrees") for each in told)
    with pytest.raises(pv.InputError, match="are taken to be degrees"):
        pv.release(source, metric, epsilon=1, output=tmp_path / "out.csv", columns=names)
    assert not pv.Ledger().accounts()


@pytest.mark.parametrize("names", [("lon", "lat"), ("x_lon", "y_lat"), ("longitude_m", "latitude_m")])
def test_columns_that_are_named_as_degrees_are_not_doubted(
    names: tuple[str, str], people: NDArray[np.float64], tmp_path: Path
) -> None:
    metric = World.make((0.0, 0.0, 1000.0, 1000.0), crs="EPSG:25832")

    checked = pv.check(file_with(tmp_path, people, *names), metric, columns=names)

    assert checked.ok
    assert not levels(checked, "degrees")


@pytest.mark.parametrize(
    ("column", "warned"),
    [("user_id", True), ("userid", True), ("deviceId", True), ("IMEI", True), ("name", False), ("grid", False)],
)
def test_a_column_that_may_say_whose_a_point_is_is_asked_about(
    column: str, *, warned: bool, people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    source = file_with(tmp_path, people, "lon", "lat", **{column: np.arange(len(people)) // 10})

    said = "promises them 100 times epsilon, 200"
    assert levels(pv.check(source, world, epsilon=2), said) == ({"warning"} if warned else set())
    assert not levels(pv.check(source, world, epsilon=2, unit="point"), "100 times")
    assert not levels(pv.check(source, world, epsilon=2, person=column), "100 times")


def test_all_columns_that_may_say_whose_a_point_is_are_named(
    people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    numbers = np.arange(len(people))
    source = file_with(tmp_path, people, "lon", "lat", trip_id=numbers, taxi_id=numbers // 10)

    assert levels(pv.check(source, world), "Name the column, --person trip_id or taxi_id (person=)") == {"warning"}


def test_times_are_said_to_be_left_out(people: NDArray[np.float64], world: World, tmp_path: Path) -> None:
    source = file_with(tmp_path, people, "lon", "lat", started_at=["2024-01-01"] * len(people))

    assert levels(pv.check(source, world), "started_at: the times would be left out") == {"note"}


def test_what_would_be_kept_and_where_the_world_is_are_told(
    people: NDArray[np.float64], world: World, tmp_path: Path
) -> None:
    source = file_with(tmp_path, people, "lon", "lat", started_at=["2024-01-01"] * len(people), who=["a"] * len(people))
    when = "started_at=time:2024-01-01/2024-02-01"

    as_iso, as_said = (pv.check(source, world, person="who", keep=[when + form]) for form in ("", ";format=%Y-%m-%d"))

    assert (as_iso.kept, as_iso.left_out, as_iso.place) == (("started_at",), ("who",), world.place)
    assert levels(as_iso, "started_at is text, and read as") == {"note"}
    assert not levels(as_said, "is text, and read as")
    assert levels(as_iso, "who is left out of the synthetic file; --keep 'who=id'") == {"note"}
    assert not levels(as_iso, "Left out of the synthetic file: ")


def test_decimal_points_are_foretold_where_a_file_may_have_commas(world: World, tmp_path: Path) -> None:
    header = {";": "lon;lat;fare\n", ",": "lon,lat,fare\n"}
    fare = "fare=number:0..9"
    for name, sign in {"semicolons.csv": ";", "commas.csv": ","}.items():
        (tmp_path / name).write_text(header[sign], encoding="utf-8")

    told = [
        levels(pv.check(tmp_path / name, world, keep=[keep]), "written with decimal points")
        for name, keep in [("semicolons.csv", fare), ("semicolons.csv", fare + ";decimal=,"), ("commas.csv", fare)]
    ]

    assert told == [{"note"}, set(), set()]


def test_no_value_of_a_record_has_a_say(people: NDArray[np.float64], world: World, tmp_path: Path) -> None:
    datasets = (people, people[:, ::-1], people * np.nan, people + 1e6, people[:0])
    found = [pv.check(file_with(tmp_path, values, "lon", "lat"), world) for values in datasets]

    assert len(set(found)) == 1
    assert found[0].ok


def test_what_is_left_in_the_ledger_is_told(people_file: Path, world: World) -> None:
    pv.Ledger().set_cap(people_file.name, 2)

    enough, too_little = (pv.check(people_file, world, epsilon=epsilon) for epsilon in (2, 3))

    assert enough.ok
    assert enough.account is not None
    assert enough.account.left == 2
    assert Finding("refused", "Only epsilon 2 is left for 'people.parquet' in the ledger.") in too_little.findings


def test_a_small_world_and_a_large_epsilon_are_doubted(people_file: Path) -> None:
    checked = pv.check(people_file, World.make((10.0, 50.0, 10.0005, 50.0005)), epsilon=20)

    assert levels(checked, "m² of land") == levels(checked, "promises very little") == {"warning"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("https://example.org/trips.csv", "an address begins with file://"),
        ("-", "standard input"),
        ("/dev/stdin", "standard input"),
    ],
)
def test_what_is_no_file_is_called_what_it_is(source: str, says: str, world: World) -> None:
    (finding,) = pv.check(source, world).findings

    assert says in finding.text


def test_a_spreadsheet_is_to_be_saved_as_csv(world: World, tmp_path: Path) -> None:
    (tmp_path / "trips.xlsx").write_bytes(b"PK\x03\x04")

    (finding,) = pv.check(tmp_path / "trips.xlsx", world).findings

    assert "Spreadsheets are neither read nor written: use CSV" in finding.text


def test_degrees_for_a_boundary_in_feet_are_told_from_a_tiny_boundary() -> None:
    with pytest.raises(pv.InputError, match="looks like degrees, but EPSG:2263 counts in US survey foot"):
        World.make((-74.02, 40.70, -73.93, 40.88), crs=FEET)
    with pytest.raises(pv.InputError, match="The order is west, south, east, north"):
        World.make((-8.576, 41.168, -8.635, 41.123))
