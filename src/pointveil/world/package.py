"""Keep a world in one GeoPackage."""

import os
from dataclasses import dataclass
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
from pointveil.world.layers import read_layer
from pointveil.world.roads import plain_attributes

VERSION = "1"
VERSION_KEY, CRS_KEY = "POINTVEIL_WORLD", "POINTVEIL_CRS"
AREAS = {"boundary": "boundary", "out_of_bounds": "out_of_bounds", "land": "given_land"}


@dataclass(frozen=True)
class Parts:
    """What a world's file holds."""

    crs: str  # of all shapes
    boundary: Any  # areas; all but the boundary may be missing
    out_of_bounds: Any
    given_land: Any
    lines: Any  # the roads, if there are any
    attributes: Any


def write(path: str | os.PathLike[str], parts: Parts, *, force: bool = False) -> None:
    """Write a new GeoPackage, whole or not at all."""
    target = Path(path)
    if target.suffix.lower() != ".gpkg":
        raise InputError(f"A world must be written to a .gpkg file, not to {target.name}.")
    refuse_existing(target, force=force)
    write_whole(target, lambda draft: _write_layers(draft, parts), companions=("{name}-wal", "{name}-shm"))


def _write_layers(draft: Path, parts: Parts) -> None:
    for name, field in AREAS.items():
        if getattr(parts, field) is not None:
            _write_layer(draft, name, np.array([getattr(parts, field)]), pa.table({}), parts.crs)
    if parts.lines is not None:
        _write_layer(draft, "roads", parts.lines, parts.attributes, parts.crs)


def read(path: str | os.PathLike[str]) -> Parts:
    """Read the parts of a world, and refuse a file that Pointveil did not write."""
    file = vector_file(path)
    crs = _crs(file)
    names = [str(name) for name, _ in pyogrio.list_layers(gdal_name(file))]
    areas = {field: _area(file, name) if name in names else None for name, field in AREAS.items()}
    if areas["boundary"] is None:
        raise InputError(f"{file.name} has no boundary. Make it again with: pointveil world")
    roads = read_layer(file, kinds=LINES, layer="roads") if "roads" in names else None
    # A reader may choose narrower types than were written.
    lines, attributes = (None, None) if roads is None else (roads.geometries, plain_attributes(roads.attributes))
    return Parts(crs=crs, lines=lines, attributes=attributes, **areas)


def _crs(file: Path) -> str:
    try:
        about = pyogrio.read_info(gdal_name(file), layer="boundary")["layer_metadata"] or {}
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError):
        about = {}
    if about.get(VERSION_KEY) != VERSION:
        raise InputError(f"{file.name} is not a world of this Pointveil version. Make one with: pointveil world")
    return str(about[CRS_KEY])


def _area(file: Path, name: str) -> Any:
    layer = read_layer(file, kinds=POLYGONS, layer=name)
    if len(layer.geometries) != 1 or not shapely.is_valid(layer.geometries[0]):
        raise InputError(f"Layer {name} of {file.name} was edited. Make the world again with: pointveil world")
    return layer.geometries[0]


def _write_layer(draft: Path, name: str, shapes: Any, attributes: pa.Table, crs: str) -> None:
    wkb = pa.array(shapely.to_wkb(shapes, byte_order=1, flavor="iso"), pa.binary())
    columns = [*attributes.columns, wkb]
    pyogrio.write_arrow(
        pa.table(columns, names=[*attributes.column_names, "geometry"]),
        draft,
        layer=name,
        driver="GPKG",
        geometry_name="geometry",
        geometry_type="Unknown",
        crs=for_gdal(crs),
        layer_metadata={VERSION_KEY: VERSION, CRS_KEY: crs},
        layer_options={"FID": "pointveil_row", "GEOMETRY_NAME": "geometry"},
    )
