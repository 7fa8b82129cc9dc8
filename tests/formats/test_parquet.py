"""Parquet with two columns, and GeoParquet in its encodings."""

import json
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.formats import base, open_points, output_layout, parquet, write_points
from pointveil.formats.wkb import points_of_wkb, wkb_of_points

POINTS = np.array([[-8.61, 41.15], [-8.6, 41.1], [0.0, 0.0]])


def saved(tmp_path: Path, columns: dict[str, Any], geo: dict[str, Any] | None = None) -> Path:
    table = pa.table(columns)
    if geo is not None:
        table = table.replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, tmp_path / "points.parquet")
    return tmp_path / "points.parquet"


def geo_of(name: str, **column: Any) -> dict[str, Any]:
    described = {"encoding": "WKB", "geometry_types": ["Point"], **column}
    return {"version": "1.1.0", "primary_column": name, "columns": {name: described}}


def read(source: Any, **options: Any) -> NDArray[np.float64]:
    return np.concatenate([batch.coordinates for batch in open_points(source, **options).batches()])


@pytest.mark.parametrize(
    "kind",
    [pa.float64(), pa.float32(), pa.int32(), pa.uint64(), pa.decimal128(9, 2), pa.string(), pa.large_string()],
    ids=str,
)
def test_any_kind_of_number_is_read(kind: Any, tmp_path: Path) -> None:
    values = pa.array(["8", None, "41"]).cast(kind)
    path = saved(tmp_path, {"lat": values, "id": [1, 2, 3], "lon": values})

    assert np.array_equal(read(path), np.array([[8, 8], [np.nan, np.nan], [41, 41]]), equal_nan=True)
    layout = open_points(path).layout
    assert (layout.names, layout.left_out) == (("lat", "lon"), ("id",))


def test_bad_values_are_nowhere_and_say_nothing(tmp_path: Path) -> None:
    words = pa.array(["1.5", "x", "", None, "inf", "1e999"]).dictionary_encode()
    floats = [1.5, float("nan"), float("inf"), -float("inf"), None, 2.5]
    path = saved(tmp_path, {"lon": words, "lat": floats})

    found = read(path)

    assert np.array_equal(found[:, 0], [1.5] + [np.nan] * 5, equal_nan=True)
    assert np.array_equal(found[:, 1], [1.5] + [np.nan] * 4 + [2.5], equal_nan=True)


def test_bytes_that_are_not_text_are_nowhere(tmp_path: Path) -> None:
    path = saved(tmp_path, {"lon": pa.array([b"\xff\xfe", b"1.5"]), "lat": [1.0, 2.0]})

    assert np.array_equal(read(path), [[np.nan, 1.0], [1.5, 2.0]], equal_nan=True)


def test_a_column_that_cannot_hold_numbers_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, {"lon": [[1.0], [2.0]], "lat": [1.0, 2.0]})

    with pytest.raises(InputError, match=r"Column 'lon' of points\.parquet holds list.*--columns LON,LAT"):
        open_points(path)


def test_a_person_comes_along_with_each_record(tmp_path: Path) -> None:
    who = pa.array(["ann", None, "bob"]).dictionary_encode()
    path = saved(tmp_path, {"who": who, "lon": [1.0, 2.0, 3.0], "lat": [1.0, 2.0, 3.0]})

    (batch,) = open_points(path, person="who").batches()

    assert batch.person.to_pylist() == [b"ann", None, b"bob"]
    with pytest.raises(InputError, match="no column 'nobody'"):
        open_points(path, person="nobody")


@pytest.mark.parametrize(
    "kind",
    [pa.binary(2), pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int32(), pa.binary())],
    ids=str,
)
def test_the_bytes_of_a_person_need_not_be_text(kind: Any) -> None:
    who = pa.array([b"\xff\xfe", b"ab", b"  ", None], kind)

    (batch,) = open_points(pa.table({"who": who, "lon": [1.0] * 4, "lat": [1.0] * 4}), person="who").batches()

    assert batch.person.type == pa.binary()
    assert batch.person.to_pylist() == [b"\xff\xfe", b"ab", None, None]


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Lisbon")),
        *(pa.date64(), pa.time64("us"), pa.duration("s"), pa.int64(), pa.decimal128(30, 2)),
    ],
    ids=str,
)
def test_no_number_is_too_large_for_a_person(kind: Any) -> None:
    numbers = [0, 2**62, -(2**62), 2**63 - 1]
    who = pa.array(numbers, pa.int64()).cast(kind) if pa.types.is_decimal(kind) else pa.array(numbers).view(kind)

    (batch,) = open_points(pa.table({"who": who, "lon": [1.0] * 4, "lat": [1.0] * 4}), person="who").batches()

    assert len(set(batch.person.to_pylist())) == 4


def test_floats_name_persons_bit_by_bit() -> None:
    who = [0.1, 0.1 + 2**-55, 0.0, -0.0, float("nan"), None, 1e300]

    (batch,) = open_points(pa.table({"who": who, "lon": [1.0] * 7, "lat": [1.0] * 7}), person="who").batches()

    found = batch.person.to_pylist()
    assert found[2] == found[3]
    assert found[4:6] == [None, None]
    assert len(set(found)) == 5


def test_long_names_of_persons_are_shortened_but_not_mixed_up() -> None:
    names = ["n" * 256, "n" * 257, "n" * 65_535, "n" * 65_536, "", None, "n" * 257, " " * 500]

    (batch,) = open_points(pa.table({"who": names, "lon": [1.0] * 8, "lat": [1.0] * 8}), person="who").batches()

    found = batch.person.to_pylist()
    assert len(set(found[:4])) == 4
    assert found[6] == found[1]
    assert [found[4], found[5], found[7]] == [None] * 3
    assert max(len(name) for name in found if name) < 300


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_a_name_that_is_far_too_long_is_nobodys_and_changes_no_other(kind: Any) -> None:
    names = pa.array(["a", "n" * 65_537, " a", None, "b "]).cast(kind)

    (batch,) = open_points(pa.table({"who": names, "lon": [1.0] * 5, "lat": [1.0] * 5}), person="who").batches()

    assert batch.person.to_pylist() == [b"a", None, b"a", None, b"b"]


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.int8(), pa.int8())])
def test_a_column_that_cannot_name_a_person_is_refused_by_its_type(kind: Any, tmp_path: Path) -> None:
    columns = {"who": pa.array([], kind), "lon": pa.array([], pa.float64()), "lat": pa.array([], pa.float64())}

    for source in (saved(tmp_path, columns), pa.table(columns)):
        with pytest.raises(InputError, match=r"Column 'who' of .* cannot say whose a record is"):
            open_points(source, person="who")


def test_small_row_groups_make_large_batches(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(100.0), "y": np.arange(100.0), "who": np.arange(100)})
    pq.write_table(table, tmp_path / "points.parquet", row_group_size=7)

    (batch,) = open_points(tmp_path / "points.parquet", person="who").batches()

    assert np.array_equal(batch.coordinates[:, 0], np.arange(100))
    assert batch.person.to_pylist() == list(range(100))


def test_small_batches_are_joined_and_large_ones_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "BATCH_ROWS", 30)
    parts = [base.Batch(np.full((size, 2), size), pa.array([size] * size, pa.int64())) for size in (20, 0, 20, 50, 7)]

    joined = list(base.regrouped(parts))

    assert [len(batch.coordinates) for batch in joined] == [40, 50, 7]
    assert joined[1] is parts[3]
    assert all(batch.person.to_pylist() == batch.coordinates[:, 0].tolist() for batch in joined)


@pytest.mark.parametrize("encoding", ["WKB", "point"])
def test_geoparquet_keeps_its_column_encoding_and_crs(encoding: str, tmp_path: Path) -> None:
    from pyproj import CRS

    x, y = (pa.array(column) for column in POINTS.T)
    shapes = wkb_of_points(POINTS) if encoding == "WKB" else pa.StructArray.from_arrays([x, y], ["x", "y"])
    crs = CRS.from_epsg(3763).to_json_dict()
    path = saved(tmp_path, {"id": [1, 2, 3], "place": shapes}, geo_of("place", encoding=encoding, crs=crs))
    out = tmp_path / "out.parquet"

    layout = open_points(path).layout
    write_points(out, [read(path)], output_layout(out, layout), statement=None, total=3)

    assert np.array_equal(read(path), POINTS)
    assert np.array_equal(read(out), POINTS)
    written = pq.read_schema(out)
    column = json.loads(written.metadata[b"geo"])["columns"]["place"]
    assert (written.names, column["encoding"], column["geometry_types"]) == (["place"], encoding, ["Point"])
    assert CRS.from_json_dict(column["crs"]) == CRS.from_epsg(3763)
    assert layout.left_out == ("id",)


def test_geoparquet_without_a_crs_is_longitude_and_latitude_and_stays_so(tmp_path: Path) -> None:
    path = saved(tmp_path, {"geometry": wkb_of_points(POINTS)}, geo_of("geometry"))
    out = tmp_path / "out.geoparquet"

    layout = open_points(path).layout
    write_points(out, [POINTS], output_layout(out, layout), statement=None, total=3)

    assert layout.crs == "EPSG:4326"
    written = json.loads(pq.read_schema(out).metadata[b"geo"])["columns"]["geometry"]["crs"]
    assert written["id"] == {"authority": "OGC", "code": "CRS84"}


def test_geoparquet_of_unknown_crs_asks_for_one(tmp_path: Path) -> None:
    path = saved(tmp_path, {"geometry": wkb_of_points(POINTS)}, geo_of("geometry", crs=None))

    with pytest.raises(InputError, match=r"points\.parquet does not say its CRS"):
        open_points(path)
    assert open_points(path, crs="EPSG:3763").layout.crs == "EPSG:3763"


@pytest.mark.parametrize("geometry_types", [[], ["Point", "Polygon"], ["MultiPoint"], ["Point Z"]])
def test_geometries_that_are_not_one_point_are_nowhere(geometry_types: list[str], tmp_path: Path) -> None:
    shapes = shapely.from_wkt(
        ["POINT (1 2)", "POINT EMPTY", "LINESTRING (0 0, 1 1)", "MULTIPOINT ((3 4))", "MULTIPOINT ((1 1), (2 2))", None]
    )
    raw = [None if shape is None else shapely.to_wkb(shape) for shape in shapes]
    raw += [
        b"\x01\x07",
        b"",
        b"\xff" * 21,
        shapely.to_wkb(shapely.Point(5, 6, 7)),
        shapely.to_wkb(shapely.Point(7, 8), byte_order=0),
    ]
    path = saved(tmp_path, {"geometry": raw}, geo_of("geometry", geometry_types=geometry_types))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read(path)

    nowhere = (np.nan, np.nan)
    expected = np.array([(1, 2), nowhere, nowhere, (3, 4), *[nowhere] * 5, (5, 6), (7, 8)])
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("geo", "words"),
    [
        (geo_of("geometry", geometry_types=["Polygon"]), "holds Polygon, not points"),
        (geo_of("geometry", encoding="linestring"), "encoded as 'linestring'"),
        (geo_of("id"), "holds int64, which is not a geometry"),
        (geo_of("nothing"), "'geo' metadata is not in order"),
        ({"columns": []}, "'geo' metadata is not in order"),
    ],
)
def test_geoparquet_without_points_is_refused(geo: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = saved(tmp_path, {"geometry": wkb_of_points(POINTS), "id": [1, 2, 3]}, geo)

    with pytest.raises(InputError, match=words):
        open_points(path)


def test_named_columns_win_over_the_geometry(tmp_path: Path) -> None:
    columns = {"geometry": wkb_of_points(POINTS), "a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}
    path = saved(tmp_path, columns, geo_of("geometry"))

    assert np.array_equal(read(path, columns=("b", "a")), [[4, 1], [5, 2], [6, 3]])


def test_a_damaged_page_gives_an_error_that_quotes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, {"lon": np.arange(10_000.0), "lat": np.arange(10_000.0)})
    data = bytearray(path.read_bytes())
    data[10 : len(data) // 2] = b"\xff" * (len(data) // 2 - 10)
    path.write_bytes(data)

    with pytest.raises(InputError, match=r"points\.parquet is damaged") as caught:
        read(path)
    assert caught.value.__suppress_context__


def nested(depth: int) -> bytes:
    return (b"\x01" + struct.pack("<II", 7, 1)) * depth + bytes(shapely.to_wkb(shapely.Point(1, 2)))


@pytest.mark.parametrize("depth", [1, 100_000])
def test_collections_are_never_opened_however_deep(depth: int, tmp_path: Path) -> None:
    raw = [shapely.to_wkb(shapely.Point(1, 2)), nested(depth)]
    path = saved(tmp_path, {"geometry": raw}, geo_of("geometry", geometry_types=[]))

    code = (
        f"from pointveil.formats import open_points; (b,) = open_points({str(path)!r}).batches(); print(b.coordinates)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "[[ 1.  2.]\n [nan nan]]\n")


@pytest.mark.parametrize("flavor", ["iso", "extended"])
@pytest.mark.parametrize("byte_order", [0, 1])
@pytest.mark.parametrize("srid", [False, True])
@pytest.mark.parametrize("wkt", ["POINT (1 2)", "POINT Z (1 2 3)", "POINT M (1 2 3)", "POINT ZM (1 2 3 4)"])
def test_every_way_to_write_a_point_is_read(flavor: Any, byte_order: int, srid: bool, wkt: str) -> None:  # noqa: FBT001
    point = shapely.from_wkt(wkt)
    many = shapely.from_wkt(wkt.replace("POINT", "MULTIPOINT").replace("(", "((").replace(")", "))"))
    shapes = shapely.set_srid([point, many], 4326)
    options = {"byte_order": byte_order, "include_srid": srid and flavor == "extended", "output_dimension": 4}
    raw = list(shapely.to_wkb(shapes, flavor=flavor, **options))

    found = points_of_wkb(pa.array([*raw, *(each[:-1] for each in raw), None]))

    assert found[:2].tolist() == [[1, 2], [1, 2]]
    assert np.isnan(found[2:]).all()


def test_a_missing_geometry_is_nowhere_even_if_bytes_lie_there() -> None:
    shapes = wkb_of_points(np.ones((2, 2)))
    masked = pa.Array.from_buffers(pa.binary(), 2, [pa.py_buffer(b"\x01"), *shapes.buffers()[1:]])

    assert np.array_equal(points_of_wkb(masked), np.array([(1, 1), (np.nan, np.nan)]), equal_nan=True)


def test_slices_of_wkb_are_read_from_where_they_begin() -> None:
    shapes = wkb_of_points(np.arange(20.0).reshape(-1, 2))

    assert np.array_equal(points_of_wkb(shapes.slice(3, 4)), np.arange(20.0).reshape(-1, 2)[3:7])
    assert points_of_wkb(shapes.slice(3, 0)).shape == (0, 2)


def test_geopandas_reads_what_is_written_here(tmp_path: Path) -> None:
    geopandas = pytest.importorskip("geopandas")
    out = tmp_path / "out.geoparquet"
    like = open_points(saved(tmp_path, {"lon": [1.0], "lat": [2.0]})).layout

    write_points(out, [POINTS], output_layout(out, like), statement="{}", total=3)

    frame = geopandas.read_parquet(out)
    assert frame.crs.to_epsg() == 4326
    assert np.array_equal(np.column_stack([frame.geometry.x, frame.geometry.y]), POINTS)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["who", "lon"])
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is known on Linux only")
def test_a_value_of_300_megabytes_takes_no_two_gigabytes(column: str, tmp_path: Path) -> None:
    columns = {"lon": ["1.5"] * 100, "lat": ["2.5"] * 100, "who": ["a"] * 100}
    columns[column][5] = "x" * 300_000_000
    path = saved(tmp_path, columns)
    code = (
        "import re, sys, numpy as np; from pointveil.formats import open_points\n"
        "(batch,) = open_points(sys.argv[1], person='who').batches()\n"
        "known = np.isfinite(batch.coordinates).all(axis=1) & batch.person.is_valid().to_numpy(zero_copy_only=False)\n"
        "print(known.sum(), re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    )
    del columns

    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)

    known, kilobytes = map(int, done.stdout.split())
    assert known == 99
    assert kilobytes < 1_500_000


def test_long_values_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, {"lon": [1.5] * 50, "lat": [2.5] * 50, "who": [str(i) * 10_000 for i in range(50)]})
    monkeypatch.setattr(parquet, "READ_BYTES", 100_000)
    read_at_once = [len(batch.coordinates) for batch in open_points(path, person="who").pieces()]

    assert sum(read_at_once) == 50
    assert max(read_at_once) < 10
    assert len(read(path, person="who")) == 50


def test_arrow_s_own_extension_types_are_columns_like_others(tmp_path: Path) -> None:
    place = pa.array([1.0, 2.0])
    marks = pa.array([bytes(15) + b"1", bytes(15) + b"2"], pa.binary(16))
    columns = {
        "lon": place,
        "lat": place,
        "mark": pa.ExtensionArray.from_storage(pa.uuid(), marks),
        "note": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "[]"])),
        "truth": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1], pa.int8())),
    }
    pq.write_table(pa.table(columns), tmp_path / "odd.parquet")

    for person, names in (
        (None, None),
        ("mark", [f"00000000-0000-0000-0000-0000000000{ord(sign):x}".encode() for sign in "12"]),
        ("note", [b"{}", b"[]"]),
        ("truth", [b"false", b"true"]),
    ):
        source = open_points(tmp_path / "odd.parquet", person=person)
        (batch,) = source.batches()
        assert source.layout.left_out == ("mark", "note", "truth")
        assert batch.coordinates.tolist() == [[1, 1], [2, 2]]
        assert names is None or batch.person.to_pylist() == names
