"""The records of a GeoPackage, read from its database as they stand there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.formats.base import Batch, Layout, make_batch
from pointveil.formats.persons import person_values
from pointveil.formats.wkb import points_of_geopackage

READ_ROWS = 1 << 16


def rows(path: Path, layout: Layout, person: str | None) -> Iterator[Batch]:
    """Yield the records of a layer; one without a readable point is NaN.

    SQLite lets any value stand in any column, and GDAL would make one number of all texts among numbers; here each
    value counts as it stands.
    """
    wanted = [str(layout.geometry), *([person] if person else [])]
    query = f"SELECT {', '.join(map(quoted, wanted))} FROM {quoted(str(layout.layer))}"  # noqa: S608 — all names are quoted
    with closing(connected(path)) as database:
        found = database.execute(query)
        while some := found.fetchmany(READ_ROWS):
            columns = list(zip(*some, strict=True))
            shapes = [value if isinstance(value, bytes) else None for value in columns[0]]
            coordinates = points_of_geopackage(pa.array(shapes, pa.large_binary()))
            yield make_batch(coordinates, person_values(columns[1]) if person else None)


def connected(path: Path) -> sqlite3.Connection:
    """Open a database for reading only, whoever else has it open."""
    # Without a log of late changes the file is all there is, and may lie where nothing can be written.
    how = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    database = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)
    # Every text is read, whatever its bytes.
    database.text_factory = bytes
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
    if (b"table",) not in kinds or any(hidden.get(column.lower().encode()) != 0 for column in columns):
        raise InputError(f"Layer {layer!r} of {name} is a view or has computed columns; save it as a table of its own.")


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever its characters."""
    return '"' + name.replace('"', '""') + '"'
