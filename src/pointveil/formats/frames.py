"""Points that the caller holds in memory: Arrow streams, frames, geometries, arrays and lists of pairs."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.cells.arrays import blocks
from pointveil.errors import InputError
from pointveil.files.crs import DEGREES, chosen_crs
from pointveil.formats import base, spark
from pointveil.formats.base import Batch, DamagedError, Layout, PointSource, Request, make_batch
from pointveil.formats.codes import coded
from pointveil.formats.columns import find_column, find_columns, no_columns, plain_layout, usual_names
from pointveil.formats.kept import with_kept
from pointveil.formats.series import code_reader, kept_kind, numeric_reader, person_reader
from pointveil.formats.tables import batch_of, layout_of, needed_columns
from pointveil.formats.values import number_of, numbers_of
from pointveil.formats.wkb import points_of_shapes

SOURCE = "The frame"
USED = "The stream was read before, and can be read only once; make it anew."
_used: WeakSet[Any] = WeakSet()  # streams that were read
Rows = Callable[[slice], Any]  # returns something about some of the records


def read(source: Any, request: Request) -> PointSource:
    """Open whatever holds points; no library of frames needs to be installed."""
    for kind in type(source).__mro__:
        reader = READERS.get((kind.__module__.split(".")[0], kind.__name__))
        if reader is not None:
            return reader(source, request)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_reader(_quietly(lambda: pa.RecordBatchReader.from_stream(source)), request)
    raise InputError(
        f"Points cannot be read from a {type(source).__name__}; give a path, an (n, 2) array, a geopandas frame or "
        "series, or anything with an Arrow stream (pandas, polars, DuckDB, ibis, pyarrow)."
    )


def _in_memory(
    layout: Layout, count: int, coordinates: Rows, people: Rows = lambda _: None, codes: Rows = lambda _: ()
) -> PointSource:
    def pieces() -> Iterator[Batch]:
        for part in blocks(count, base.BATCH_ROWS):
            yield make_batch(coordinates(part), people(part), codes(part))

    return PointSource(layout, pieces)


def _from_table(table: Any, request: Request, layout: Layout | None = None) -> PointSource:
    """Open a table or record batch that Arrow holds in memory already."""
    form = layout or _layout(table.schema, request)
    return PointSource(form, partial(_sliced, table, form, request))


def _sliced(table: Any, layout: Layout, request: Request) -> Iterator[Batch]:
    for part in blocks(len(table), base.BATCH_ROWS):
        yield batch_of(table.slice(part.start, part.stop - part.start), layout, request)


def _from_reader(reader: Any, request: Request) -> PointSource:
    if reader in _used:
        raise DamagedError(USED)
    return _from_stream(reader, _layout(reader.schema, request), request)


def _from_stream(stream: Iterable[Any], layout: Layout, request: Request) -> PointSource:
    """Open batches that come only once."""
    columns = needed_columns(layout, request)

    def pieces() -> Iterator[Batch]:
        if stream in _used:  # what is left, which is nothing, is not taken for all there is
            raise DamagedError(USED)
        _used.add(stream)
        batches = iter(stream)
        while (batch := _quietly(lambda: next(batches, None))) is not None:
            yield from _sliced(batch.select(columns), layout, request)

    return PointSource(layout, pieces, name="The stream", is_stream=True)


def _from_polars(frame: Any, request: Request) -> PointSource:
    """Collect no more columns than are needed; of a lazy frame, no more rows at a time than its library does."""
    layout = _layout(_quietly(lambda: frame.head(0).lazy().collect().to_arrow()).schema, request)
    columns = needed_columns(layout, request)
    for name in columns:
        # Of a Python object Arrow sees the address alone, so that one person would seem to be many.
        if str(frame.collect_schema()[name]) == "Object":
            raise InputError(f"Column {name!r} of the frame holds Python objects; make it text or numbers first.")
    if not hasattr(frame, "collect_batches"):  # not lazy, or of an older polars
        return _from_table(_quietly(lambda: frame.select(columns).lazy().collect().to_arrow()), request, layout)
    batches = _quietly(lambda: frame.select(columns).collect_batches(lazy=True))
    return _from_stream((batch.to_arrow() for batch in batches), layout, request)


def _layout(schema: Any, request: Request) -> Layout:
    return dataclasses.replace(layout_of(schema, request, SOURCE), format="frame")


def _quietly(work: Callable[[], Any]) -> Any:
    """Do what may be refused with words that quote a record."""
    try:
        return work()
    except Exception:  # noqa: BLE001 — a query of any library raises errors of any kind
        raise DamagedError("The frame cannot be read; see that its own query runs.") from None


def _from_pandas(frame: Any, request: Request) -> PointSource:
    names = [str(name) for name in frame.columns]
    places = find_columns(names, request.columns, SOURCE)
    readers = [numeric_reader(frame.iloc[:0, place], names[place]) for place in places]

    def coordinates(part: slice) -> Any:
        return np.column_stack([read(frame.iloc[part, at]) for read, at in zip(readers, places, strict=True)])

    layout, codes = _kept(frame, names, plain_layout("frame", names, places, request.crs, SOURCE), request)
    return _in_memory(layout, len(frame), coordinates, _people(frame, names, request), codes)


def _from_geopandas(frame: Any, request: Request) -> PointSource:
    if request.columns is not None:
        return _from_pandas(frame, request)
    names = [str(name) for name in frame.columns]
    try:
        shapes = frame.geometry
    except AttributeError:
        raise InputError("The frame has no geometry; set one, or say columns=('LON', 'LAT').") from None
    return _from_shapes(shapes, request, frame, names)


def _from_shapes(shapes: Any, request: Request, frame: Any = None, names: Sequence[str] = ()) -> PointSource:
    """Open a series of geometries, which says its own CRS, and is perhaps a part of a frame."""
    no_columns(request.columns, "The series")
    own = None if shapes.crs is None else shapes.crs.to_wkt()
    name = "geometry" if shapes.name is None else str(shapes.name)
    left_out = tuple(other for other in names if other != name)
    layout = Layout("frame", crs=chosen_crs(own, request.crs, SOURCE), geometry=name, left_out=left_out)
    layout, codes = _kept(frame, names, layout, request)
    people = _people(frame, names, request)
    return _in_memory(layout, len(shapes), lambda part: points_of_shapes(shapes.iloc[part].to_numpy()), people, codes)


def _kept(frame: Any, names: Sequence[str], layout: Layout, request: Request) -> tuple[Layout, Rows]:
    """Return a layout with the kept columns of a pandas frame, and what gives their codes in some rows."""
    found = with_kept(layout, names, request, SOURCE, lambda column, at: kept_kind(frame.iloc[:0, at], column))
    readers = {}
    for column in coded(request.keep):
        at = list(names).index(column.name)
        readers[at] = code_reader(frame.iloc[:0, at], column, found.kept[column.name].type)
    return found, lambda part: tuple(read(frame.iloc[part, at]) for at, read in readers.items())


def _people(frame: Any, names: Sequence[str], request: Request) -> Rows:
    """Return what gives the persons of some rows of a pandas frame."""
    if request.person is None:
        return lambda _: None
    place = find_column(names, request.person, SOURCE)
    read = person_reader(frame.iloc[:0, place], request.person)
    return lambda part: read(frame.iloc[part, place])


def _from_array(values: Any, request: Request) -> PointSource:
    def floats(part: Any) -> NDArray[np.float64]:
        if part.dtype.kind in "iuf":
            return np.ma.filled(part.astype(np.float64), np.nan)
        return numbers_of(np.ma.filled(part.astype(object), None).ravel()).reshape(-1, 2)

    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iufOUS":
        raise InputError("An array of points has two columns, x and y (or longitude and latitude), of numbers.")
    return _from_pairs(values, request, floats)


def _one_by_one(pairs: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([_pair(value) for value in pairs], dtype=np.float64).reshape(-1, 2)


def _pair(value: Any) -> tuple[float, float]:
    try:
        x, y = value
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a record nowhere
        return float("nan"), float("nan")
    return number_of(x), number_of(y)


def _from_pairs(
    pairs: Any, request: Request, floats: Callable[[Any], NDArray[np.float64]] = _one_by_one
) -> PointSource:
    """Open points that have no names at all: degrees, unless the caller names another CRS."""
    if request.columns is not None or request.person is not None or request.keep:
        raise InputError("Arrays and lists of points have no columns; give a frame to name columns or a person.")
    crs = chosen_crs(request.crs or DEGREES, None, SOURCE)
    layout = plain_layout("frame", usual_names(crs), (0, 1), crs, SOURCE)
    return _in_memory(layout, len(pairs), lambda part: floats(pairs[part]))


READERS: dict[tuple[str, str], Callable[[Any, Request], PointSource]] = {
    ("geopandas", "GeoDataFrame"): _from_geopandas,
    ("geopandas", "GeoSeries"): _from_shapes,
    ("pandas", "DataFrame"): _from_pandas,
    ("pyarrow", "Table"): _from_table,
    ("pyarrow", "RecordBatch"): _from_table,
    ("pyarrow", "RecordBatchReader"): _from_reader,
    ("pyspark", "DataFrame"): spark.read,
    ("polars", "DataFrame"): _from_polars,
    ("polars", "LazyFrame"): _from_polars,
    ("numpy", "ndarray"): _from_array,
    ("builtins", "list"): _from_pairs,
    ("builtins", "tuple"): _from_pairs,
}
