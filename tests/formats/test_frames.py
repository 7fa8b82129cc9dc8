"""Frames of other libraries, none of which is needed."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.formats import frames, open_points, output_layout
from pointveil.formats.wkb import wkb_of_points

COLUMNS: dict[str, list[Any]] = {"id": ["a", "b"], "lat": [41.5, 41.25], "lon": [-8.5, -8.25]}
POINTS = np.array([[-8.5, 41.5], [-8.25, 41.25]])


def frame_of(library: str, columns: dict[str, list[Any]] = COLUMNS) -> Any:
    if library == "pyarrow":
        return pa.table(columns)
    if library == "record batch":
        return pa.table(columns).combine_chunks().to_batches()[0]
    if library == "polars lazy":
        return pytest.importorskip("polars").DataFrame(columns).lazy()
    return pytest.importorskip(library).DataFrame(columns)


def read(source: Any, **options: Any) -> NDArray[np.float64]:
    batches = [batch.coordinates for batch in open_points(source, **options).batches()]
    return np.concatenate([np.empty((0, 2)), *batches])


LIBRARIES = ["pyarrow", "record batch", "pandas", "polars", "polars lazy"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_is_read_like_a_file(library: str) -> None:
    source = open_points(frame_of(library), person="id")

    (batch,) = source.batches()

    assert np.array_equal(batch.coordinates, POINTS)
    assert batch.person.to_pylist() == ["a", "b"]
    assert (source.layout.names, source.layout.left_out) == (("lat", "lon"), ("id",))
    assert output_layout("out.parquet", source.layout).names == ("lat", "lon")
    assert np.array_equal(read(frame_of(library), columns=("lat", "lon")), POINTS[:, ::-1])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_without_rows_is_a_frame(library: str) -> None:
    if library == "record batch":
        pytest.skip("a table without rows has no batch")
    empty: dict[str, list[Any]] = {"lon": [], "lat": []}

    assert len(read(frame_of(library, empty))) == 0


@pytest.mark.parametrize("library", LIBRARIES)
def test_bad_values_in_a_frame_are_nowhere(library: str) -> None:
    columns: dict[str, list[Any]] = {"lon": ["1.5", "text", None, ""], "lat": [2.5, float("nan"), float("inf"), None]}

    found = read(frame_of(library, columns))

    assert np.array_equal(found[0], [1.5, 2.5])
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_column_is_named(library: str) -> None:
    with pytest.raises(InputError, match=r"The frame has no columns .* it has a, b"):
        open_points(frame_of(library, {"a": [1.0], "b": [2.0]}))
    with pytest.raises(InputError, match="The frame has no column 'who'"):
        open_points(frame_of(library), person="who")


def test_a_pandas_column_of_all_sorts_of_things_is_read_value_by_value() -> None:
    pandas = pytest.importorskip("pandas")

    class Grumpy:
        def __str__(self) -> str:
            raise RuntimeError("secret")

    things = [1.5, "2.5", "x", None, [1], {"a": 1}, Grumpy(), 10**400, "\ud800", True]
    frame = pandas.DataFrame({"lon": things, "lat": 1.0, "who": things})

    (batch,) = open_points(frame, person="who").batches()

    assert batch.coordinates[:2, 0].tolist() == [1.5, 2.5]
    assert np.isnan(batch.coordinates[2:7, 0]).all()
    assert len(batch.person) == len(things)


def test_a_geopandas_frame_says_its_own_crs() -> None:
    geopandas = pytest.importorskip("geopandas")
    shapes = [shapely.Point(1, 2), None, shapely.Point(), shapely.LineString([(0, 0), (1, 1)])]
    frame = geopandas.GeoDataFrame({"who": [1, 2, 3, 4]}, geometry=shapes, crs="EPSG:3763").rename_geometry("place")

    source = open_points(frame, person="who")
    (batch,) = source.batches()

    assert np.array_equal(batch.coordinates, np.array([(1, 2), *[(np.nan, np.nan)] * 3]), equal_nan=True)
    assert batch.person.to_pylist() == [1, 2, 3, 4]
    assert (source.layout.crs, source.layout.geometry, source.layout.left_out) == ("EPSG:3763", "place", ("who",))
    assert output_layout("out.parquet", source.layout).format == "geoparquet"
    with pytest.raises(InputError, match="does not say its CRS"):
        open_points(frame.set_crs(None, allow_override=True))


def test_an_arrow_table_with_a_geometry_is_read() -> None:
    field = pa.field("place", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    pairs = pa.field("place", pa.list_(pa.float64(), 2), metadata={"ARROW:extension:name": "geoarrow.point"})
    column = pa.FixedSizeListArray.from_arrays(pa.array(POINTS.ravel()), 2)

    for table in (
        pa.table([wkb_of_points(POINTS)], schema=pa.schema([field])),
        pa.table([column], schema=pa.schema([pairs])),
    ):
        assert np.array_equal(read(table, crs="EPSG:4326"), POINTS)
        assert np.array_equal(read(table.slice(1), crs="EPSG:4326"), POINTS[1:])


def test_a_frame_can_be_read_again_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BATCH_ROWS", 1)

    for library in ("pyarrow", "pandas", "polars"):
        source = open_points(frame_of(library), person="id")
        for _ in range(2):
            assert [batch.coordinates.tolist() for batch in source.batches()] == [[point] for point in POINTS.tolist()]


@pytest.mark.parametrize("source", [5, None, [[1, 2]], {"lon": [1]}, np.zeros((3, 2))])
def test_what_is_no_frame_is_refused_by_its_type(source: Any) -> None:
    with pytest.raises(InputError, match=f"cannot be read from a {type(source).__name__}"):
        open_points(source)


def test_a_source_shows_none_of_its_values() -> None:
    assert "41.5" not in repr(open_points(frame_of("pyarrow")))


def test_no_library_of_frames_is_loaded_by_itself() -> None:
    code = "import sys, pointveil.formats; print([m for m in ('pandas', 'polars', 'geopandas') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
