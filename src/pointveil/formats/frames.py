"""Points in frames that the caller holds: pyarrow, pandas, polars, geopandas."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.formats.base import BATCH_ROWS, Batch, Layout, Request, make_batch
from pointveil.formats.columns import find_column, find_columns
from pointveil.formats.crs import DEFAULT_CRS, chosen_crs
from pointveil.formats.tables import batch_of, layout_of, needed_columns
from pointveil.formats.values import numbers
from pointveil.formats.wkb import points_of_shapes

SOURCE = "The frame"


@dataclass(frozen=True, repr=False)
class FramePoints:
    """Points in memory.

    Parameters
    ----------
    layout
        The public facts.
    pieces
        Yields the records anew each time.
    """

    layout: Layout
    pieces: Callable[[], Iterator[Batch]]

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order."""
        return self.pieces()


def read(source: Any, request: Request) -> FramePoints:
    """Open a frame of any library in the table, none of which needs to be installed."""
    for kind in type(source).__mro__:
        reader = READERS.get((kind.__module__.split(".")[0], kind.__name__))
        if reader is not None:
            return reader(source, request)
    raise InputError(
        f"Points cannot be read from a {type(source).__name__}; give a path, a pyarrow table, "
        "or a pandas, polars or geopandas frame.",
    )


def _from_arrow(table: Any, request: Request) -> FramePoints:
    layout = _as_frame(layout_of(table.schema, request, SOURCE))
    columns = needed_columns(layout, request.person)

    def pieces() -> Iterator[Batch]:
        for start in range(0, table.num_rows, BATCH_ROWS):
            yield batch_of(table.select(columns).slice(start, BATCH_ROWS), layout, request.person)

    return FramePoints(layout, pieces)


def _from_polars(frame: Any, request: Request) -> FramePoints:
    names = frame.collect_schema().names()
    wanted = [names[place] for place in find_columns(names, request.columns, SOURCE)]
    columns = list(dict.fromkeys([*wanted, *([request.person] if request.person else [])]))
    for name in columns:
        find_column(names, name, SOURCE)
    part = frame.select(columns)
    table = (part.collect() if hasattr(part, "collect") else part).to_arrow()
    points = _from_arrow(table, dataclasses.replace(request, columns=(wanted[0], wanted[1])))
    left_out = tuple(name for name in names if name not in wanted)
    y_first = names.index(wanted[1]) < names.index(wanted[0])
    return FramePoints(dataclasses.replace(points.layout, left_out=left_out, y_first=y_first), points.pieces)


def _from_pandas(frame: Any, request: Request) -> FramePoints:
    names = [str(name) for name in frame.columns]
    x, y = find_columns(names, request.columns, SOURCE)
    person = None if request.person is None else find_column(names, request.person, SOURCE)
    layout = Layout(
        "frame",
        crs=chosen_crs(request.crs or DEFAULT_CRS, None, SOURCE),
        x=names[x],
        y=names[y],
        y_first=y < x,
        left_out=tuple(name for place, name in enumerate(names) if place not in (x, y)),
    )

    def pieces() -> Iterator[Batch]:
        for start in range(0, len(frame), BATCH_ROWS):
            part = frame.iloc[start : start + BATCH_ROWS]
            owner = None if person is None else _arrow(part.iloc[:, person])
            yield make_batch(numbers(_arrow(part.iloc[:, x])), numbers(_arrow(part.iloc[:, y])), owner)

    return FramePoints(layout, pieces)


def _from_geopandas(frame: Any, request: Request) -> FramePoints:
    if request.columns is not None:
        return _from_pandas(frame, request)
    names = [str(name) for name in frame.columns]
    try:
        shapes = frame.geometry
    except AttributeError:
        raise InputError("The frame has no geometry; set one, or say columns=('LON', 'LAT').") from None
    person = None if request.person is None else find_column(names, request.person, SOURCE)
    own = None if shapes.crs is None else shapes.crs.to_wkt()
    name = str(shapes.name)
    left_out = tuple(other for other in names if other != name)
    layout = Layout("frame", crs=chosen_crs(own, request.crs, SOURCE), geometry=name, left_out=left_out)

    def pieces() -> Iterator[Batch]:
        for start in range(0, len(frame), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            coordinates = points_of_shapes(shapes.iloc[part].to_numpy())
            owner = None if person is None else _arrow(frame.iloc[part, person])
            yield make_batch(coordinates[:, 0], coordinates[:, 1], owner)

    return FramePoints(layout, pieces)


def _arrow(series: Any) -> Any:
    """Return a pandas column as Arrow, value by value if its values are of many kinds."""
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        column = pa.array([_text(value) for value in series.array], pa.string())
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _text(value: Any) -> str | None:
    try:
        return str(value).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a value that is not a number
        return None


def _as_frame(layout: Layout) -> Layout:
    return dataclasses.replace(layout, format="frame")


READERS: dict[tuple[str, str], Callable[[Any, Request], FramePoints]] = {
    ("pyarrow", "Table"): _from_arrow,
    ("pyarrow", "RecordBatch"): _from_arrow,
    ("geopandas", "GeoDataFrame"): _from_geopandas,
    ("pandas", "DataFrame"): _from_pandas,
    ("polars", "DataFrame"): _from_polars,
    ("polars", "LazyFrame"): _from_polars,
}
