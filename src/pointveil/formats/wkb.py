"""Points as well-known binary, as whole arrays; nothing but a point is ever taken apart."""

from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from numpy.typing import NDArray

POINT_BYTES = 21
LITTLE_ENDIAN_POINT = np.array([1, 1, 0, 0, 0], dtype=np.uint8)
POINT, MULTIPOINT = 1, 4
# PostGIS says with these bits what the standard says by adding thousands to the type.
HAS_Z, HAS_M, HAS_SRID = 0x80000000, 0x40000000, 0x20000000
# How long the header of a geometry in a GeoPackage is, for each kind of envelope; some kinds do not exist.
HEADER_BYTES = np.array([8, 40, 56, 56, 72, -1, -1, -1])
EXTENDED = 0b100000

Places = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def points_of_wkb(values: Any) -> NDArray[np.float64]:
    """Return x and y of each geometry of a binary Arrow array; NaN for whatever is not one point."""
    data, start, end, valid = taken_apart(values)
    if len(start) and valid.all() and (end - start == POINT_BYTES).all():
        raw = data[start[0] : end[-1]].reshape(-1, POINT_BYTES)
        if (raw[:, :5] == LITTLE_ENDIAN_POINT).all():
            return np.ascontiguousarray(raw[:, 5:]).view("<f8").astype(np.float64, copy=False)
    found = np.full((len(start), 2), np.nan)
    found[valid] = _points(data, start[valid], end[valid])
    return found


def points_of_geopackage(values: Any) -> NDArray[np.float64]:
    """Return x and y of each geometry of a GeoPackage, which is WKB behind a header of its own."""
    data, start, end, valid = taken_apart(values)
    found = np.full((len(start), 2), np.nan)
    valid = valid & (end - start >= HEADER_BYTES[0])
    valid[valid] = (_gathered(data, start[valid], 2) == np.frombuffer(b"GP", np.uint8)).all(axis=1)
    flags = _gathered(data, start[valid] + 3, 1)[:, 0]
    header = HEADER_BYTES[flags >> 1 & 7]
    is_plain = (header > 0) & (flags & EXTENDED == 0)
    valid[valid] = is_plain
    found[valid] = _points(data, start[valid] + header[is_plain], end[valid])
    return found


def taken_apart(values: Any) -> tuple[Bytes, Places, Places, NDArray[np.bool_]]:
    """Return the bytes of an array, where each value starts and ends, and which there are."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    values = values.cast(pa.large_binary())
    if not len(values):
        nothing = np.empty(0, dtype=np.int64)
        return np.empty(0, np.uint8), nothing, nothing, np.empty(0, dtype=bool)
    _, places, data = values.buffers()
    offsets = np.frombuffer(places, dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    whole = np.empty(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
    valid = np.ones(len(values), bool) if not values.null_count else values.is_valid().to_numpy(zero_copy_only=False)
    return whole, offsets[:-1], offsets[1:], valid


def _points(data: Bytes, start: Places, end: Places, *, alone: bool = False) -> NDArray[np.float64]:
    found = np.full((len(start), 2), np.nan)
    rows = np.flatnonzero(end - start >= 5)
    rows = rows[data[start[rows]] <= 1]
    little = data[start[rows]] == 1
    code = _numbers(data, start[rows] + 1, little, "u4", 1)[:, 0]
    simple = (code & ~np.uint32(HAS_Z | HAS_M | HAS_SRID)).astype(np.int64)
    thousands, kind = np.divmod(simple, 1000)
    dimensions = 2 + ((code & HAS_Z > 0) | (thousands % 2 == 1)) + ((code & HAS_M > 0) | (thousands >= 2))
    body = start[rows] + np.where(code & HAS_SRID > 0, 9, 5)
    known = thousands <= 3
    lonely = known & (kind == POINT) & (end[rows] - body >= 8 * dimensions)
    found[rows[lonely]] = _numbers(data, body[lonely], little[lonely], "f8", 2)
    if not alone:
        many = np.flatnonzero(known & (kind == MULTIPOINT) & (end[rows] - body >= 4))
        many = many[_numbers(data, body[many], little[many], "u4", 1)[:, 0] == 1]
        found[rows[many]] = _points(data, body[many] + 4, end[rows[many]], alone=True)
    return found


def _gathered(data: Bytes, start: Places, width: int) -> Bytes:
    places: Places = start[:, np.newaxis] + np.arange(width)
    return np.asarray(data[places], dtype=np.uint8)


def _numbers(data: Bytes, start: Places, little: NDArray[np.bool_], kind: str, count: int) -> NDArray[Any]:
    """Return (n, count) numbers of a kind that stand at each start, in either order of their bytes."""
    raw = _gathered(data, start, count * np.dtype(kind).itemsize)
    return np.where(little[:, np.newaxis], raw.view(f"<{kind}"), raw.view(f">{kind}")).astype(kind)


def points_of_shapes(shapes: Any) -> NDArray[np.float64]:
    """Return x and y of each shapely geometry; NaN for whatever is not one point."""
    shapes = np.asarray(shapes, dtype=object)
    # A collection might be deeper than the stack.
    points = np.isin(shapely.get_type_id(shapes), (shapely.GeometryType.POINT, shapely.GeometryType.MULTIPOINT))
    found = np.full((len(shapes), 2), np.nan)
    found[points] = points_of_wkb(pa.array(shapely.to_wkb(shapes[points]), pa.large_binary()))
    return found


def wkb_of_points(coordinates: NDArray[np.float64]) -> Any:
    """Return coordinates as a binary Arrow array of points."""
    raw = np.empty((len(coordinates), POINT_BYTES), dtype=np.uint8)
    raw[:, :5] = LITTLE_ENDIAN_POINT
    raw[:, 5:] = np.ascontiguousarray(coordinates, dtype="<f8").view(np.uint8).reshape(-1, 16)
    offsets = np.arange(len(coordinates) + 1, dtype=np.int32) * POINT_BYTES
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.binary(), len(coordinates), buffers)
