import contextlib
import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from tests.places import DRIVERS, NAMES, RIVER, STREETS, save

from pointveil.errors import InputError
from pointveil.world import LINES, POLYGONS, Layer, read_layer

SUFFIXES = [*DRIVERS, ".parquet"]
CRSS = ["EPSG:4326", "EPSG:32632", "EPSG:3857", "EPSG:3035", "EPSG:31468"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("crs", CRSS)
def test_lines_come_back_from_any_format_and_crs(tmp_path: Path, suffix: str, crs: str) -> None:
    if suffix == ".geojson" and crs != "EPSG:4326":
        pytest.skip("GeoJSON is in degrees")
    path = save(tmp_path / f"roads{suffix}", STREETS, crs=crs, attributes=NAMES)

    layer = read_layer(path, kinds=LINES).to_crs("EPSG:4326")

    found = {row["name"]: shape for row, shape in zip(layer.attributes.to_pylist(), layer.geometries, strict=True)}
    assert shapely.equals_exact(found["High Street"], STREETS[0], 1e-7)
    assert {row["lanes"] for row in layer.attributes.to_pylist()} == {2, 4}
    assert layer.crs == "EPSG:4326"


def test_the_same_crs_under_another_name_moves_nothing() -> None:
    line = shapely.LineString([(0.1, 0.2), (0.3, 0.7)])

    moved = Layer(np.array([line]), pa.table({}), "OGC:CRS84").to_crs("EPSG:4326")

    assert shapely.equals_exact(moved.geometries[0], line, 0)


def test_heights_survive_a_change_of_crs() -> None:
    lines = np.array([shapely.LineString([(10, 50, 7), (10.1, 50, 8)]), STREETS[0]])

    moved = Layer(lines, pa.table({}), "EPSG:4326").to_crs("EPSG:32632")

    assert shapely.get_coordinates(moved.geometries[0], include_z=True)[:, 2].tolist() == [7, 8]
    assert shapely.has_z(moved.geometries).tolist() == [True, False]


def test_missing_and_empty_shapes_are_left_out_with_their_rows(tmp_path: Path) -> None:
    path = save(tmp_path / "roads.parquet", [STREETS[0], STREETS[1]], attributes=NAMES)
    table = pq.read_table(path)
    empty = shapely.to_wkb(shapely.LineString())
    for nothing in (None, empty):
        column = pa.array([nothing, table["geometry"][1].as_py()], pa.binary())
        pq.write_table(table.set_column(table.num_columns - 1, "geometry", column), path)

        layer = read_layer(path, kinds=LINES)

        assert len(layer.geometries) == 1
        assert layer.attributes["lanes"].to_pylist() == [4]


@pytest.mark.parametrize(
    "path",
    [
        "/vsicurl/http://127.0.0.1:9/roads.geojson",
        "/vsimem/roads.gpkg",
        "http://127.0.0.1:9/roads.geojson",
        "zip:///roads.zip",
        "roads.zip",
        "GeoJSON:roads.geojson",
        '{"type": "FeatureCollection", "features": []}',
    ],
)
def test_gdal_paths_that_are_no_local_files_are_refused(path: str) -> None:
    with pytest.raises(InputError):
        read_layer(path, kinds=LINES)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("trap", ["vrt", "pipeline"])
def test_a_file_that_makes_gdal_open_another_is_refused(tmp_path: Path, suffix: str, trap: str) -> None:
    if trap == "pipeline" and pyogrio.__gdal_version__ < (3, 11):
        pytest.skip("GDAL runs pipelines from version 3.11 on")
    secret = save(tmp_path / "secret.geojson", STREETS)
    pipeline = f"gdal vector pipeline ! read {secret} ! write --output-format=stream streamed_dataset"
    texts = {
        "vrt": f'<OGRVRTDataSource><OGRVRTLayer name="secret"><SrcDataSource>{secret}</SrcDataSource>'
        "</OGRVRTLayer></OGRVRTDataSource>",
        "pipeline": json.dumps({"type": "gdal_streamed_alg", "command_line": pipeline}),
    }
    path = tmp_path / f"roads{suffix}"
    path.write_text(texts[trap])

    assert len(pyogrio.read_arrow(path)[1]) == 2  # so GDAL does fall for it
    with pytest.raises(InputError, match="roads"):
        read_layer(path, kinds=LINES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path / f"roads{suffix}", STREETS * 500)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])

    with pytest.raises(InputError, match="roads"):
        read_layer(path, kinds=LINES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"roads{suffix}"
    path.touch()

    with pytest.raises(InputError, match="is empty"):
        read_layer(path, kinds=LINES)


def test_a_database_that_is_no_geopackage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "roads.gpkg"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE roads (geometry BLOB)")

    with pytest.raises(InputError, match="not what its suffix"):
        read_layer(path, kinds=LINES)


def test_errors_name_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "folder.gpkg").mkdir()
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "plain.parquet")
    save(tmp_path / "points.geojson", [shapely.Point(10, 50)])
    save(tmp_path / "river.gpkg", [RIVER])
    (tmp_path / "roads.csv").write_text("x,y\n1,2\n")
    cases = {
        "folder.gpkg": "directory",
        "none.gpkg": "does not exist",
        "plain.parquet": "not GeoParquet",
        "points.geojson": "contains Point; it should contain only LineString",
        "river.gpkg": "contains Polygon",
        "roads.csv": "Give one of .geojson",
    }

    for name, words in cases.items():
        with pytest.raises(InputError, match=words):
            read_layer(tmp_path / name, kinds=LINES)


def test_a_shapefile_that_does_not_say_its_crs_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "roads.shp", STREETS)
    path.with_suffix(".prj").unlink()

    with pytest.raises(InputError, match="CRS"):
        read_layer(path, kinds=LINES)


def test_the_layer_of_the_right_kind_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "city.gpkg"
    for name, shapes in {"water": [RIVER], "streets": STREETS, "more": STREETS}.items():
        table = pa.table({"geometry": pa.array(shapely.to_wkb(np.array(shapes)), pa.binary())})
        kind = shapes[0].geom_type
        pyogrio.write_arrow(
            table, path, layer=name, driver="GPKG", crs="EPSG:4326", geometry_type=kind, geometry_name="geometry"
        )

    assert len(read_layer(path, kinds=POLYGONS).geometries) == 1
    assert len(read_layer(path, kinds=LINES, layer="more").geometries) == 2
    with pytest.raises(InputError, match="streets, more"):
        read_layer(path, kinds=LINES)
    with pytest.raises(InputError, match="no layer 'rails'"):
        read_layer(path, kinds=LINES, layer="rails")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e12])
def test_coordinates_that_are_none_are_refused(tmp_path: Path, value: float) -> None:
    with np.errstate(invalid="ignore"):
        path = save(tmp_path / "roads.parquet", [shapely.LineString([(10, 50), (10, value)])])

    with pytest.raises(InputError, match="coordinates"):
        read_layer(path, kinds=LINES)
