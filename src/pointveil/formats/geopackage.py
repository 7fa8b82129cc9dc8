"""The records of a GeoPackage, read from its database as they stand there."""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from pointveil.columns import Column
from pointveil.errors import InputError
from pointveil.files.drafts import draft_folder
from pointveil.formats.base import Batch, Layout, Request, make_batch
from pointveil.formats.codes import coded, codes_of_values
from pointveil.formats.columns import quoted
from pointveil.formats.persons import person_values
from pointveil.formats.wkb import points_of_geopackage

READ_ROWS = 1 << 16


def rows(path: Path, layout: Layout, request: Request) -> Iterator[Batch]:
    """Yield the records of a layer; one without a readable point is NaN.

    SQLite lets any value stand in any column, and GDAL would make one number of all texts among numbers; here each
    value counts as it stands.
    """
    kept = coded(request.keep)
    wanted = [str(layout.geometry), *([request.person] if request.person else []), *(column.name for column in kept)]
    query = f"SELECT {', '.join(map(quoted, wanted))} FROM {quoted(str(layout.layer))}"  # noqa: S608 — all names are quoted
    with unwritten(path) as copy, closing(connected(copy)) as database:
        found = database.execute(query)
        while some := found.fetchmany(READ_ROWS):
            columns = list(zip(*some, strict=True))
            shapes = [value if isinstance(value, bytes) else None for value in columns[0]]
            coordinates = points_of_geopackage(pa.array(shapes, pa.large_binary()))
            cells = zip(kept, columns[len(columns) - len(kept) :], strict=True)
            codes = tuple(_codes(column, values, layout.kept[column.name].type) for column, values in cells)
            yield make_batch(coordinates, person_values(columns[1]) if request.person else None, codes)


def _codes(column: Column, values: Sequence[Any], kind: Any) -> Any:
    """Return the codes of cells; a database has 0 and 1 in a column of truth values."""
    if pa.types.is_boolean(kind):
        values = [bool(value) if value in {0, 1} else value for value in values]
    return codes_of_values(column, values, kind)


@contextmanager
def unwritten(path: Path) -> Iterator[Path]:
    """Give the path of a file that may be opened, so that nothing is ever written beside or into a private one.

    SQLite takes late changes out of a log, and puts back what was left undone, by writing. So a file with a log, or one
    that wants one, is copied into a folder of our own for as long as it is read.
    """
    with path.open("rb") as stream:
        has_log = stream.read(20)[18:] == b"\2\2"
    logs = [log for end in ("-wal", "-journal") if (log := path.with_name(path.name + end)).exists()]
    if not (has_log or logs):
        yield path
        return
    with draft_folder() as folder:
        for file in (path, *logs):
            shutil.copyfile(file, folder / file.name)
        yield folder / path.name


def connected(path: Path) -> sqlite3.Connection:
    """Open a database that `unwritten` gave for reading."""
    has_log = any(path.with_name(path.name + end).exists() for end in ("-wal", "-journal"))
    how = "mode=rw" if has_log else "mode=ro&immutable=1"
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
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
        raise InputError(f"{name} is damaged: it cannot be opened as a GeoPackage.") from None
    if (b"table",) not in kinds or any(hidden.get(column.lower().encode()) != 0 for column in columns):
        raise InputError(f"Layer {layer!r} of {name} is a view or has computed columns; save it as a table of its own.")
