"""The records of a GeoPackage, read from its database as they stand there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.formats.base import Batch, Layout, make_batch, regrouped
from pointveil.formats.persons import person_values
from pointveil.formats.wkb import points_of_geopackage

READ_ROWS = 1 << 16


@dataclass(frozen=True)
class GeoPackagePoints:
    """A layer of a GeoPackage.

    SQLite lets any value stand in any column, and GDAL would make one number of all texts among numbers; here each
    value counts as it stands.

    Parameters
    ----------
    path
        The file.
    layout
        Its public facts.
    person
        The name of the column that says whose a record is.
    """

    path: Path
    layout: Layout
    person: str | None

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order; one without a readable point is NaN."""
        return regrouped(self._batches())

    def _batches(self) -> Iterator[Batch]:
        wanted = [self.layout.geometry or "geom", *([self.person] if self.person else [])]
        table = quoted(self.layout.layer or self.path.stem)
        query = f"SELECT {', '.join(map(quoted, wanted))} FROM {table}"  # noqa: S608 — all names are quoted
        try:
            with closing(connected(self.path)) as database:
                rows = database.execute(query)
                while some := rows.fetchmany(READ_ROWS):
                    yield self._batch(list(zip(*some, strict=True)))
        except sqlite3.Error:
            raise InputError(f"{self.path.name} is damaged: not all of it can be read.") from None

    def _batch(self, columns: list[Any]) -> Batch:
        shapes = [value if isinstance(value, bytes) else None for value in columns[0]]
        coordinates = points_of_geopackage(pa.array(shapes, pa.large_binary()))
        owner = person_values(columns[1]) if self.person else None
        return make_batch(coordinates[:, 0], coordinates[:, 1], owner)


def connected(path: Path) -> sqlite3.Connection:
    """Open a database for reading only, whoever else has it open."""
    # Without a log of late changes the file is all there is, and may lie where nothing can be written.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    database = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)
    # Every text is read, whatever its bytes, and none becomes equal to another.
    database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return database


def check_table(path: Path, layer: str, columns: list[str]) -> None:
    """Refuse a layer whose values are worked out while reading, which one value could make fail."""
    name = path.name
    try:
        with closing(connected(path)) as database:
            kinds = database.execute("SELECT type FROM sqlite_master WHERE lower(name) = lower(?)", (layer,)).fetchall()
            hidden = dict(database.execute("SELECT lower(name), hidden FROM pragma_table_xinfo(?)", (layer,)))
    except sqlite3.Error:
        raise InputError(f"{name} cannot be opened as a GeoPackage; it may be cut off.") from None
    if ("table",) not in kinds or any(hidden.get(column.lower()) != 0 for column in columns):
        raise InputError(f"Layer {layer!r} of {name} is a view or has computed columns; save it as a table of its own.")


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'
