"""Points in frames that the caller holds: pyarrow, pandas, polars, geopandas."""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pointveil.errors import InputError
from pointveil.formats.base import BATCH_ROWS, Batch, Layout, Request, make_batch
from pointveil.formats.columns import find_column, find_columns
from pointveil.formats.crs import DEFAULT_CRS, chosen_crs
from pointveil.formats.series import numeric_reader, person_reader
from pointveil.formats.tables import batch_of, layout_of, needed_columns
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
    names = _quietly(lambda: frame.collect_schema().names())
    wanted = [names[place] for place in find_columns(names, request.columns, SOURCE)]
    columns = list(dict.fromkeys([*wanted, *([request.person] if request.person else [])]))
    for name in columns:
        find_column(names, name, SOURCE)
    part = frame.select(columns)
    table = _quietly(lambda: _collected(part).to_arrow())
    points = _from_arrow(table, dataclasses.replace(request, columns=(wanted[0], wanted[1])))
    left_out = tuple(name for name in names if name not in wanted)
    y_first = names.index(wanted[1]) < names.index(wanted[0])
    return FramePoints(dataclasses.replace(points.layout, left_out=left_out, y_first=y_first), points.pieces)


def _collected(frame: Any) -> Any:
    return frame.collect() if hasattr(frame, "collect") else frame


def _quietly(work: Callable[[], Any]) -> Any:
    """Do what polars may refuse with words that quote a record."""
    try:
        return work()
    except Exception:  # noqa: BLE001 — polars and its plug-ins raise errors of any kind
        raise InputError("The polars frame cannot be collected; see that its own query runs.") from None


def _from_pandas(frame: Any, request: Request) -> FramePoints:
    names = [str(name) for name in frame.columns]
    x, y = find_columns(names, request.columns, SOURCE)
    coordinates_of = [numeric_reader(frame.iloc[:0, place], names[place]) for place in (x, y)]
    people = _people(frame, names, request)
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
            part = slice(start, start + BATCH_ROWS)
            horizontal, vertical = (
                read(frame.iloc[part, place]) for read, place in zip(coordinates_of, (x, y), strict=True)
            )
            yield make_batch(horizontal, vertical, people(part))

    return FramePoints(layout, pieces)


def _from_geopandas(frame: Any, request: Request) -> FramePoints:
    if request.columns is not None:
        return _from_pandas(frame, request)
    names = [str(name) for name in frame.columns]
    try:
        shapes = frame.geometry
    except AttributeError:
        raise InputError("The frame has no geometry; set one, or say columns=('LON', 'LAT').") from None
    people = _people(frame, names, request)
    own = None if shapes.crs is None else shapes.crs.to_wkt()
    name = str(shapes.name)
    left_out = tuple(other for other in names if other != name)
    layout = Layout("frame", crs=chosen_crs(own, request.crs, SOURCE), geometry=name, left_out=left_out)

    def pieces() -> Iterator[Batch]:
        for start in range(0, len(frame), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            coordinates = points_of_shapes(shapes.iloc[part].to_numpy())
            yield make_batch(coordinates[:, 0], coordinates[:, 1], people(part))

    return FramePoints(layout, pieces)


def _people(frame: Any, names: list[str], request: Request) -> Callable[[slice], Any]:
    """Return what gives the persons of some rows of a pandas frame."""
    if request.person is None:
        return lambda _: None
    place = find_column(names, request.person, SOURCE)
    read = person_reader(frame.iloc[:0, place], request.person)
    return lambda part: read(frame.iloc[part, place])


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
