"""Every format keeps the same promises."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.formats import FORMATS, Layout, format_of, open_points, output_layout, read_statement, write_points

POINTS = np.array([[-8.61, 41.15], [-8.6000001, 41.1234567], [0.0, 0.000001], [179.9999999, -90.0]])
METRES = np.array([[100.0, 200.25], [-41000.01, 165000.99]])
SUFFIXES = [suffix for row in FORMATS.values() for suffix in row.suffixes]
WITH_STATEMENT = [".parquet", ".geoparquet", ".geojson", ".gpkg", ".fgb"]
WITH_CRS = [".geoparquet", ".geojson", ".gpkg", ".shp", ".fgb"]
PLAIN = Layout("csv", x="lon", y="lat")


def write(path: Path, points: NDArray[np.float64], like: Layout = PLAIN, statement: str | None = None) -> list[Path]:
    return write_points(path, [points], output_layout(path, like), statement=statement, total=len(points))


def read(source: Any, **options: Any) -> NDArray[np.float64]:
    batches = [batch.coordinates for batch in open_points(source, **options).batches()]
    return np.concatenate([np.empty((0, 2)), *batches])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_points_come_back_as_they_were_written(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"

    written = write(path, POINTS)

    assert np.array_equal(read(path), POINTS)
    assert path in written
    assert sorted(tmp_path.iterdir()) == sorted(written)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_points_can_be_written_and_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nobody{suffix}"

    write(path, np.empty((0, 2)))
    write_points(tmp_path / f"no_chunk{suffix}", [], output_layout(path, PLAIN), statement=None, total=0)

    assert len(read(path)) == 0
    assert len(read(tmp_path / f"no_chunk{suffix}")) == 0


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_of_one_point_is_a_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"somebody{suffix}"

    write(path, POINTS[:1])

    assert np.array_equal(read(path), POINTS[:1])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_source_can_be_read_again_and_again(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    write(path, POINTS)

    source = open_points(path)

    for _ in range(2):
        assert sum(len(batch.coordinates) for batch in source.batches()) == len(POINTS)


@pytest.mark.parametrize("suffix", WITH_CRS)
@pytest.mark.parametrize("crs", ["EPSG:3763", "EPSG:2263", "EPSG:4269"])
def test_a_format_that_can_say_its_crs_says_it(suffix: str, crs: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"

    write(path, METRES, replace(PLAIN, crs=crs))

    assert open_points(path).layout.crs == crs
    assert np.array_equal(read(path), METRES)


@pytest.mark.parametrize("suffix", [suffix for suffix in WITH_CRS if suffix != ".geojson"])
def test_a_crs_without_a_name_survives(suffix: str, tmp_path: Path) -> None:
    from pyproj import CRS

    own = CRS.from_user_input("+proj=aeqd +lat_0=41.15 +lon_0=-8.6 +units=m")
    path = tmp_path / f"points{suffix}"

    write(path, METRES, replace(PLAIN, crs=own.to_wkt()))

    assert CRS.from_user_input(open_points(path).layout.crs) == own


def test_geojson_refuses_a_crs_that_it_cannot_name(tmp_path: Path) -> None:
    from pyproj import CRS

    own = CRS.from_user_input("+proj=aeqd +lat_0=41.15 +lon_0=-8.6 +units=m").to_wkt()

    with pytest.raises(InputError, match=r"points\.geojson cannot hold a CRS"):
        write(tmp_path / "points.geojson", METRES, replace(PLAIN, crs=own))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_two_columns_are_degrees_unless_the_caller_says_otherwise(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    write(path, METRES, replace(PLAIN, crs="EPSG:3763"))

    assert open_points(path).layout.crs == "EPSG:4326"
    assert open_points(path, crs="EPSG:3763").layout.crs == "EPSG:3763"
    with pytest.raises(InputError, match="not one that PROJ knows"):
        open_points(path, crs="EPSG:99999999")


@pytest.mark.parametrize("suffix", WITH_CRS)
def test_a_crs_against_the_one_of_the_file_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    write(path, METRES, replace(PLAIN, crs="EPSG:3763"))

    assert open_points(path, crs="EPSG:3763").layout.crs == "EPSG:3763"
    with pytest.raises(InputError, match="says its own CRS"):
        open_points(path, crs="EPSG:4326")


@pytest.mark.parametrize("suffix", WITH_STATEMENT)
@pytest.mark.parametrize("points", [POINTS, POINTS[:0]], ids=["some", "none"])
def test_a_statement_is_read_back_letter_by_letter(suffix: str, points: NDArray[np.float64], tmp_path: Path) -> None:
    statement = json.dumps({"epsilon": "1/3", "unit": 'one "point"', "word": "Ω, ' and \\"}, indent=1) + "\n"
    path = tmp_path / f"points{suffix}"

    write(path, points, statement=statement)

    assert read_statement(path) == statement
    assert np.array_equal(read(path), points)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_a_statement_has_none(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"

    write(path, POINTS)

    assert read_statement(path) is None


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_older_file_is_replaced(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    before = write(path, POINTS)

    after = write(path, POINTS[:1])

    assert np.array_equal(read(path), POINTS[:1])
    assert before == after
    assert sorted(tmp_path.iterdir()) == sorted(after)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("fault", [KeyError("boo"), OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_on_the_way_leaves_the_older_file_and_nothing_else(
    suffix: str, fault: BaseException, tmp_path: Path
) -> None:
    path = tmp_path / f"points{suffix}"
    written = write(path, POINTS)
    contents = [member.read_bytes() for member in written]

    def chunks() -> Iterator[NDArray[np.float64]]:
        yield POINTS
        raise fault

    with pytest.raises(InputError if isinstance(fault, OSError) else type(fault)):
        write_points(path, chunks(), output_layout(path, PLAIN), statement=None, total=8)

    assert sorted(tmp_path.iterdir()) == sorted(written)
    assert [member.read_bytes() for member in written] == contents


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_wrong_total_is_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"

    with pytest.raises(ValueError, match="5 points were to be written, and 4 came"):
        write_points(path, [POINTS], output_layout(path, PLAIN), statement=None, total=5)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chunks_are_written_one_after_the_other(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    chunks = [POINTS[:0], POINTS[:1], POINTS[:0], POINTS[1:]]

    write_points(path, chunks, output_layout(path, PLAIN), statement=None, total=4)

    assert np.array_equal(read(path), POINTS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_point_off_the_public_lattice_is_never_written(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"

    for off in (0.1 + 0.2, -1e-9, -8.61234567891, np.nan, np.inf):
        with pytest.raises(ValueError, match="public lattice"):
            write(path, np.array([[1.0, 2.0], [off, 41.0]]))

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_file_a_directory_and_an_empty_file_are_named(suffix: str, tmp_path: Path) -> None:
    missing, folder, empty = (tmp_path / f"{name}{suffix}" for name in ("missing", "folder", "empty"))
    folder.mkdir()
    empty.touch()

    for path, words in ((missing, "does not exist"), (folder, "has no file in it"), (empty, "is empty")):
        with pytest.raises(InputError, match=f"{path.stem}{suffix} {words}"):
            open_points(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_is_written_without_a_directory_or_over_one(suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()

    with pytest.raises(InputError, match=r"The directory of .* does not exist"):
        write(tmp_path / "missing" / f"points{suffix}", POINTS)
    with pytest.raises(InputError, match="is a directory"):
        write(folder, POINTS)


@pytest.mark.parametrize("suffix", [".parquet", ".geoparquet", ".geojson", ".gpkg", ".shp", ".fgb"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_a_file_cut_off_gives_an_error_that_quotes_nothing(suffix: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    write(path, np.full((5000, 2), 7.1234567))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])

    with pytest.raises(InputError, match="points") as caught:
        read(path)
    assert "7.123" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in (".csv", ".tsv", ".txt")])
@pytest.mark.parametrize("content", [b"lon,lat\n7.123,41.5\n", b"\x00\xff" * 300, b"<OGRVRTDataSource/>", b"{}"])
def test_a_file_of_another_format_gives_an_error_that_quotes_nothing(
    suffix: str, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / f"points{suffix}"
    path.write_bytes(content)

    with pytest.raises(InputError, match="points") as caught:
        read(path)
    assert "7.123" not in str(caught.value)


@pytest.mark.parametrize("path", ["/vsicurl/http://localhost/points.geojson", "/vsizip/points.gpkg", "http://a/b.fgb"])
def test_no_file_is_looked_for_outside_this_machine(path: str) -> None:
    with pytest.raises(InputError, match=r"does not exist|an address begins with file:///, s3://"):
        open_points(path)


@pytest.mark.parametrize("name", ["points.csv.gz", "points.xlsx", "points", "points.kml"])
def test_an_unknown_suffix_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"x")

    with pytest.raises(InputError, match=r"no format known here, which are \.csv"):
        open_points(tmp_path / name)
    if name == "points":  # written, it would be a folder of parts
        assert output_layout(tmp_path / name, PLAIN).format == PLAIN.format
        return
    with pytest.raises(InputError, match=r"no format known here"):
        output_layout(tmp_path / name, PLAIN)


def test_the_suffix_tells_the_format_in_any_case() -> None:
    assert format_of("POINTS.GeoJSON") == "geojson"
    assert format_of("a.b.PARQUET") == "parquet"


def test_a_layout_survives_json() -> None:
    layout = Layout("csv", x="LON", y="LAT", y_first=True, delimiter=";", left_out=("id", "time"))

    assert Layout.from_dict(json.loads(json.dumps(layout.to_dict()))) == layout


def test_the_same_format_keeps_names_order_layer_and_encoding() -> None:
    table = Layout("csv", x="X coord", y="Y coord", y_first=True, delimiter=";", crs="EPSG:3763", left_out=("id",))
    layer = Layout("geopackage", geometry="shape", layer="people", crs="EPSG:3763")
    native = Layout("geoparquet", geometry="place", encoding="point", file_crs="OGC:CRS84")

    assert output_layout("out.csv", table) == table
    assert output_layout("out.gpkg", layer) == layer
    assert output_layout("out.parquet", native) == replace(native, layer="out")
    assert output_layout("out.parquet", table).names == ("Y coord", "X coord")


def test_another_suffix_changes_the_format_alone() -> None:
    layer = Layout("geopackage", geometry="shape", layer="people", crs="EPSG:3763")
    degrees = Layout("geojson")

    assert output_layout("out.csv", layer).names == ("x", "y")
    assert output_layout("out.csv", degrees).names == ("lon", "lat")
    assert output_layout("out.tsv", PLAIN).delimiter == "\t"
    assert output_layout("out.parquet", layer).format == "geoparquet"
    assert output_layout("out.parquet", layer).geometry == "shape"
    assert output_layout("out.parquet", degrees).format == "geoparquet"
    assert output_layout("out.fgb", PLAIN).crs == "EPSG:4326"
    assert output_layout("out.fgb", layer).layer == "out"


@pytest.mark.parametrize("columns", ["lon,lat", ("lon",), ("lon", "lat", "id"), ("lon", 5), ("lon", "lon")])
def test_columns_are_two_different_names(columns: Any, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    write(path, POINTS)

    with pytest.raises(InputError, match="columns="):
        open_points(path, columns=columns)


@pytest.mark.parametrize("suffix", [".geojson", ".gpkg", ".shp", ".fgb"])
def test_names_of_columns_are_refused_where_there_is_a_geometry(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"points{suffix}"
    write(path, POINTS)

    with pytest.raises(InputError, match=r"leave --columns \(columns=\) out"):
        open_points(path, columns=("lon", "lat"))
