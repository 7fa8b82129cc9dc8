"""Roads as they were given: lines with their attributes."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely
from numpy.typing import NDArray

from pointveil.world.projection import Projection

NO = {"", "no", "none", "nan", "false", "f", "0"}
RESERVED = ("geometry", "pointveil_row")  # the names of a GeoPackage's own columns


@dataclass(frozen=True, eq=False)
class Roads:
    """A line layer, not cleaned in any way."""

    lines: NDArray[Any]  # (Multi)LineStrings in the world's CRS, with heights if they had any
    attributes: pa.Table  # int64, float64, boolean or text; no columns if the lines had no attributes
    projection: Projection  # the world's

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def lines_m(self) -> NDArray[Any]:
        """The lines in metres, without heights."""
        return np.asarray(shapely.transform(shapely.force_2d(self.lines), self.projection.to_metres))

    @cached_property
    def bridge(self) -> NDArray[np.bool_]:
        """Which lines are bridges, by the attribute `bridge`."""
        if "bridge" not in self.attributes.column_names:
            return np.zeros(len(self), dtype=bool)
        values = self.attributes["bridge"].to_pylist()
        return np.array([str(value or "").casefold() not in NO for value in values], dtype=bool)


def plain_lines(lines: NDArray[Any]) -> NDArray[Any]:
    """Return lines without measures, and rings as lines; heights stay."""
    plain = lines.copy()
    measured, high = shapely.has_m(lines), shapely.has_z(lines)
    plain[measured & ~high] = shapely.force_2d(lines[measured & ~high])
    plain[measured & high] = shapely.force_3d(shapely.force_2d(lines[measured & high]))
    rings = shapely.get_type_id(plain) == shapely.GeometryType.LINEARRING
    plain[rings] = shapely.from_wkb(shapely.to_wkb(plain[rings]))
    return plain


def plain_attributes(table: pa.Table) -> pa.Table:
    """Return a table that any GeoPackage can hold and give back unchanged."""
    columns = [_plain(column.combine_chunks()) for column in table.itercolumns()]
    return pa.table(columns, names=_plain_names(table.column_names)) if columns else pa.table({})


def hash_attributes(table: pa.Table) -> str:
    """Return a digest of the values of a plain table, whatever its chunks and buffers are."""
    digest = hashlib.sha256(json.dumps([table.column_names, [str(kind) for kind in table.schema.types]]).encode())
    for column in table.itercolumns():
        there = pc.is_valid(column).to_numpy()
        digest.update(there.tobytes())
        for part in _raw(column):
            digest.update(part)
    return digest.hexdigest()


def _raw(column: pa.ChunkedArray) -> list[bytes]:
    if not pa.types.is_string(column.type):
        filled = pc.fill_null(column, pa.scalar(0).cast(column.type))
        return [filled.to_numpy().tobytes()]
    texts = [(text or "").encode() for text in column.to_pylist()]
    return [np.array([len(text) for text in texts], dtype="<i8").tobytes(), b"".join(texts)]


def _plain(column: Any) -> pa.Array:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.dictionary_decode())
    if pa.types.is_boolean(kind):
        return column
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):  # SQLite knows neither NaN nor a negative zero
        numbers = column.cast(pa.float64())
        return pc.add(pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), 0.0)
    return pa.array([None if value is None else _text(value) for value in column.to_pylist()], pa.string())


def _text(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
    return text.replace("\0", "")  # where text ends, for GDAL


def _plain_names(names: list[str]) -> list[str]:
    """Return names that differ in more than their case, as SQLite wants."""
    taken = set(RESERVED)
    plain = []
    for name in names:
        wanted = name.replace("\0", "") or "column"
        number = 2
        unique = wanted
        while unique.casefold() in taken:
            unique = f"{wanted}_{number}"
            number += 1
        taken.add(unique.casefold())
        plain.append(unique)
    return plain
