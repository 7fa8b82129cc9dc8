"""Read the kept columns of a release as they stand there: it is public, so its values may be read all at once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from pointveil.columns import Column
from pointveil.files.vector_layer import quiet_gdal
from pointveil.formats import postgis
from pointveil.formats.base import Layout
from pointveil.formats.geojson import Text, property_of
from pointveil.formats.values import storage_of


def kept_values(path: Path | str, layout: Layout, keep: Sequence[Column]) -> pa.Table:
    """Return the kept columns of a release that was checked, in the order declared."""
    names = [column.name for column in keep]
    return pa.table({name: _as(column, layout.kept[name]) for name, column in _read(path, layout, names).items()})


def _read(path: Path | str, layout: Layout, names: list[str]) -> dict[str, Any]:
    if isinstance(path, str):
        return postgis.columns(path, names)
    if not path.is_dir():
        found = READERS.get(layout.format, _from_gdal)(path, layout, names)
        return {name: found[name] for name in names}
    parts = [_read(part, layout, names) for part in sorted(path.iterdir())]
    return {name: pa.chunked_array([chunk for part in parts for chunk in part[name].chunks]) for name in names}


def _as(column: Any, field: Any) -> Any:
    if pa.types.is_floating(field.type) and pa.types.is_string(column.type):
        sign = (field.metadata or {}).get(b"decimal", b".").decode()
        column = pc.replace_substring(column, sign, ".")
    if storage_of(field.type) == field.type and column.type != field.type:
        return column.cast(field.type)
    return column


def _from_csv(path: Path, layout: Layout, names: list[str]) -> Any:
    kinds = dict.fromkeys(names, pa.string())
    convert = arrow_csv.ConvertOptions(
        include_columns=names, column_types=kinds, null_values=[""], strings_can_be_null=True
    )
    return arrow_csv.read_csv(path, None, arrow_csv.ParseOptions(delimiter=layout.delimiter), convert)


def _from_geojson(path: Path, layout: Layout, names: list[str]) -> Any:
    values: dict[str, list[Any]] = {name: [] for name in names}
    with path.open("rb") as stream:
        for feature in Text(stream, path.name).features():
            for name, column in values.items():
                column.append(property_of(feature, name))
    return {
        name: pa.array(column, pa.float64() if pa.types.is_floating(layout.kept[name].type) else pa.string())
        for name, column in values.items()
    }


def _from_gdal(path: Path, layout: Layout, names: list[str]) -> Any:
    import pyogrio

    with quiet_gdal():
        return pyogrio.read_arrow(path, layer=layout.layer, columns=names, read_geometry=False)[1]


READERS: Mapping[str, Callable[[Path, Layout, list[str]], Any]] = {
    "csv": _from_csv,
    "parquet": lambda path, _, names: pq.read_table(path, columns=names),
    "geoparquet": lambda path, _, names: pq.read_table(path, columns=names),
    "geojson": _from_geojson,
}
