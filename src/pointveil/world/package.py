"""Keep a world in one GeoPackage."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyogrio
import shapely

from pointveil.errors import InputError
from pointveil.files.crs import for_gdal
from pointveil.files.vector_layer import LINES, POLYGONS, gdal_name, vector_file
from pointveil.files.whole import refuse_existing, write_whole
from pointveil.world.layers import Layer, read_layer
from pointveil.world.roads import Roads

VERSION = "1"
VERSION_KEY, CRS_KEY = "POINTVEIL_WORLD", "POINTVEIL_CRS"
LABELS = {"name": "POINTVEIL_NAME", "attribution": "POINTVEIL_ATTRIBUTION"}  # what maps say of the world, if anything
AREAS = ("boundary", "out_of_bounds", "land")  # layers of one shape each, of which only the first must be there


def write(
    path: Path,
    crs: str,
    areas: Mapping[str, Any],
    roads: Roads | None,
    labels: Mapping[str, str],
    *,
    force: bool = False,
) -> None:
    """Write areas by name, and roads, to a new GeoPackage, whole or not at all."""
    if path.suffix.lower() != ".gpkg":
        raise InputError(f"A world must be written to a .gpkg file, not to {path.name}.")
    refuse_existing(path, force=force)
    about = {VERSION_KEY: VERSION, CRS_KEY: crs} | {LABELS[name]: text for name, text in labels.items() if text}

    def write_layers(draft: Path) -> None:
        for name, area in areas.items():
            if area is not None:
                _write_layer(draft, name, np.array([area]), pa.table({}), about)
        if roads is not None:
            _write_layer(draft, "roads", roads.lines, roads.attributes, about)

    write_whole(path, write_layers, companions=("{name}-wal", "{name}-shm"))


def read(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any], Layer | None, dict[str, str]]:
    """Return the CRS, areas by name, roads and labels of a world; refuse a file that Pointveil did not write."""
    file = vector_file(path)
    about, names = _about(file)
    areas = {name: _area(file, name) if name in names else None for name in AREAS}
    if areas["boundary"] is None:
        raise InputError(f"{file.name} has no boundary. Make it again with: pointveil world")
    roads = read_layer(file, kinds=LINES, layer="roads") if "roads" in names else None
    labels = {"name": file.stem} | {name: about[key] for name, key in LABELS.items() if key in about}
    return about[CRS_KEY], areas, roads, labels


def _about(file: Path) -> tuple[dict[str, str], list[str]]:
    """Return what a world says of itself, and the names of its layers."""
    try:
        names = [str(name) for name, _ in pyogrio.list_layers(gdal_name(file))]
        about = pyogrio.read_info(gdal_name(file), layer="boundary")["layer_metadata"] or {}
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError):
        about = {}
    if about.get(VERSION_KEY) != VERSION:
        raise InputError(f"{file.name} is not a world of this Pointveil version. Make one with: pointveil world")
    return {str(key): str(value) for key, value in about.items()}, names


def _area(file: Path, name: str) -> Any:
    layer = read_layer(file, kinds=POLYGONS, layer=name)
    if len(layer.geometries) != 1 or not shapely.is_valid(layer.geometries[0]):
        raise InputError(f"Layer {name} of {file.name} was edited. Make the world again with: pointveil world")
    return layer.geometries[0]


def _write_layer(draft: Path, name: str, shapes: Any, attributes: pa.Table, about: dict[str, str]) -> None:
    wkb = pa.array(shapely.to_wkb(shapes, byte_order=1, flavor="iso"), pa.binary())
    columns = [*attributes.columns, wkb]
    pyogrio.write_arrow(
        pa.table(columns, names=[*attributes.column_names, "geometry"]),
        draft,
        layer=name,
        driver="GPKG",
        geometry_name="geometry",
        geometry_type="Unknown",
        crs=for_gdal(about[CRS_KEY]),
        layer_metadata=about,
        layer_options={"FID": "pointveil_row", "GEOMETRY_NAME": "geometry"},
    )
