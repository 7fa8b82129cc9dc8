"""What every format of points has in common."""

import dataclasses
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.errors import InputError

BATCH_ROWS = 1 << 20
STATEMENT_KEY = "pointveil.statement"


@dataclass(frozen=True)
class Layout:
    """The public facts of a file of points: its format, names, order and CRS, and no value of it.

    Parameters
    ----------
    format
        A row of `FORMATS`, or ``"frame"`` for points that came from memory.
    crs
        ``"EPSG:4326"`` or the like, or WKT.  Coordinates are always x (or longitude) first.
    x, y
        The names of the two columns, for formats without geometry.
    y_first
        Whether the y column stands before the x column.
    geometry
        The name of the geometry column, for formats with geometry.
    encoding
        How GeoParquet holds a point: ``"WKB"`` or ``"point"``.
    layer
        The name of the layer, for formats with layers.
    delimiter
        The character between two values of a CSV file.
    file_crs
        Another name of `crs` that the file uses.
    left_out
        The names of the other columns, which no synthetic file has.
    """

    format: str
    crs: str = "EPSG:4326"
    x: str | None = None
    y: str | None = None
    y_first: bool = False
    geometry: str | None = None
    encoding: str = "WKB"
    layer: str | None = None
    delimiter: str = ","
    file_crs: str | None = None
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the layout as plain values that JSON can hold."""
        return {**dataclasses.asdict(self), "left_out": list(self.left_out)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Layout":
        """Return the layout that `to_dict` was asked for."""
        return cls(**{**values, "left_out": tuple(values["left_out"])})

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
    """Some records: where they are, and perhaps whose they are.

    Parameters
    ----------
    coordinates
        One row (x, y) per record, in the layout's CRS; NaN where the record has no readable point.
    person
        The person of each record, if it was asked for.
    """

    coordinates: NDArray[np.float64]
    person: Any = None


class DamagedError(InputError, RuntimeError):
    """A file or frame cannot be read to its end; the text names it, and quotes nothing of it."""


# What goes wrong in a file that cannot be read to its end; GDAL's errors are runtime errors.
DAMAGED = (OSError, RuntimeError, pa.ArrowException, sqlite3.Error)


@dataclass(frozen=True, repr=False)
class PointSource:
    """Points that can be read as often as wished, a batch at a time.

    Parameters
    ----------
    layout
        The public facts of the source.
    pieces
        Yields all records in order, anew each time.
    path
        The file, if it is one.
    """

    layout: Layout
    pieces: Callable[[], Iterator[Batch]]
    path: Path | None = None

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order; no value of a record can make this fail."""
        try:
            yield from regrouped(self.pieces())
        except DamagedError:
            raise
        except DAMAGED:
            name = "The frame" if self.path is None else self.path.name
            raise DamagedError(f"{name} is damaged: not all of it can be read.") from None


@dataclass(frozen=True)
class Request:
    """What the caller said about a source of points; see `open_points`."""

    columns: tuple[str, str] | None = None
    crs: str | None = None
    person: str | None = None
    layer: str | None = None


Chunks = Iterable[NDArray[np.float64]]


@dataclass(frozen=True)
class Format:
    """One row of the table of formats.

    Parameters
    ----------
    suffixes
        The endings of file names, in lower case; the first is the usual one.
    has_geometry
        Whether a point is one geometry rather than two columns.
    read
        Opens a file.
    write
        Writes chunks of coordinates into a new file, whole; the caller cares for names and renaming.
    statement
        Reads the statement that `write` embedded, where there is a place for one.
    companions
        Patterns of the files that stand beside a file and are a part of it.
    """

    suffixes: tuple[str, ...]
    has_geometry: bool
    read: Callable[[Path, Request], PointSource]
    write: Callable[[Path, Chunks, Layout, str | None], None]
    statement: Callable[[Path], str | None] = lambda _: None
    companions: tuple[str, ...] = ()


def make_batch(coordinates: NDArray[np.float64], person: Any = None) -> Batch:
    """Make a batch of coordinates (n, 2), which nobody else holds; whatever is not finite becomes NaN, in place."""
    if not coordinates.flags.writeable:  # a view of an Arrow buffer
        coordinates = coordinates.copy()
    coordinates[~np.isfinite(coordinates)] = np.nan
    return Batch(coordinates, person)


def slices(count: int) -> Iterator[slice]:
    """Yield the slices of a batch each that `count` records have."""
    for start in range(0, count, BATCH_ROWS):
        yield slice(start, min(start + BATCH_ROWS, count))


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
    person = None if batches[0].person is None else pa.concat_arrays([batch.person for batch in batches])
    return Batch(np.concatenate([batch.coordinates for batch in batches]), person)
