"""Take public layers from memory: frames, series, shapely geometries, anything with `__geo_interface__`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
import shapely.geometry

from pointveil.errors import InputError
from pointveil.files.crs import crs_name, parse_crs
from pointveil.world.layers import Layer

Features = tuple[list[Any], Sequence[Mapping[str, Any]]]
"""One shape per row, and its attributes."""


def layer_from(given: Any, name: str, crs: str) -> Layer:
    """Return shapes as a layer, in the CRS that they name themselves or else in `crs`; missing and empty ones go."""
    own = getattr(given, "crs", None)
    content = None if isinstance(given, shapely.Geometry) else getattr(given, "__geo_interface__", None)
    found, rows = _plain_shapes(given, name) if content is None else _features(content)
    shapes = np.array(found, dtype=object)
    there = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    attributes = _table(rows).filter(pa.array(there)) if any(rows) else pa.table({})
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


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({str(name): _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    # osmnx joins ways, and then lists their tags: the first counts, as in a graph from a file.
    single = [value[0] if isinstance(value, list) and value else value for value in values]
    try:
        return pa.array(single, from_pandas=True)
    except pa.ArrowException:  # values of several types
        return pa.array([None if value is None else str(value) for value in single], pa.string())
