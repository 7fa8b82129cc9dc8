"""Points in Parquet, as two columns or as GeoParquet."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pointveil.errors import InputError
from pointveil.files.crs import known_crs
from pointveil.formats.base import BATCH_ROWS, STATEMENT_KEY, Batch, Chunks, Layout, PointSource, Request
from pointveil.formats.tables import ENCODINGS, batch_of, layout_of, needed_columns

READ_BUFFER = 1 << 22
READ_BYTES = 1 << 27


def opened(path: Path) -> Any:
    """Open a Parquet file so that memory stays small."""
    try:
        file = pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BUFFER)
        _ = file.schema_arrow.names  # names that are no text show here only
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"{path.name} is not a whole Parquet file; it may be cut off or of another format.") from None
    return file


def read(path: Path, request: Request) -> PointSource:
    """Open a Parquet file; its geometry column if it has one, else two columns of coordinates."""
    with opened(path) as file:
        layout = layout_of(file.schema_arrow, request, path.name)
    return PointSource(layout, partial(_batches, path, layout, request.person), path)


def _batches(path: Path, layout: Layout, person: str | None) -> Iterator[Batch]:
    columns = needed_columns(layout, person)
    with opened(path) as file:
        for batch in file.iter_batches(batch_size=_rows_at_once(file.metadata, columns), columns=columns):
            yield batch_of(batch, layout, person)


def _rows_at_once(metadata: Any, columns: list[str]) -> int:
    """Return how many records are read at once, so that long values do not fill the memory."""
    longest = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        chunks = [group.column(place) for place in range(group.num_columns)]
        held = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns)
        longest = max(longest, held // max(group.num_rows, 1))
    return min(BATCH_ROWS, max(1, READ_BYTES // (longest + 1)))


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as two columns."""
    schema = pa.schema([pa.field(name, pa.float64()) for name in layout.names])
    with writer(path, schema, statement) as file:
        for chunk in chunks:
            file.write_table(pa.table([pa.array(column) for column in layout.in_file_order(chunk)], schema=schema))


def write_geometry(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as GeoParquet."""
    encoding = ENCODINGS[layout.encoding]
    name = layout.geometry or "geometry"
    schema = pa.schema([pa.field(name, encoding.kind)], metadata={"geo": geo_metadata(layout, name)})
    with writer(path, schema, statement) as file:
        for chunk in chunks:
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
    crs = known_crs(layout.file_crs or layout.crs, "the layout").to_json_dict()
    column = {"encoding": layout.encoding, "geometry_types": ["Point"], "crs": crs}
    return json.dumps({"version": "1.1.0", "primary_column": name, "columns": {name: column}})


def statement(path: Path) -> str | None:
    """Return the statement among the metadata of a file."""
    with opened(path) as file:
        metadata = file.schema_arrow.metadata or {}
    found = metadata.get(STATEMENT_KEY.encode())
    return None if found is None else found.decode("utf-8", "replace")
