"""What every format of points has in common."""

import base64
import dataclasses
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.columns import Column
from pointveil.errors import InputError
from pointveil.files.places import File, stamp_of

BATCH_ROWS = 1 << 20
STATEMENT_KEY = "pointveil.statement"
ADDED = ("columns", "schema", "header", "line_end", "bom")
Codes = tuple[NDArray[np.uint8] | NDArray[np.uint16], ...]


@dataclass(frozen=True)
class Layout:
    """The public facts of a file of points: its format, names, order and CRS, and no value of it."""

    format: str  # a row of `FORMATS`, or "frame" for points that came from memory
    crs: str = "EPSG:4326"  # or the like, or WKT; coordinates are always x (or longitude) first
    x: str | None = None  # the names of the two columns, for formats without geometry
    y: str | None = None
    y_first: bool = False  # whether the y column stands before the x column
    geometry: str | None = None  # the name of its column, for formats with geometry
    encoding: str = "WKB"  # how GeoParquet holds a point: "WKB" or "point"
    layer: str | None = None  # its name, for formats with layers
    delimiter: str = ","  # between two values of a CSV file
    file_crs: str | None = None  # another name of `crs` that the file uses
    left_out: tuple[str, ...] = ()  # the names of the other columns, which no synthetic file has
    # The rest is said only where columns beside the place are kept.
    columns: tuple[str, ...] = ()  # the names of all columns that are written, in the order of the file
    schema: str = ""  # names and types of the kept columns: an Arrow schema as base64
    header: tuple[str, ...] = ()  # `columns` as the first line of a CSV file quotes them
    line_end: str = "\n"  # after that line
    bom: bool = False  # whether that line has a byte order mark before it

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain values that JSON can hold; what was added later is left out if it says nothing."""
        said = {field.name: (getattr(self, field.name), field.default) for field in dataclasses.fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, (value, default) in said.items()
            if name not in ADDED or value != default
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Layout":
        """Return the layout that `to_dict` was asked for."""
        given: Any = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
        return cls(**given)

    @cached_property
    def kept(self) -> Mapping[str, Any]:
        """The kept columns as Arrow fields, by name, in the order of the file."""
        if not self.schema:
            return {}
        return {field.name: field for field in pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.schema)))}

    def columns_at(self, *names: str) -> tuple[str, ...]:
        """Return the columns in order, with these in place of those that say where a record is now."""
        place = min((at for at, name in enumerate(self.columns) if name not in self.kept), default=0)
        kept = [name for name in self.columns if name in self.kept]
        return (*kept[:place], *names, *kept[place:])

    def in_order(self, places: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is said of columns by name, in the order of the file: of the place, and of kept columns."""
        columns = {**places, **kept}
        if not self.columns:
            return columns
        order = self.columns if {*places} <= {*self.columns} else self.columns_at(*places)
        return {name: columns[name] for name in order}

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two columns in the order of the file."""
        x, y = self.x or "x", self.y or "y"
        return (y, x) if self.y_first else (x, y)

    def in_file_order(self, coordinates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the two columns of `coordinates` in the order of the file."""
        x, y = np.ascontiguousarray(coordinates[:, 0]), np.ascontiguousarray(coordinates[:, 1])
        return (y, x) if self.y_first else (x, y)


@dataclass(frozen=True)
class Batch:
    """Some records: where they are, and perhaps whose they are."""

    coordinates: NDArray[np.float64]  # (n, 2) x and y in the layout's CRS; NaN where a record has no readable point
    person: Any = None  # of each record, if it was asked for
    codes: Codes = ()  # (n,) one code of each record, for each kept column that is no id


class DamagedError(InputError, RuntimeError):
    """A file or frame cannot be read to its end; the text names it, and quotes nothing of it."""


# What goes wrong in a file that cannot be read to its end. GDAL's errors are runtime errors; a name may be no text.
DAMAGED = (OSError, RuntimeError, UnicodeDecodeError, pa.ArrowException, sqlite3.Error)


@dataclass(frozen=True, repr=False)
class PointSource:
    """Points that can be read as often as wished, a batch at a time; a stream only once."""

    layout: Layout
    pieces: Callable[[], Iterator[Batch]]  # yields all records in order, anew each time
    path: File | None = None  # the file, if it is one
    keep: tuple[Column, ...] = ()  # the kept columns, with what their types say
    name: str = "The frame"  # what to call it in errors, if it is no file
    listed: Callable[[], object] | None = None  # what changes when one of several files does
    is_stream: bool = False  # whether it can be read only once
    is_query: bool = False  # whether it is worked out anew for each reading, and so might differ
    close: Callable[[], object] = bool  # to be called when it will not be read again
    shares: tuple[Callable[[], Iterator[Batch]], ...] = ()  # that can be read apart, together all of it
    cluster: Any = None  # what reads it where it lies, if that is not here

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order; no value of a record can make this fail."""
        try:
            yield from regrouped(self.pieces())
        except DamagedError:
            raise
        except DAMAGED:
            raise DamagedError(f"{self.title} is damaged: not all of it can be read.") from None

    @property
    def title(self) -> str:
        """What to call it in errors."""
        return self.name if self.path is None else self.path.name

    def stamp(self) -> object:
        """Return what changes when the files do; nothing for what is no file of this machine."""
        if self.listed is not None:
            return self.listed()
        return stamp_of(self.path) if isinstance(self.path, Path) else None


@dataclass(frozen=True)
class Request:
    """What the caller said about a source of points."""

    columns: tuple[str, str] | None = None  # the names of x and y, if the names alone do not tell
    crs: str | None = None  # of a source that does not state it; EPSG:4326 for two plain columns and for arrays
    person: str | None = None  # the name of the column that says whose a record is
    keep: tuple[Column, ...] = ()  # the other columns to read


class Chunk(NamedTuple):
    """Some rows to write: (n, 2) x and y, and a table of the kept columns if there are any."""

    coordinates: NDArray[np.float64]
    table: Any = None

    @property
    def kept(self) -> dict[str, Any]:
        """The kept columns by name, as Arrow arrays."""
        if self.table is None:
            return {}
        return {name: self.table.column(name).combine_chunks() for name in self.table.column_names}


Chunks = Iterable[Chunk]


@dataclass(frozen=True)
class Format:
    """One row of the table of formats."""

    suffixes: tuple[str, ...]  # of file names, in lower case; the first is the usual one
    has_geometry: bool  # whether a point is one geometry rather than two columns
    read: Callable[[Any, Request], PointSource]  # from a path; where `is_remote`, also from an object in a store
    write: Callable[[Path, Chunks, Layout, str | None], None]  # into a new file; the caller sees to names and renaming
    statement: Callable[[Path], str | None] = lambda _: None  # what `write` embedded, where there is a place
    companions: tuple[str, ...] = ()  # patterns of the files that stand beside a file and are a part of it
    fields: Callable[[Any], dict[str, Any]] = lambda _: {}  # Arrow types by name of column, where they can be known
    is_remote: bool = False  # whether `read` can read from any open file, and not only by its path


def make_batch(coordinates: NDArray[np.float64], person: Any = None, codes: Codes = ()) -> Batch:
    """Make a batch of coordinates (n, 2), which nobody else holds; whatever is not finite becomes NaN, in place."""
    if not coordinates.flags.writeable:  # a view of an Arrow buffer
        coordinates = coordinates.copy()
    finite = np.isfinite(coordinates)
    if not finite.all():
        coordinates[~finite] = np.nan
    return Batch(coordinates, person, codes)


def regrouped(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Join small batches, so that each but the last has at least `BATCH_ROWS` records."""
    waiting: list[Batch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(len(each.coordinates) for each in waiting) >= BATCH_ROWS:
            yield _joined(waiting)
            waiting = []
    if any(len(each.coordinates) for each in waiting):
        yield _joined(waiting)


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    person = None if batches[0].person is None else _joined_persons([batch.person for batch in batches])
    codes = tuple(np.concatenate(each) for each in zip(*(batch.codes for batch in batches), strict=True))
    return Batch(np.concatenate([batch.coordinates for batch in batches]), person, codes)


def _joined_persons(parts: list[Any]) -> Any:
    """Join names, which are whole numbers in some files and text in others if the files differ in it."""
    if len({part.type for part in parts}) > 1:
        parts = [part.cast(pa.string()) if pa.types.is_integer(part.type) else part for part in parts]
        parts = [part.cast(pa.binary()) for part in parts]
    return pa.concat_arrays(parts)
