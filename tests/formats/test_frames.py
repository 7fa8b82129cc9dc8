"""Frames of other libraries, none of which is needed."""

import datetime as dt
import subprocess
import sys
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.engines import AtMost
from pointveil.errors import InputError
from pointveil.formats import DamagedError, base, open_points, output_layout
from pointveil.formats.persons import person_values
from pointveil.formats.wkb import wkb_of_points

COLUMNS: dict[str, list[Any]] = {"id": ["a", "b"], "lat": [41.5, 41.25], "lon": [-8.5, -8.25]}
POINTS = np.array([[-8.5, 41.5], [-8.25, 41.25]])


def frame_of(library: str, columns: dict[str, list[Any]] = COLUMNS) -> Any:
    if library == "pyarrow":
        return pa.table(columns)
    if library == "record batch":
        return pa.table(columns).combine_chunks().to_batches()[0]
    if library == "reader":
        return pa.table(columns).to_reader()
    if library == "stream":
        return Stream(pa.table(columns))
    if library == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not among the development requirements")
        return duckdb.from_arrow(pa.table(columns))
    if library == "polars lazy":
        return pytest.importorskip("polars").DataFrame(columns).lazy()
    return pytest.importorskip(library).DataFrame(columns)


def read(source: Any, **options: Any) -> NDArray[np.float64]:
    batches = [batch.coordinates for batch in open_points(source, **options).batches()]
    return np.concatenate([np.empty((0, 2)), *batches])


class Stream:
    """What DuckDB, ibis and others give: an Arrow stream, and nothing else that is used here."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


LIBRARIES = ["pyarrow", "record batch", "reader", "stream", "pandas", "polars", "polars lazy", "duckdb"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_is_read_like_a_file(library: str) -> None:
    frame = frame_of(library)
    source = open_points(frame, person="id")

    (batch,) = source.batches()

    assert np.array_equal(batch.coordinates, POINTS)
    assert batch.person.to_pylist() == [b"a", b"b"]
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


ODD = [
    uuid.UUID(int=5),
    [1, 2],
    {"a": 1},
    {1},
    (1, "x"),
    dt.date(2020, 1, 1),
    dt.datetime(1, 1, 1),  # noqa: DTZ001
    dt.timedelta(1),
    np.timedelta64(1, "D"),
    np.datetime64("2020-01-01"),
    np.arange(3),
    b"\xff",
    "\ud800",
    "x",
    "1",
    b"1",
    1.5,
    True,
    10**5000,
    1 + 2j,
    Decimal("1e999999999"),
    object(),
]
NOBODY = [None, float("nan"), np.float32("nan"), Decimal("nan"), np.datetime64("NaT"), "", " \n", b"", b" "]


@pytest.mark.parametrize("odd", [*ODD, *NOBODY], ids=lambda value: type(value).__name__)
def test_one_odd_value_changes_how_no_other_is_read(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr(base, "BATCH_ROWS", 4)
    values = [1, np.int64(1), 2.5, "2.5", None, "x", b"2", 3]

    def read_column(things: list[Any]) -> tuple[list[Any], list[Any]]:
        column = pandas.Series(things, dtype=object)
        batches = list(
            open_points(pandas.DataFrame({"lon": column, "lat": 1.0, "who": column}), person="who").batches()
        )
        assert {batch.person.type for batch in batches} == {pa.binary()}
        x = np.concatenate([batch.coordinates[:, 0] for batch in batches])
        return np.nan_to_num(x, nan=-1).tolist(), [name for batch in batches for name in batch.person.to_pylist()]

    alone, together = read_column(values), read_column([*values, odd])

    assert alone[0] == [1, 1, 2.5, 2.5, -1, -1, 2, 3]
    assert (together[0][:-1], together[1][:-1]) == alone
    assert alone[1][0] == alone[1][1]
    assert read_column([odd])[1] == together[1][-1:]


NAMES = {
    b"7": [7, "7", " 7", 7.0, "7.0", Decimal("7.00"), b"7", np.int8(7), np.float32(7), "7."],
    b"-7.1": ["-7.10", -7.1, Decimal("-7.1")],
    b"0": [0, "-0", -0.0, "0.000"],
    b"007": ["007", b" 007"],
    "Zoë".encode(): ["Zoë", "Zoe\u0308 ", "Zoë".encode(), "Zoe\u0308".encode()],
    b"\xff": [b"\xff", b" \xff\n"],
    b"true": [True, np.True_, "true"],
    b"2020-01-01": [dt.date(2020, 1, 1), np.datetime64("2020-01-01"), "2020-01-01"],
    b"2020-01-01T10:00:00.5": [np.datetime64("2020-01-01T10:00:00.500"), dt.datetime(2020, 1, 1, 10, 0, 0, 500_000)],  # noqa: DTZ001
    b"2020-01-01T10:00:00Z": [dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))],
    b"PT86400S": [dt.timedelta(1), np.timedelta64(1, "D")],
    b"10:30:00.25": [dt.time(10, 30, 0, 250_000)],
    b"00000000-0000-0000-0000-000000000005": [uuid.UUID(int=5)],
    b"9" * 30: [int("9" * 30), "9" * 30, "9" * 30 + ".0"],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_write_a_name_is_one_person(name: bytes) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lon": 1.0, "lat": 1.0, "who": pandas.Series(NAMES[name], dtype=object)})

    (batch,) = open_points(frame, person="who").batches()

    assert set(batch.person.to_pylist()) == {name}


def test_what_names_nobody_names_nobody() -> None:
    pandas = pytest.importorskip("pandas")
    long = ["n" * 65_537, 10**70_000, Decimal("1e70000")]
    other = [[1, 2], {"a": 1}, (1, "x"), np.arange(3), 1 + 2j, object()]
    frame = pandas.DataFrame(
        {"lon": 1.0, "lat": 1.0, "who": pandas.Series([*NOBODY, pandas.NA, pandas.NaT, *long, *other], dtype=object)}
    )

    (batch,) = open_points(frame, person="who").batches()

    assert batch.person.null_count == len(frame)


SOURCES = ["pandas", "pandas objects", "polars", "pyarrow", ".csv", ".parquet", ".geojson", ".gpkg", ".fgb", ".shp"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("values", [[7, 8, 7], [7.0, 8.5, 7.0], [" 7", "007", "7.0"]], ids=["whole", "floats", "texts"])
def test_a_person_has_the_same_name_in_every_source(source: str, values: list[Any], tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("polars")
    table = pa.table({"lon": [1.0] * 3, "lat": [2.0] * 3, "who": values})
    path = tmp_path / f"points{source}"
    made: Any = path
    if source == "pandas":
        made = table.to_pandas()
    elif source == "pandas objects":
        made = table.to_pandas().astype({"who": object})
    elif source == "polars":
        made = pytest.importorskip("polars").from_arrow(table)
    elif source == "pyarrow":
        made = table
    elif source == ".csv":
        path.write_text("lon,lat,who\n" + "".join(f"1,2,{value}\n" for value in values))
    elif source == ".parquet":
        pq.write_table(table, path)
    else:
        frame = table.to_pandas()
        shapes = geopandas.points_from_xy(frame.pop("lon"), frame.pop("lat"))
        geopandas.GeoDataFrame(frame, geometry=shapes, crs="EPSG:4326").to_file(path)

    names, named = AtMost(1, bytes(16)).persons(next(open_points(made, person="who").batches()).person)

    expected, _ = AtMost(1, bytes(16)).persons(person_values(values))
    assert named.all()
    assert np.array_equal(names, expected)


@pytest.mark.parametrize("dtype", ["object", "category", "Int64", "int8", "float32", "string", "float64[pyarrow]"])
def test_the_dtype_of_a_pandas_column_decides_how_it_is_read(dtype: str) -> None:
    pandas = pytest.importorskip("pandas")
    values = [str(i) for i in (1, 2, 1)] if dtype == "string" else [1, 2, 1]
    column = pandas.Series(values, dtype=dtype)

    (batch,) = open_points(pandas.DataFrame({"lon": column, "lat": column, "who": column}), person="who").batches()

    assert batch.coordinates.tolist() == [[1, 1], [2, 2], [1, 1]]
    first, second, third = batch.person.to_pylist()
    assert first == third != second


def test_a_pandas_column_of_dates_holds_no_coordinates() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"lon": pandas.to_datetime(["2020-01-01"]), "lat": 1.0})

    with pytest.raises(InputError, match="Column 'lon' of the frame holds timestamp"):
        open_points(frame)


def test_a_query_that_fails_quotes_no_record() -> None:
    polars = pytest.importorskip("polars")
    lazy = polars.DataFrame({"lon": ["1", "secret"], "lat": [1.0, 2.0]}).lazy()

    with pytest.raises(InputError, match="The frame cannot be read; see that its own query runs") as caught:
        read(lazy.with_columns(polars.col("lon").cast(polars.Float64)))

    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)


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
    monkeypatch.setattr(base, "BATCH_ROWS", 1)

    for library in ("pyarrow", "pandas", "polars"):
        source = open_points(frame_of(library), person="id")
        for _ in range(2):
            assert [batch.coordinates.tolist() for batch in source.batches()] == [[point] for point in POINTS.tolist()]


@pytest.mark.parametrize("library", ["reader", "stream", "polars lazy", "duckdb"])
def test_what_flows_once_says_so_when_it_is_read_again(library: str) -> None:
    frame = frame_of(library)
    if library == "polars lazy" and not hasattr(frame, "collect_batches"):
        pytest.skip("this polars cannot stream a query")
    source = open_points(frame, person="id")
    (batch,) = source.batches()

    assert source.is_stream
    assert np.array_equal(batch.coordinates, POINTS)
    with pytest.raises(DamagedError, match="can be read only once; make it anew"):
        list(source.batches())
    if library == "reader":  # nor is what is left, which is nothing, taken for all there is
        with pytest.raises(DamagedError, match="can be read only once"):
            open_points(frame)


@pytest.mark.parametrize("library", ["pyarrow", "record batch", "pandas", "polars"])
def test_what_lies_in_memory_is_read_as_often_as_wished(library: str) -> None:
    source = open_points(frame_of(library), person="id")

    for _ in range(2):
        (batch,) = source.batches()
        assert np.array_equal(batch.coordinates, POINTS)


def test_of_a_stream_only_the_needed_columns_are_kept() -> None:
    wide = pa.table({**COLUMNS, "diary": ["x" * 10**6] * 2})
    before = pa.total_allocated_bytes()

    source = open_points(pa.RecordBatchReader.from_batches(wide.schema, (b for b in wide.to_batches())), person="id")

    assert source.layout.left_out == ("id", "diary")
    assert pa.total_allocated_bytes() - before < 10**6


def test_a_stream_that_breaks_quotes_no_record() -> None:
    def batches() -> Any:
        yield pa.record_batch({"lon": [1.0], "lat": [2.0]})
        raise RuntimeError("secret")

    schema = pa.schema([("lon", pa.float64()), ("lat", pa.float64())])

    with pytest.raises(InputError, match="The frame cannot be read") as caught:
        read(pa.RecordBatchReader.from_batches(schema, batches()))

    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)


def test_python_objects_in_polars_are_no_persons() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({**COLUMNS, "who": polars.Series([object(), object()], dtype=polars.Object)})

    assert np.array_equal(read(frame), POINTS)
    with pytest.raises(InputError, match="Column 'who' of the frame holds Python objects"):
        open_points(frame, person="who")


def test_a_series_of_geometries_says_its_own_crs() -> None:
    geopandas = pytest.importorskip("geopandas")
    series = geopandas.GeoSeries([shapely.Point(1, 2), None, shapely.Point(3, 4)], crs="EPSG:3763")

    source = open_points(series)

    assert np.array_equal(read(series), np.array([(1, 2), (np.nan, np.nan), (3, 4)]), equal_nan=True)
    assert (source.layout.crs, source.layout.geometry, source.layout.left_out) == ("EPSG:3763", "geometry", ())
    with pytest.raises(InputError, match="says its own CRS"):
        open_points(series, crs="EPSG:4326")
    with pytest.raises(InputError, match="does not say its CRS"):
        open_points(series.set_crs(None, allow_override=True))
    with pytest.raises(InputError, match="no column 'who'"):
        open_points(series, person="who")


MASKED = np.ma.masked_array(POINTS, mask=[[False, False], [True, False]])
NAN = float("nan")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (POINTS, POINTS),
        (POINTS.astype(object), POINTS),
        (POINTS.astype(str), POINTS),
        (POINTS.tolist(), POINTS),
        (tuple(map(tuple, POINTS.tolist())), POINTS),
        (POINTS[::-1].astype(np.float32), POINTS[::-1]),
        (np.array([[1, 2]], dtype=np.int8), [(1, 2)]),
        (np.empty((0, 2)), np.empty((0, 2))),
        ([], np.empty((0, 2))),
        (MASKED, [POINTS[0], (NAN, POINTS[1, 1])]),
        ([(1, 2), 5, None, (1, 2, 3), "ab", {}, (True, 2), ("3", "4"), (np.inf, 1), iter(())], None),
    ],
)
@pytest.mark.filterwarnings("error")
def test_arrays_and_lists_of_pairs_are_points(source: Any, expected: Any) -> None:
    if expected is None:
        expected = [(1, 2), *[(NAN, NAN)] * 5, (NAN, 2), (3, 4), (NAN, 1), (NAN, NAN)]

    found = read(source)

    assert np.array_equal(found, np.asarray(expected, dtype=float).reshape(-1, 2), equal_nan=True)
    degrees, metres = open_points(source).layout, open_points(source, crs="EPSG:3763").layout
    assert (degrees.crs, degrees.names) == ("EPSG:4326", ("lon", "lat"))
    assert (metres.crs, metres.names) == ("EPSG:3763", ("x", "y"))


def test_reading_an_array_leaves_it_alone() -> None:
    array = np.array([[np.inf, 1.0]])

    read(array)

    assert array.tolist() == [[np.inf, 1.0]]


@pytest.mark.parametrize("array", [np.zeros(2), np.zeros((41, 3)), np.zeros((41, 2), bool), np.zeros((41, 2), "M8[s]")])
def test_an_array_of_another_shape_is_refused_without_its_length(array: Any) -> None:
    with pytest.raises(InputError, match="two columns, x and y") as caught:
        open_points(array)

    assert "41" not in str(caught.value)


@pytest.mark.parametrize("options", [{"columns": ("x", "y")}, {"person": "who"}])
def test_an_array_has_no_columns_to_name(options: Any) -> None:
    for source in (POINTS, POINTS.tolist()):
        with pytest.raises(InputError, match="have no columns"):
            open_points(source, **options)


@pytest.mark.parametrize("source", [5, None, {"lon": [1]}, {(1, 2)}, iter([(1, 2)])])
def test_what_is_no_frame_is_refused_by_its_type(source: Any) -> None:
    with pytest.raises(InputError, match=f"cannot be read from a {type(source).__name__}"):
        open_points(source)


def test_a_source_shows_none_of_its_values() -> None:
    assert "41.5" not in repr(open_points(frame_of("pyarrow")))


def test_no_library_of_frames_is_loaded_by_itself() -> None:
    code = "import sys, pointveil.formats; print([m for m in ('pandas', 'polars', 'geopandas') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
