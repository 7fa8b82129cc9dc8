"""Whatever one record holds, a reader gives all others as it would without that one, and says the same."""

import itertools
import json
import os
import shutil
import sqlite3
import struct
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pointveil.columns import parse_keep
from pointveil.errors import PointveilError
from pointveil.formats import base, geojson, open_points, parquet, records

# The same examples each time, unless more are wanted: POINTVEIL_EXAMPLES=5000 tries new ones.
MORE = os.environ.get("POINTVEIL_EXAMPLES")
SETTINGS = settings(
    max_examples=int(MORE or 60), derandomize=MORE is None, database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)  # fmt: skip

ODD_NUMBERS = (
    *("10.0", "50", " 10.5 ", "-0", "1e400", "1e-400", "nan", "NaN", "inf", "-Infinity", "0x10", "1_0", "1,5", "1.5.2"),
    *("", " ", "+3", ".5", "5.", "9" * 400, "१", "null", "None", "true", "1e5", "1E+5", "--1", "\x00", "1\x002"),
    *("7", "\ufeff1"),
)
ODD_NAMES = (
    *("ann", "ANN", " ann", "ann\t", "", " ", "7", "7.0", "007", "7e0", "null", "é", "e\u0301", "\ufeff", "\ufeff1"),
    *("a" * 300, "a" * 255 + "b", '"', '"a"', "'", "a,b", "a;b", "\\", "{", "}]}", "nan", "-0", "true", "\U0001f600"),
    *("\x00", "\u2028"),
)
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 10.0, 50.0, 1e308, 5e-324])
MOMENTS = ("2014-04-01", "2014-04-01T08:00:00Z", "2014-04-01 08:00", "01/04/2014", "1/4/2014", "2014-02-30", "99,5")
NAMES = st.sampled_from((*ODD_NAMES, *MOMENTS)) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COORDINATES = st.sampled_from(ODD_NUMBERS) | FLOATS.map(repr)


NOBODY = (repr([float("nan")] * 2), repr(None))


@dataclass(frozen=True)
class Reading:
    """What a reader gave: how it ended, how often each record came, and all it said elsewhere."""

    ended: str
    rows: Counter[Any]
    said: tuple[Any, ...]


def read(
    source: Any, capture: pytest.CaptureFixture[str], log: pytest.LogCaptureFixture, keep: str | None = None
) -> Reading:
    """Read all records of a source whose column 'who', if it has columns, says persons, or what is kept."""
    options: dict[str, Any] = {"person": "who"} if keep is None else {"keep": (parse_keep(keep),)}
    options = {} if isinstance(source, list | np.ndarray) else options
    rows: Counter[Any] = Counter()
    capture.readouterr()
    log.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended = "whole"
        try:
            for batch in open_points(source, **options).batches():
                who = [None] * len(batch.coordinates) if batch.person is None else batch.person.to_pylist()
                places = (batch.coordinates + 0.0).tolist()
                for codes in batch.codes:
                    # A record nowhere is dropped, whatever it says.
                    who = [None if np.isnan(place).any() else code for place, code in zip(places, codes, strict=True)]
                rows.update((repr(place), repr(told)) for place, told in zip(places, who, strict=True))
        except PointveilError as fault:
            ended = str(fault)
    del rows[NOBODY]  # how many records have neither a place nor a person changes no answer
    said = capture.readouterr()
    told = (said.out, said.err, [str(each.message) for each in caught], [entry.getMessage() for entry in log.records])
    return Reading(ended, rows, told)


# ---- sources: records of a format, and how they become a file or a frame ----


@dataclass(frozen=True)
class Source:
    """One kind of source.

    Parameters
    ----------
    records
        Records as odd as the kind allows.
    make
        Makes a source of some records, in a folder.
    needs
        The library without which there is no such source.
    """

    records: st.SearchStrategy[Any]
    make: Callable[[Path, list[Any]], Any]
    needs: str = "pyarrow"


def no_new_line(line: bytes) -> bytes:
    return line.replace(b"\n", b"").replace(b"\r", b"")


def csv_records(delimiter: str) -> st.SearchStrategy[bytes]:
    field = COORDINATES | NAMES | NAMES.map(lambda name: '"' + name.replace('"', '""') + '"')
    row = st.tuples(COORDINATES, COORDINATES, field) | st.lists(field, max_size=5).map(tuple)
    lines = row.map(lambda fields: delimiter.join(fields).encode())
    return (lines | st.binary(max_size=40)).map(no_new_line)


def csv_file(delimiter: str) -> Callable[[Path, list[bytes]], Path]:
    def make(folder: Path, lines: list[bytes]) -> Path:
        header = delimiter.join(("lon", "lat", "who")).encode()
        (folder / "people.csv").write_bytes(b"\n".join([header, *lines]) + b"\n")
        return folder / "people.csv"

    return make


SCALARS = st.none() | st.booleans() | st.integers() | FLOATS | NAMES
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
PLACES = st.lists(FLOATS | st.integers() | JSON_VALUES, max_size=4)
GEOMETRIES = JSON_VALUES | st.fixed_dictionaries(
    {"type": st.sampled_from(["Point", "MultiPoint", "Polygon"]), "coordinates": PLACES | st.lists(PLACES, max_size=2)}
)
FEATURES = JSON_VALUES | st.fixed_dictionaries(
    {
        "type": st.just("Feature"),
        "geometry": GEOMETRIES,
        "properties": JSON_VALUES | st.fixed_dictionaries({"who": JSON_VALUES}),
    }
)
FEATURE_TEXTS = FEATURES.map(json.dumps) | st.sampled_from(
    [
        '{"geometry":{"type":"Point","coordinates":[1,2]},"geometry":null}',
        "[" * 2000 + "]" * 2000,
        "1" * 5000,
        '"\\ud800"',
    ]
)
BROKEN_TEXTS = st.tuples(FEATURE_TEXTS, st.integers(0, 10**6)).map(lambda pair: without_one(*pair))


def without_one(text: str, place: int) -> str:
    """Return a text without one of its characters."""
    place %= len(text)
    return text[:place] + text[place + 1 :]


def geojson_file(folder: Path, features: list[str]) -> Path:
    path = folder / "people.geojson"
    path.write_text('{"type":"FeatureCollection","features":[\n' + ",\n".join(features) + "\n]}\n")
    return path


def wkb(code: int, *numbers: float, order: str = "<") -> bytes:
    return struct.pack(f"{order}BI{len(numbers)}d", order == "<", code, *numbers)


def changed(raw: bytes, place: int, value: int) -> bytes:
    """Return bytes of which one is another, or that end early."""
    place %= len(raw)
    return raw[:place] + bytes([value % 256]) * (value < 256) + raw[place + 1 :] if value < 300 else raw[:place]


CODES = st.sampled_from([1, 1, 1, 1001, 2001, 3001, 0x80000001, 0x20000001, 2, 4])
PLACES_OF_POINTS = st.tuples(FLOATS, FLOATS) | st.lists(FLOATS, min_size=2, max_size=4)
SHAPES = st.builds(
    lambda code, place, order: wkb(code, *place, order=order), CODES, PLACES_OF_POINTS, st.sampled_from("<<>")
)
WKB = (
    SHAPES
    | st.tuples(SHAPES, st.integers(0, 99), st.integers(0, 400)).map(lambda args: changed(*args))
    | st.binary(max_size=40)
)
# Points of the plainest kind are read all at once.
PLAIN_POINTS = st.builds(
    lambda code, x, y, order, more: wkb(code, x, y, order=order) + more,
    *(st.sampled_from([1, 1, 1, 2]), FLOATS, FLOATS, st.sampled_from("<<<>"), st.sampled_from([b""] * 9 + [b"more"])),
)
GPKG_SHAPES = WKB.map(lambda raw: struct.pack("<2sBBi", b"GP", 0, 1, 4326) + raw) | WKB

WHOLE = st.integers(-(2**63), 2**63 - 1)
ARROW_VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "double": (pa.float64(), FLOATS),
    "float": (pa.float32(), st.floats(width=32)),
    "long": (pa.int64(), WHOLE),
    "text": (pa.string(), COORDINATES | NAMES),
    "bytes": (pa.binary(), NAMES.map(str.encode) | st.binary(max_size=20)),
    "words": (pa.dictionary(pa.int32(), pa.string()), COORDINATES | NAMES),
    "decimal": (pa.decimal128(30, 9), st.decimals(-(10**9), 10**9, places=9)),
    "moment": (pa.timestamp("us"), WHOLE),
    "truth": (pa.bool_(), st.booleans()),
}


def arrow_table(x: str, who: str) -> Callable[[Path, list[Any]], Any]:
    def make(folder: Path, rows: list[Any]) -> Any:
        kinds = {"lon": ARROW_VALUES[x][0], "lat": ARROW_VALUES[x][0], "who": ARROW_VALUES[who][0]}
        return pa.table(
            {name: pa.array([row[at] for row in rows], kind) for at, (name, kind) in enumerate(kinds.items())}
        )

    return make


def parquet_file(make: Callable[[Path, list[Any]], Any]) -> Callable[[Path, list[Any]], Path]:
    def write(folder: Path, rows: list[Any]) -> Path:
        pq.write_table(make(folder, rows), folder / "people.parquet", row_group_size=3)
        return folder / "people.parquet"

    return write


def arrow_rows(x: str, who: str) -> st.SearchStrategy[Any]:
    place, name = (st.none() | ARROW_VALUES[kind][1] for kind in (x, who))
    return st.tuples(place, place, name)


def geometry_table(encoding: str) -> Callable[[Path, list[Any]], Any]:
    kinds = {"WKB": pa.binary(), "point": pa.struct([("x", pa.float64()), ("y", pa.float64())])}
    about = {
        "version": "1.1.0",
        "primary_column": "shape",
        "columns": {"shape": {"encoding": encoding, "geometry_types": []}},
    }

    def make(folder: Path, rows: list[Any]) -> Any:
        columns = {
            "shape": pa.array([row[0] for row in rows], kinds[encoding]),
            "who": pa.array([row[1] for row in rows], pa.string()),
        }
        return pa.table(columns).replace_schema_metadata({"geo": json.dumps(about)})

    return make


PAIRS = st.none() | st.fixed_dictionaries({"x": st.none() | FLOATS, "y": st.none() | FLOATS})


@cache
def empty_geopackage() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_vector(Path(folder, "people.gpkg"), [], driver="GPKG", SPATIAL_INDEX="NO", GEOMETRY_NAME="shape")
        return Path(folder, "people.gpkg").read_bytes()


def geopackage(folder: Path, rows: list[Any]) -> Path:
    path = folder / "people.gpkg"
    path.write_bytes(empty_geopackage())
    with sqlite3.connect(path) as database:
        database.executemany("INSERT INTO people (shape, who) VALUES (?, ?)", rows)
    database.close()
    return path


def write_vector(path: Path, rows: list[Any], *, driver: str, kind: str = "Point", **options: Any) -> None:
    field = pa.field("shape", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    columns = [pa.array([row[0] for row in rows], pa.binary()), pa.array([row[1] for row in rows], pa.string())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pa.table(columns, schema=pa.schema([field, ("who", pa.string())]))
        pyogrio.write_arrow(
            table,
            path,
            driver=driver,
            layer="people",
            geometry_name="shape",
            geometry_type=kind,
            crs="EPSG:4326",
            **options,
        )


def shapefile(folder: Path, rows: list[Any]) -> Path:
    write_vector(folder / "people.shp", rows, driver="ESRI Shapefile", ENCODING="UTF-8")
    return folder / "people.shp"


def flatgeobuf(folder: Path, rows: list[Any]) -> Path:
    write_vector(folder / "people.fgb", rows, driver="FlatGeobuf", kind="Unknown", SPATIAL_INDEX="NO")
    return folder / "people.fgb"


FINITE = st.floats(allow_nan=False, allow_infinity=False)  # GDAL writes no other into a Shapefile
GOOD_SHAPES = st.none() | st.tuples(FINITE, FINITE).map(lambda place: wkb(1, *place))
ANY_SHAPES = GOOD_SHAPES | st.sampled_from(
    [
        "POINT EMPTY",
        "LINESTRING (0 0, 1 1)",
        "MULTIPOINT ((3 4))",
        "MULTIPOINT EMPTY",
        "POINT Z (5 6 7)",
        "GEOMETRYCOLLECTION EMPTY",
    ]
).map(lambda text: shapely.to_wkb(shapely.from_wkt(text)))
# dBASE ends a text at a zero byte and cuts it at 254 bytes, which is the writer's business.
SHORT_NAMES = st.none() | NAMES.map(lambda name: name.replace("\x00", "")[:50])

OBJECTS = st.one_of(
    *(SCALARS, COORDINATES, st.binary(max_size=8), st.complex_numbers(), st.decimals(), st.dates(), st.timedeltas()),
    *(
        st.uuids(),
        st.lists(SCALARS, max_size=2),
        st.builds(np.float32, st.floats(width=32)),
        st.builds(np.int64, WHOLE),
    ),
    *(st.just(odd) for odd in (Decimal("sNaN"), object(), np.datetime64("NaT"), 10**400)),
)


def pandas_frame(folder: Path, rows: list[Any]) -> Any:
    import pandas as pd

    columns = ("lon", "lat", "who")
    return pd.DataFrame({name: pd.Series([row[at] for row in rows], dtype=object) for at, name in enumerate(columns)})


def geopandas_frame(folder: Path, rows: list[Any]) -> Any:
    import geopandas
    import pandas as pd

    shapes = shapely.from_wkb([row[0] for row in rows])
    who = pd.Series([row[1] for row in rows], dtype=object)
    return geopandas.GeoDataFrame({"who": who}, geometry=shapes, crs="EPSG:4326")


def polars_frame(folder: Path, rows: list[Any]) -> Any:
    import polars as pl

    return pl.DataFrame(rows, schema={"lon": pl.String, "lat": pl.String, "who": pl.String}, orient="row")


def in_folders(
    make: Callable[[Path, list[Any]], Any], suffix: str, write: Callable[[Any, Path], Any]
) -> Callable[[Path, list[Any]], Path]:
    """Return what makes a folder of two files, one of them in a folder of its own."""

    def split(folder: Path, rows: list[Any]) -> Path:
        for place, part in enumerate((rows[:2], rows[2:])):
            target = folder / "parts" / ("deep" * place) / f"part-{place}{suffix}"
            target.parent.mkdir(parents=True, exist_ok=True)
            write(make(folder, part), target)
        return folder / "parts"

    return split


SOURCES = {
    "folder of CSV": Source(csv_records(","), in_folders(csv_file(","), ".csv", shutil.copy)),
    "folder of Parquet": Source(
        arrow_rows("text", "bytes"), in_folders(arrow_table("text", "bytes"), ".parquet", pq.write_table)
    ),
    "reader": Source(
        arrow_rows("text", "bytes"), lambda folder, rows: arrow_table("text", "bytes")(folder, rows).to_reader(3)
    ),
    "polars lazy": Source(
        st.tuples(*[st.none() | COORDINATES | NAMES] * 3), lambda *args: polars_frame(*args).lazy(), "polars"
    ),
    **{f"csv {mark!r}": Source(csv_records(mark), csv_file(mark)) for mark in (",", ";", "\t")},
    "geojson": Source(FEATURE_TEXTS, geojson_file),
    **{
        f"parquet {x}, {who}": Source(arrow_rows(x, who), parquet_file(arrow_table(x, who)))
        for x, who in [
            ("double", "text"),
            ("text", "bytes"),
            ("words", "words"),
            ("float", "long"),
            ("decimal", "decimal"),
        ]
    },
    "geoparquet WKB": Source(st.tuples(st.none() | WKB, st.none() | NAMES), parquet_file(geometry_table("WKB"))),
    "geoparquet plain WKB": Source(st.tuples(PLAIN_POINTS, NAMES), parquet_file(geometry_table("WKB"))),
    "geoparquet point": Source(st.tuples(PAIRS, st.none() | NAMES), parquet_file(geometry_table("point"))),
    "geopackage": Source(
        st.tuples(st.none() | GPKG_SHAPES | NAMES | WHOLE | FLOATS, st.none() | NAMES | WHOLE | FLOATS | WKB),
        geopackage,
    ),
    "shapefile": Source(st.tuples(GOOD_SHAPES, SHORT_NAMES), shapefile),
    "flatgeobuf": Source(st.tuples(ANY_SHAPES, st.none() | NAMES), flatgeobuf),
    "arrow": Source(arrow_rows("long", "moment"), arrow_table("long", "moment")),
    "arrow text": Source(arrow_rows("text", "truth"), arrow_table("text", "truth")),
    "pandas": Source(st.tuples(OBJECTS, OBJECTS, OBJECTS), pandas_frame, "pandas"),
    "geopandas": Source(st.tuples(ANY_SHAPES, OBJECTS), geopandas_frame, "geopandas"),
    "polars": Source(st.tuples(*[st.none() | COORDINATES | NAMES] * 3), polars_frame, "polars"),
    # A list of nothing but texts is a list of files, so text by itself is no record of a list.
    "pairs": Source(
        OBJECTS.filter(lambda one: not isinstance(one, str)) | st.lists(OBJECTS, max_size=3), lambda _, rows: rows
    ),
    "array": Source(st.tuples(FLOATS, FLOATS), lambda _, rows: np.array(rows, dtype=np.float64).reshape(-1, 2)),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a handful of records be several batches and blocks."""
    monkeypatch.setattr(base, "BATCH_ROWS", 4)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 4)
    monkeypatch.setattr(geojson, "BATCH_ROWS", 4)
    monkeypatch.setattr(geojson, "READ_BYTES", 64)
    monkeypatch.setattr(records, "BLOCK_BYTES", 512)


def check_independence(
    source: Source, data: st.DataObject, capture: pytest.CaptureFixture[str], log: pytest.LogCaptureFixture,
    stranger: st.SearchStrategy[Any] | None = None, keeps: Iterable[str | None] = (None,),
) -> None:  # fmt: skip
    """Read some records with and without a stranger among them, in each of these ways, and compare."""
    others = data.draw(st.lists(source.records, max_size=8), "others")
    place = data.draw(st.integers(0, len(others)), "place")
    one = data.draw(source.records if stranger is None else stranger, "stranger")
    readings: list[list[Reading]] = []
    for some in (others, [*others[:place], one, *others[place:]]):
        folder = Path(tempfile.mkdtemp())
        try:
            made = source.make(folder, some)
            # What is no file may be read only once.
            again = (made if isinstance(made, Path) else source.make(folder, some) for _ in itertools.count())
            readings.append([read(next(again), capture, log, keep) for keep in keeps])
        finally:
            shutil.rmtree(folder)
    for without, with_one in zip(*readings, strict=True):
        assert with_one.ended == without.ended
        assert with_one.said == without.said
        assert without.rows <= with_one.rows
        assert with_one.rows.total() - without.rows.total() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_one_record_more_leaves_all_others_as_they_were(
    name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    source = SOURCES[name]
    pytest.importorskip(source.needs)

    @SETTINGS
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        check_independence(source, data, capfd, caplog)

    check()


# What is kept of a column, and values that say something of this kind, or nearly.
KEPT = {
    "who=time:1970-01-01/2040-01-01@1d": (
        *(
            "2014-04-01",
            "2014-04-01T08:00:00Z",
            "2014-04-01 08:00",
            " 2014-04-01",
            "2014-02-30",
            "2014-04-01T08:00:00.5",
        ),
        *("2014-04-01T25:00", "2014-04-01+02:00", "1399999999"),
    ),
    "who=time:1970-01-01/2040-01-01@1d;format=%d/%m/%Y;other=drop": (
        "01/04/2014",
        "1/4/2014",
        "31/02/2014",
        "01/04/2014 ",
    ),
    "who=category:7,8": ("7", "7.0", " 7", "8", "008"),
    "who=number:0..100;decimals=0;decimal=,": ("7", "99,5", "99.5", "1e2", "-0", "1e999"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SOURCES if name not in {"pairs", "array"}])
def test_nor_does_it_change_what_their_kept_columns_say(
    name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    source = SOURCES[name]
    pytest.importorskip(source.needs)

    @settings(SETTINGS, max_examples=max(SETTINGS.max_examples // 3, 1))
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        check_independence(source, data, capfd, caplog, None, KEPT)

    check()


@pytest.mark.parametrize("keep", KEPT)
def test_each_text_has_the_code_that_it_has_alone(keep: str, tmp_path: Path) -> None:
    texts = [*KEPT[keep], *ODD_NAMES]
    lines = [b"10,50," + b'"' + text.replace('"', '""').encode() + b'"' for text in texts]

    def codes(some: list[bytes]) -> list[int]:
        source = open_points(csv_file(",")(tmp_path, some), keep=(parse_keep(keep),))
        return [int(code) for batch in source.batches() for code in batch.codes[0]]

    assert codes(lines) == [code for line in lines for code in codes([line])]
    assert len({*codes(lines)}) > 1


@pytest.mark.slow
def test_one_broken_feature_leaves_all_others_as_they_were(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    @settings(SETTINGS, phases=[Phase.generate])
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        check_independence(SOURCES["geojson"], data, capfd, caplog, BROKEN_TEXTS)

    check()
