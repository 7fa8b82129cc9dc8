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
from pointveil.files.places import File
from pointveil.formats.base import BATCH_ROWS, STATEMENT_KEY, Batch, Chunks, Layout, PointSource, Request
from pointveil.formats.tables import ENCODINGS, batch_of, layout_of, needed_columns

READ_BUFFER = 1 << 22
READ_BYTES = 1 << 27


def opened(path: File) -> Any:
    """Open a Parquet file so that memory stays small."""
    try:
        source = path if isinstance(path, Path) else path.open()
        file = pq.ParquetFile(source, pre_buffer=False, buffer_size=READ_BUFFER)
        _ = file.schema_arrow.names  # names that are no text show here only
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise InputError(f"{path.name} is not a whole Parquet file; it may be cut off or of another format.") from None
    return file


def read(path: File, request: Request) -> PointSource:
    """Open a Parquet file; its geometry column if it has one, else two columns of coordinates."""
    with opened(path) as file:
        layout = layout_of(file.schema_arrow, request, path.name)
        groups = range(file.num_row_groups)
    pieces = partial(_batches, path, layout, request)
    return PointSource(layout, pieces, path, shares=tuple(partial(pieces, [group]) for group in groups))


def _batches(path: File, layout: Layout, request: Request, groups: list[int] | None = None) -> Iterator[Batch]:
    columns = needed_columns(layout, request)
    with opened(path) as file:
        size = _rows_at_once(file.metadata)
        for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=columns):
            yield batch_of(batch, layout, request)


def _rows_at_once(metadata: Any) -> int:
    """Return how many records are read at once, so that long values do not fill the memory."""
    # By the size of whole rows: asking a damaged file for that of single columns can end the process.
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    longest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return min(BATCH_ROWS, max(1, READ_BYTES // (max(longest, 0) + 1)))


def write(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as two columns."""
    schema = _schema(layout, dict.fromkeys(layout.names, pa.float64()))
    # Digits of coordinates are as good as random, so packing them would only cost time.
    packed = dict.fromkeys(layout.names, "none") | dict.fromkeys(layout.kept, "snappy")
    with writer(path, schema, layout, statement, packed) as file:
        for chunk in chunks:
            places = dict(zip(layout.names, map(pa.array, layout.in_file_order(chunk.coordinates)), strict=True))
            file.write_table(pa.table(list(layout.in_order(places, chunk.kept).values()), schema=schema))


def write_geometry(path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write points as GeoParquet."""
    encoding = ENCODINGS[layout.encoding]
    name = layout.geometry or "geometry"
    schema = _schema(layout, {name: encoding.kind}).with_metadata({"geo": geo_metadata(layout, name)})
    with writer(path, schema, layout, statement, "snappy") as file:
        for chunk in chunks:
            columns = layout.in_order({name: encoding.encode(chunk.coordinates)}, chunk.kept)
            file.write_table(pa.table(list(columns.values()), schema=schema))


def _schema(layout: Layout, places: dict[str, Any]) -> Any:
    """Return the schema of the file: of places of these types, and of the kept columns."""
    kept = {name: field.type for name, field in layout.kept.items()}
    return pa.schema([pa.field(name, kind) for name, kind in layout.in_order(places, kept).items()])


def writer(path: Path, schema: Any, layout: Layout, statement: str | None, packed: str | dict[str, str]) -> Any:
    """Open a new Parquet file with the statement among its metadata."""
    metadata = dict(schema.metadata or {})
    if statement is not None:
        metadata[STATEMENT_KEY] = statement
    # Nearly all coordinates differ, so a dictionary of them would only cost time.
    dictionary = list(layout.kept) or False
    return pq.ParquetWriter(path, schema.with_metadata(metadata), compression=packed, use_dictionary=dictionary)


def geo_metadata(layout: Layout, name: str) -> str:
    """Return what GeoParquet says about its geometry column."""
    crs = known_crs(layout.file_crs or layout.crs, "the layout").to_json_dict()
    column = {"encoding": layout.encoding, "geometry_types": ["Point"], "crs": crs}
    return json.dumps({"version": "1.1.0", "primary_column": name, "columns": {name: column}})


def fields(path: File) -> dict[str, Any]:
    """Return the types of all columns."""
    with opened(path) as file:
        return {field.name: field.type for field in file.schema_arrow}


def statement(path: Path) -> str | None:
    """Return the statement among the metadata of a file."""
    with opened(path) as file:
        metadata = file.schema_arrow.metadata or {}
    found = metadata.get(STATEMENT_KEY.encode())
    return None if found is None else found.decode("utf-8", "replace")
