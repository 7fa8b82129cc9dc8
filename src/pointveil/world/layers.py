"""Read public layers (water, land, roads) from files of many formats, and take them from memory."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely
import shapely.geometry
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.files.crs import crs_name, parse_crs, same_crs, transform
from pointveil.files.vector_layer import BROKEN, gdal_name, geoparquet_column, layer_facts, quiet_gdal, vector_file

MOST_VERTICES = 20_000_000
FARTHEST = 1e9  # no coordinate of any CRS in use is larger

Features = tuple[list[Any], Sequence[Mapping[str, Any]]]  # one shape per row, and its attributes


@dataclass(frozen=True)
class Layer:
    """Shapes with their attributes, as they stand in a file."""

    geometries: NDArray[Any]  # one shape per row
    attributes: pa.Table  # the other columns
    crs: str  # an authority code, or else WKT
    name: str = "the layer"  # for errors
    attribution: str = ""  # who is to be named where it is drawn, if that is known

    def to_crs(self, crs: str) -> "Layer":
        """Return the layer in another CRS; the same coordinates if it is the same CRS in all but name."""
        if same_crs(self.crs, crs):
            return replace(self, crs=crs)
        to_crs = transform(self.crs, crs)

        def move(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.column_stack([to_crs(coordinates), coordinates[:, 2:]])  # heights stay

        moved = shapely.transform(self.geometries, move, include_z=None)
        coordinates = shapely.get_coordinates(moved)
        if not np.isfinite(coordinates).all():
            raise InputError(f"{self.name} cannot be transformed from {self.crs} to {crs}. Is its CRS right?")
        return replace(self, geometries=moved, crs=crs)


def read_layer(path: str | os.PathLike[str], *, kinds: Collection[str], layer: str | None = None) -> Layer:
    """Read a layer of these kinds from a local GeoJSON, GeoPackage, Shapefile, FlatGeobuf or GeoParquet file.

    GDAL's virtual file systems and addresses are refused. A file with several such layers needs a layer's name.
    """
    file = vector_file(path)
    reader = _read_parquet if file.suffix.lower() in {".parquet", ".geoparquet"} else _read_vector
    geometries, attributes, crs = reader(file, kinds, layer)
    if crs is None:
        raise InputError(f"{file.name} has no CRS. Save it again with one.")
    there = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    read = Layer(geometries[there], attributes.filter(pa.array(there)), crs_name(parse_crs(crs)), file.name)
    check_shapes(read.geometries, kinds, read.name)
    return read


def check_shapes(geometries: NDArray[Any], kinds: Collection[str], name: str) -> None:
    """Refuse shapes of the wrong kind, with coordinates that are none, or with too many vertices."""
    _, one_of_each = np.unique(shapely.get_type_id(geometries), return_index=True)
    found = {str(shape.geom_type) for shape in geometries[one_of_each]}
    wrong = sorted(found - set(kinds))
    if wrong:
        raise InputError(f"{name} contains {', '.join(wrong)}; it should contain only {' or '.join(kinds)}.")
    vertices = int(shapely.get_num_coordinates(geometries).sum())
    if vertices > MOST_VERTICES:
        raise InputError(f"{name} has {vertices:,} vertices, more than {MOST_VERTICES:,}. Cut or simplify it.")
    coordinates = shapely.get_coordinates(geometries)
    if not np.isfinite(coordinates).all():
        raise InputError(f"{name} has non-finite coordinates. Repair it and try again.")
    if coordinates.size and np.abs(coordinates).max() > FARTHEST:
        raise InputError(f"{name} has coordinates beyond {FARTHEST:g}, far off the Earth. Repair it and try again.")


def _read_vector(file: Path, kinds: Collection[str], layer: str | None) -> tuple[NDArray[Any], pa.Table, Any]:
    facts = layer_facts(file, kinds, layer)
    try:
        with quiet_gdal():
            about, table = pyogrio.read_arrow(gdal_name(file), layer=facts["layer_name"])
    except BROKEN as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error
    if table.num_rows < facts["features"]:
        raise InputError(f"{file.name} is truncated: it has fewer records than it declares.")
    name = about["geometry_name"] or "wkb_geometry"
    if name not in table.column_names:
        raise InputError(f"{file.name} has no geometries, only a table.")
    return _shapes(table[name], file.name), table.drop_columns([name]), about["crs"]


def _read_parquet(file: Path, kinds: Collection[str], layer: str | None) -> tuple[NDArray[Any], pa.Table, Any]:
    del kinds, layer  # a Parquet file is one layer
    try:
        table = pq.read_table(file, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error
    name, column, crs = geoparquet_column(table.schema, file.name)
    if column["encoding"] != "WKB":
        raise InputError(f"{file.name} stores its geometries as {column['encoding']}. Save it again as WKB.")
    return _shapes(table[name], file.name), table.drop_columns([name]), crs


def _shapes(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    try:
        with np.errstate(invalid="ignore"):  # what is not finite is refused later, by name
            shapes: NDArray[Any] = shapely.from_wkb(np.asarray(column.to_pylist(), dtype=object))
    except (shapely.errors.ShapelyError, TypeError) as error:
        raise InputError(f"{name} has geometries that cannot be read: {error}") from error
    return shapes


def layer_from(given: Any, name: str, crs: str) -> Layer:
    """Return shapes as a layer, in the CRS that they name themselves or else in `crs`; missing and empty ones go."""
    own = getattr(given, "crs", None)
    content = None if isinstance(given, shapely.Geometry) else getattr(given, "__geo_interface__", None)
    found, rows = _plain_shapes(given, name) if content is None else _features(content)
    shapes = np.array(found, dtype=object)
    there = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {str(name): _column([row.get(name) for row in rows]) for name in names}
    attributes = pa.table(columns).filter(pa.array(there)) if columns else pa.table({})
    return Layer(shapes[there], attributes, crs if own is None else crs_name(parse_crs(own)), name)


def _plain_shapes(given: Any, name: str) -> Features:
    many = list(given) if isinstance(given, Iterable) else [given]
    if not all(shape is None or shapely.is_geometry(shape) for shape in many):
        raise InputError(
            f"{name} must be a path, a GeoDataFrame, a GeoSeries or shapely geometries, not {type(given).__name__}."
        )
    return many, ()


def _features(content: Mapping[str, Any]) -> Features:
    """Return what is in a FeatureCollection, a Feature, or a geometry by itself, which has no attributes."""
    features = content["features"] if content["type"] == "FeatureCollection" else [content]
    geometries = [each["geometry"] if each["type"] == "Feature" else each for each in features]
    shapes = [None if geometry is None else shapely.geometry.shape(geometry) for geometry in geometries]
    return shapes, [each.get("properties") or {} for each in features]


def _column(values: list[Any]) -> pa.Array:
    # osmnx joins ways, and then lists their tags: the first counts, as in a graph from a file.
    single = [value[0] if isinstance(value, list) and value else value for value in values]
    try:
        return pa.array(single, from_pandas=True)
    except pa.ArrowException:  # values of several types
        return pa.array([None if value is None else str(value) for value in single], pa.string())
