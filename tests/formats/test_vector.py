"""GeoPackage, Shapefile and FlatGeobuf as people really write them."""

import shutil
import sqlite3
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyogrio
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.formats import Layout, open_points, output_layout, vector, write_points

POINTS = np.array([[-8.61, 41.15], [-8.6, 41.1], [3.0, 4.0]])
DRIVERS = {".gpkg": "GPKG", ".shp": "ESRI Shapefile", ".fgb": "FlatGeobuf"}
MIXED = ["POINT (1 2)", "POINT EMPTY", None, "LINESTRING (0 0, 1 1)", "MULTIPOINT ((3 4))", "POINT Z (5 6 7)"]


def saved(
    path: Path, wkt: list[str | None], kind: str = "Point", crs: str | None = "EPSG:3763", **options: Any
) -> Path:
    shapes = [None if text is None else shapely.to_wkb(shapely.from_wkt(text)) for text in wkt]
    field = pa.field("place", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    who = [f"person {i}" for i in range(len(wkt))]
    table = pa.table([pa.array(shapes, pa.binary()), pa.array(who)], schema=pa.schema([field, ("who", pa.string())]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver = DRIVERS[path.suffix]
        options = {"geometry_name": "place", "geometry_type": kind, "crs": crs, "driver": driver, **options}
        options |= {"GEOMETRY_NAME": "place"} if driver == "GPKG" else {}
        pyogrio.write_arrow(table, path, **options)
    return path


def read(path: Path, **options: Any) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return np.concatenate([batch.coordinates for batch in open_points(path, **options).batches()])


@pytest.mark.parametrize("suffix", DRIVERS)
def test_names_and_crs_are_kept_and_other_columns_named(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path / f"people{suffix}", ["POINT (1 2)", "POINT (3 4)"])
    out = tmp_path / f"out{suffix}"

    layout = open_points(path).layout
    write_points(out, [POINTS], output_layout(out, layout), statement=None, total=3)

    assert sorted(read(path).tolist()) == [[1, 2], [3, 4]]
    assert np.array_equal(read(out), POINTS)
    assert (layout.crs, layout.left_out) == ("EPSG:3763", ("who",))
    written = pyogrio.read_info(out)
    assert written["crs"] == "EPSG:3763"
    assert written["layer_name"] == ("out" if suffix == ".shp" else "people")
    assert written["geometry_name"] == ("place" if suffix == ".gpkg" else "")
    assert "who" not in written["fields"]


@pytest.mark.parametrize("suffix", DRIVERS)
def test_a_person_comes_along_with_each_record(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path / f"people{suffix}", ["POINT (1 2)", "POINT (3 4)"])

    (batch,) = open_points(path, person="who").batches()

    people = dict(zip(batch.person.to_pylist(), batch.coordinates.tolist(), strict=True))
    assert people == {f"person {i}".encode(): point for i, point in enumerate([[1, 2], [3, 4]])}
    with pytest.raises(InputError, match="no column 'nobody'"):
        open_points(path, person="nobody")


@pytest.mark.parametrize("suffix", [".gpkg", ".fgb"])
def test_geometries_that_are_not_one_point_are_nowhere(suffix: str, tmp_path: Path) -> None:
    found = read(saved(tmp_path / f"people{suffix}", MIXED, kind="Unknown", SPATIAL_INDEX="NO"))

    readable = found[np.isfinite(found).all(axis=1)]
    assert np.array_equal(readable, [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize("suffix", DRIVERS)
def test_records_without_geometry_spoil_no_other(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = np.random.default_rng(1).random(1000) < 0.3
    wkt = [None if gone else f"POINT ({i} {-i})" for i, gone in enumerate(missing)]
    path = saved(tmp_path / f"people{suffix}", wkt, **({} if suffix == ".shp" else {"SPATIAL_INDEX": "NO"}))
    monkeypatch.setattr(vector, "READ_ROWS", 64)

    found = read(path)

    expected = np.column_stack([np.arange(1000.0), -np.arange(1000.0)])
    expected[missing] = np.nan
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("suffix", DRIVERS)
def test_a_layer_of_lines_is_refused(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path / f"roads{suffix}", ["LINESTRING (0 0, 1 1)"], kind="LineString")

    with pytest.raises(InputError, match="of type LineString, not points"):
        open_points(path)


@pytest.mark.parametrize("suffix", DRIVERS)
def test_a_file_that_does_not_say_its_crs_asks_for_one(suffix: str, tmp_path: Path) -> None:
    path = saved(tmp_path / f"people{suffix}", ["POINT (1 2)"])
    if suffix == ".shp":
        path.with_suffix(".prj").unlink()
    else:
        path.unlink()
        saved(path, ["POINT (1 2)"], crs=None)

    with pytest.raises(InputError, match=r"people\.\w+ does not say its CRS"):
        open_points(path)
    assert open_points(path, crs="EPSG:3763").layout.crs == "EPSG:3763"


def test_only_one_layer_may_have_points(tmp_path: Path) -> None:
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"], layer="day")
    saved(path, ["LINESTRING (0 0, 1 1)"], kind="LineString", layer="roads", append=True)
    assert open_points(path).layout.layer == "day"

    saved(path, ["POINT (3 4)"], layer="night", append=True)

    with pytest.raises(InputError, match=r"has several layers: day, night\. Save the one that you mean"):
        open_points(path)


@pytest.mark.parametrize("value", ["x'00'", "'41.5'", "5", "x'4750000100000000FF'", "NULL"])
def test_a_bad_geometry_in_a_geopackage_spoils_itself_only(value: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"] * 3, SPATIAL_INDEX="NO")
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE people SET place = {value}, who = x'ff' WHERE fid = 2")  # noqa: S608
    database.close()

    found = read(path, person="who")

    assert np.array_equal(found, np.array([[1, 2], [np.nan, np.nan], [1, 2]]), equal_nan=True)


def altered(path: Path, column: str, values: list[Any]) -> Path:
    with sqlite3.connect(path) as database:
        for place, value in enumerate(values):
            database.execute(f"UPDATE people SET {column} = ? WHERE fid = ?", (value, place + 1))  # noqa: S608
    database.close()
    return path


def test_persons_of_a_geopackage_stay_apart_whatever_the_column_says(tmp_path: Path) -> None:
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"] * 9, SPATIAL_INDEX="NO")
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE people ADD COLUMN number INTEGER")
    database.close()
    values = ["abc", "def", 2, 1.5, 2**62, b"\xff", b"\xfe", "", None]

    (batch,) = open_points(altered(path, "number", values), person="number").batches()

    assert batch.person.type == pa.binary()
    assert batch.person.null_count == 2
    assert len(set(batch.person.to_pylist())) == 8


@pytest.mark.parametrize("depth", [1, 40, 100_000])
@pytest.mark.parametrize("envelope", [0, 1, 4])
def test_a_deep_geometry_in_a_geopackage_is_nowhere(depth: int, envelope: int, tmp_path: Path) -> None:
    header = b"GP\x00" + bytes([1 | envelope << 1]) + struct.pack("<i", 4326) + b"\x00" * (0, 32, 0, 0, 64)[envelope]
    point = shapely.to_wkb(shapely.Point(3, 4))
    nested = (b"\x01" + struct.pack("<II", 7, 1)) * depth + point
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"] * 4, SPATIAL_INDEX="NO")

    found = read(altered(path, "place", [header + nested, header + point, header[:3]]))

    assert np.array_equal(found, np.array([(np.nan, np.nan), (3, 4), (np.nan, np.nan), (1, 2)]), equal_nan=True)


def test_late_changes_of_a_geopackage_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"] * 2, SPATIAL_INDEX="NO")
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("UPDATE people SET place = NULL WHERE fid = 1")
    database.commit()

    found = read(path)
    database.close()

    assert np.array_equal(found, np.array([(np.nan, np.nan), (1, 2)]), equal_nan=True)


@pytest.mark.parametrize("state", ["plain", "wants a log", "has a log", "was left undone"])
def test_reading_a_geopackage_writes_nothing(state: str, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    path = saved(folder / "people.gpkg", ["POINT (1 2)"] * 2, SPATIAL_INDEX="NO")
    if state != "plain":
        database = sqlite3.connect(path)
        database.execute(f"PRAGMA journal_mode={'DELETE' if state == 'was left undone' else 'WAL'}")
        if state == "wants a log":
            database.close()
        else:
            database.execute("UPDATE people SET place = NULL WHERE fid = 1")
            if state == "has a log":
                database.commit()
            for file in folder.iterdir():
                shutil.copyfile(file, tmp_path / file.name)
            database.close()
            for file in folder.iterdir():
                file.unlink()
            for file in tmp_path.glob("people*"):
                if not file.name.endswith("-shm"):
                    file.rename(folder / file.name)
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    folder.chmod(0o500)

    found = read(path, person="who")

    folder.chmod(0o700)
    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == before
    assert len(before) == (1 if state in ("plain", "wants a log") else 2)
    first = (np.nan, np.nan) if state == "has a log" else (1, 2)
    assert np.array_equal(found, np.array([first, (1, 2)]), equal_nan=True)


def test_a_layer_that_works_out_its_values_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "people.gpkg", ["POINT (1 2)"], SPATIAL_INDEX="NO")
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE people ADD COLUMN other TEXT AS (json_extract(who, '$.a'))")
    database.close()

    assert len(read(path)) == 1
    with pytest.raises(InputError, match=r"'people' of people\.gpkg is a view or has computed columns"):
        open_points(path, person="other")


def test_a_shapefile_needs_its_index(tmp_path: Path) -> None:
    path = saved(tmp_path / "people.shp", ["POINT (1 2)"])
    path.with_suffix(".shx").unlink()

    with pytest.raises(InputError, match=r"people\.shp cannot be opened; its \.shx and \.dbf must stand beside it"):
        open_points(path)


def test_members_of_an_older_shapefile_go_with_it(tmp_path: Path) -> None:
    path = tmp_path / "people.shp"
    for ending in ("qix", "sbn", "dbf"):
        path.with_suffix(f".{ending}").write_bytes(b"old")
    path.with_suffix(".txt").write_bytes(b"mine")

    written = write_points(path, [POINTS], Layout("shapefile"), statement="{}", total=3)

    assert sorted(tmp_path.iterdir()) == sorted([*written, path.with_suffix(".txt")])
    assert {member.suffix for member in written} == {".shp", ".shx", ".dbf", ".prj", ".cpg"}


def test_an_old_journal_does_not_spoil_a_new_geopackage(tmp_path: Path) -> None:
    path = tmp_path / "people.gpkg"
    (tmp_path / "people.gpkg-wal").write_bytes(b"old")

    written = write_points(path, [POINTS], Layout("geopackage"), statement=None, total=3)

    assert list(tmp_path.iterdir()) == written == [path]


def test_a_database_that_is_no_geopackage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.gpkg"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE people (lon, lat)")
    database.close()

    with pytest.raises(InputError, match=r"people\.gpkg is not what its suffix"):
        open_points(path)


@pytest.mark.parametrize("suffix", DRIVERS)
def test_a_file_that_makes_gdal_open_another_is_refused(suffix: str, tmp_path: Path) -> None:
    secret = saved(tmp_path / "secret.gpkg", ["POINT (1 2)"])
    layer = f'<OGRVRTLayer name="secret"><SrcDataSource>{secret}</SrcDataSource></OGRVRTLayer>'
    padded = "<OGRVRTDataSource><!--".ljust(68) + "GPKG -->" + layer + "</OGRVRTDataSource>"
    path = tmp_path / f"people{suffix}"
    path.write_text(padded)

    assert len(pyogrio.read_arrow(path)[1]) == 1  # so GDAL does fall for it
    with pytest.raises(InputError, match="not what its suffix"):
        open_points(path)
