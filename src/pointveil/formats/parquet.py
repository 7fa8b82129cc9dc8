"""Points in Parquet, as two columns or as GeoParquet."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pointveil.errors import InputError
from pointveil.files.whole import existing_file
from pointveil.formats.base import BATCH_ROWS, STATEMENT_KEY, Batch, Chunks, Layout, Request, regrouped
from pointveil.formats.crs import canonical_chunks
from pointveil.formats.tables import ENCODINGS, batch_of, layout_of, needed_columns

READ_BUFFER = 1 << 22


@dataclass(frozen=True)
class ParquetPoints:
    """A Parquet file of points.

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
        """Yield all records in order, reading only the columns that are needed."""
        return regrouped(self._batches())

    def _batches(self) -> Iterator[Batch]:
        columns = needed_columns(self.layout, self.person)
        try:
            with opened(self.path) as file:
                for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                    yield batch_of(batch, self.layout, self.person)
        except (pa.ArrowException, OSError):
            raise InputError(f"{self.path.name} is damaged: not all of it can be read as Parquet.") from None


def opened(path: Path) -> Any:
    """Open a Parquet file so that memory stays small."""
    try:
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BUFFER)
        _ = file.schema_arrow.names  # names that are no text show here only
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"{path.name} is not a whole Parquet file; it may be cut off or of another format.") from None
    return file


def read(path: Path, request: Request) -> ParquetPoints:
    """Open a Parquet file; its geometry column if it has one, else two columns of coordinates."""
    path = existing_file(path)
    with opened(path) as file:
        schema = file.schema_arrow
    layout = layout_of(schema, request, path.name)
    return ParquetPoints(path, layout, request.person)


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as two columns."""
    schema = pa.schema([pa.field(name, pa.float64()) for name in layout.names])
    with writer(path, schema, statement) as file:
        for chunk in canonical_chunks(chunks, layout.crs):
            file.write_table(pa.table([pa.array(column) for column in layout.in_file_order(chunk)], schema=schema))


def write_geometry(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as GeoParquet."""
    encoding = ENCODINGS[layout.encoding]
    name = layout.geometry or "geometry"
    schema = pa.schema([pa.field(name, encoding.kind)], metadata={"geo": geo_metadata(layout, name)})
    with writer(path, schema, statement) as file:
        for chunk in canonical_chunks(chunks, layout.crs):
            file.write_table(pa.table([encoding.encode(chunk)], schema=schema))


def writer(path: Path, schema: Any, statement: str | None) -> Any:
    """Open a new Parquet file with the statement among its metadata."""
    metadata = dict(schema.metadata or {})
    if statement is not None:
        metadata[STATEMENT_KEY] = statement
    # Nearly all coordinates differ, so a dictionary of them would only cost time.
    return pq.ParquetWriter(path, schema.with_metadata(metadata), use_dictionary=False)


def geo_metadata(layout: Layout, name: str) -> str:
    """Return what GeoParquet says about its geometry column."""
    from pyproj import CRS

    crs = CRS.from_user_input(layout.file_crs or layout.crs).to_json_dict()
    column = {"encoding": layout.encoding, "geometry_types": ["Point"], "crs": crs}
    return json.dumps({"version": "1.1.0", "primary_column": name, "columns": {name: column}})


def statement(path: Path) -> str | None:
    """Return the statement among the metadata of a file."""
    with opened(existing_file(path)) as file:
        metadata = file.schema_arrow.metadata or {}
    found = metadata.get(STATEMENT_KEY.encode())
    return None if found is None else found.decode("utf-8", "replace")
