"""Points in Arrow tables: which columns hold them, and their values."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.files.crs import chosen_crs
from pointveil.files.vector_layer import geoparquet_column
from pointveil.formats.base import Batch, Layout, Request, make_batch
from pointveil.formats.codes import coded
from pointveil.formats.columns import file_crs, find_column, find_columns, plain_layout
from pointveil.formats.kept import codes_from, with_kept
from pointveil.formats.persons import check_person, person_column
from pointveil.formats.values import check_number, is_binary, is_number_like, numbers, storage_of
from pointveil.formats.wkb import points_of_wkb, wkb_of_points


class Encoding(NamedTuple):
    """One way to hold a point in an Arrow column: its type when written, which it may be, and the ways from and to."""

    kind: Any
    is_kind: Callable[[Any], bool]
    decode: Callable[[Any], NDArray[np.float64]]
    encode: Callable[[NDArray[np.float64]], Any]


def _of_pairs(column: Any) -> NDArray[np.float64]:
    if pa.types.is_struct(column.type):
        names = [field.name for field in column.type]
        parts = column.flatten()
        return np.column_stack([numbers(parts[names.index(name)]) for name in ("x", "y")])
    width = column.type.list_size
    values = numbers(column.values).reshape(-1, width)[column.offset : column.offset + len(column), :2].copy()
    values[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return values


def _to_pairs(coordinates: NDArray[np.float64]) -> Any:
    x, y = (pa.array(np.ascontiguousarray(column)) for column in coordinates.T)
    return pa.StructArray.from_arrays([x, y], ["x", "y"])


def _is_pair(kind: Any) -> bool:
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size >= 2 and is_number_like(storage_of(kind.value_type))
    if not pa.types.is_struct(kind):
        return False
    names = [field.name for field in kind]
    return all(names.count(name) == 1 and is_number_like(storage_of(kind.field(name).type)) for name in ("x", "y"))


PAIR = pa.struct([("x", pa.float64()), ("y", pa.float64())])
ENCODINGS = {
    "WKB": Encoding(pa.binary(), is_binary, points_of_wkb, wkb_of_points),
    "point": Encoding(PAIR, _is_pair, _of_pairs, _to_pairs),
}
ARROW_ENCODINGS = {"geoarrow.wkb": "WKB", "ogc.wkb": "WKB", "geoarrow.point": "point"}


def layout_of(schema: Any, request: Request, source: str) -> Layout:
    """Return the public facts of a table of points: its geometry if it has one, else two columns."""
    layout = _of_places(schema, request, source)
    return with_kept(layout, schema.names, request, source, lambda _, place: schema.field(place).type)


def _of_places(schema: Any, request: Request, source: str) -> Layout:
    if request.person is not None:
        place = find_column(schema.names, request.person, source)
        check_person(schema.field(place).type, request.person, source)
    found = None if request.columns else _geometry_column(schema, source)
    if found is not None:
        return _with_geometry(schema, request, source, found)
    places = find_columns(schema.names, request.columns, source)
    for place in places:
        check_number(schema.field(place).type, schema.names[place], source)
    return plain_layout("parquet", schema.names, places, request.crs, source)


def needed_columns(layout: Layout, request: Request) -> list[str]:
    """Return the names of the columns to read."""
    wanted = [layout.geometry] if layout.geometry else [layout.x, layout.y]
    kept = [column.name for column in coded(request.keep)]
    return list(dict.fromkeys(name for name in [*wanted, request.person, *kept] if name is not None))


def batch_of(table: Any, layout: Layout, request: Request) -> Batch:
    """Return the points of a table or record batch."""
    owner = None if request.person is None else person_column(table.column(request.person))
    codes = codes_from(table.column, layout, request.keep)
    if layout.geometry:
        decode = ENCODINGS[layout.encoding].decode
        parts = [decode(chunk) for chunk in _chunks(table.column(layout.geometry))]
        return make_batch(np.concatenate([np.empty((0, 2)), *parts]), owner, codes)
    places = np.array([numbers(table.column(name)) for name in (layout.x, layout.y)])
    return make_batch(places.T, owner, codes)  # one axis after the other: what reads them does so, too


def _chunks(column: Any) -> list[Any]:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk for chunk in chunks]


def _with_geometry(schema: Any, request: Request, source: str, found: tuple[str, str, Any]) -> Layout:
    name, encoding, own = found
    if encoding not in ENCODINGS:
        raise InputError(f"Column {name!r} of {source} holds geometries encoded as {encoding[:20]!r}, not points.")
    kind = storage_of(schema.field(name).type)
    if not ENCODINGS[encoding].is_kind(kind):
        raise InputError(f"Column {name!r} of {source} holds {kind}, which is not a geometry.")
    crs = chosen_crs(own, request.crs, source)
    return Layout(
        "geoparquet",
        crs=crs,
        file_crs=file_crs(own),
        geometry=name,
        encoding=encoding,
        left_out=tuple(other for other in schema.names if other != name),
    )


def _geometry_column(schema: Any, source: str) -> tuple[str, str, Any] | None:
    """Return the name, the encoding and the CRS of the geometry column, if there is one."""
    if b"geo" in (schema.metadata or {}):
        name, column, crs = geoparquet_column(schema, source)
        types = column["geometry_types"]
        if types and not any("Point" in str(kind) for kind in types):
            raise InputError(f"{source} holds {', '.join(sorted(map(str, types)))[:80]}, not points.")
        return name, column["encoding"], crs
    for field in schema:
        encoding = ARROW_ENCODINGS.get(_extension(field)[0])
        if encoding is not None:
            return field.name, encoding, _arrow_crs(_extension(field)[1])
    return None


def _extension(field: Any) -> tuple[str, str]:
    if isinstance(field.type, pa.BaseExtensionType):
        serialized = getattr(field.type, "__arrow_ext_serialize__", bytes)()  # Arrow's own types have none
        return field.type.extension_name, serialized.decode("utf-8", "replace")
    metadata = field.metadata or {}
    name = metadata.get(b"ARROW:extension:name", b"").decode("utf-8", "replace")
    return name, metadata.get(b"ARROW:extension:metadata", b"").decode("utf-8", "replace")


def _arrow_crs(metadata: str) -> Any:
    try:
        crs = json.loads(metadata or "{}").get("crs")
    except (ValueError, AttributeError):
        return None
    return json.dumps(crs) if isinstance(crs, dict) else crs
