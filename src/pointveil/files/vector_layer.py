"""Open a vector file with GDAL as what its suffix says and nothing else, and find the layer in it."""

import contextlib
import json
import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.files.crs import LONGITUDE_FIRST
from pointveil.files.whole import existing_file
from pointveil.quiet import silence

POINTS = ("Point", "MultiPoint")
POLYGONS = ("Polygon", "MultiPolygon")
LINES = ("LineString", "LinearRing", "MultiLineString")
ANYTHING = ("Unknown", "GeometryCollection")

# GDAL's own fast way through FlatGeobuf spoils the records that stand beside one without a shape. And when it has read
# the metadata of a GeoPackage, it would leave a copy of them beside it, as .aux.xml.
SETTINGS = {"OGR_FLATGEOBUF_STREAM_BASE_IMPL": True, "GDAL_PAM_ENABLED": False}
# GDAL's errors, as pyogrio raises them, are all runtime errors.
BROKEN = (RuntimeError, pa.ArrowException, OSError)

JSON = rb"(\xef\xbb\xbf)?\s*\{"
# How a file of each suffix begins.
BEGINNINGS = {
    ".geojson": JSON,
    ".json": JSON,
    ".gpkg": rb"SQLite format 3\0.{52}(GPKG|GP10|GP11)",
    ".shp": rb"\x00\x00\x27\x0a",
    ".fgb": rb"fgb",
    ".parquet": rb"PAR1",
    ".geoparquet": rb"PAR1",
}


def vector_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file on this machine that GDAL can be trusted with."""
    file = existing_file(Path(path))
    check_fits(file)
    return file


def check_fits(file: Path) -> None:
    """Refuse a file whose first bytes do not fit its suffix."""
    # GDAL looks at a file's content and not at its name, and some of its formats fetch from the network or run
    # pipelines. So only a file that starts as its own format does gets as far as GDAL.
    suffix = file.suffix.lower()
    if suffix not in BEGINNINGS:
        raise InputError(f"{file.name}: cannot read '{file.suffix}'. Give one of {', '.join(BEGINNINGS)}.")
    with file.open("rb") as stream:
        head = stream.read(4096)
    # A Shapefile says how many pairs of bytes it has; GDAL takes what is cut off for missing shapes.
    least = max(100, 2 * int.from_bytes(head[24:28], "big")) if suffix == ".shp" else 0
    if re.match(BEGINNINGS[suffix], head, re.DOTALL) is None or file.stat().st_size < least:
        raise InputError(f"{file.name} is not what its suffix '{file.suffix}' says, or it was cut off.")


def gdal_name(file: Path) -> str:
    """Return the name under which GDAL opens a local file with the driver of its suffix and no other."""
    return f"GeoJSON:{file}" if BEGINNINGS[file.suffix.lower()] is JSON else str(file)


@contextlib.contextmanager
def quiet_gdal() -> Iterator[None]:
    """Let GDAL say nothing about what it reads."""
    import pyogrio  # late, because it loads every library of frames that is installed

    pyogrio.set_gdal_config_options(SETTINGS)
    with silence:
        yield


def layer_facts(file: Path, kinds: Collection[str], layer: str | None = None) -> dict[str, Any]:
    """Return what a file says about one of its layers, without its records: names, CRS, metadata.

    The layer is named, or the only one of the wanted geometry types, such as `LINES`.
    """
    import pyogrio

    try:
        with quiet_gdal():
            facts: dict[str, Any] = pyogrio.read_info(gdal_name(file), layer=_chosen(file, kinds, layer))
    except BROKEN:
        shapefile = file.suffix.lower() == ".shp"
        advice = "its .shx and .dbf must stand beside it, whole" if shapefile else "it may be cut off"
        raise InputError(f"{file.name} cannot be opened; {advice}.") from None
    return facts


def _chosen(file: Path, kinds: Collection[str], layer: str | None) -> str:
    """Return the layer asked for, or the only one that may hold shapes of these kinds."""
    import pyogrio

    layers = pyogrio.list_layers(gdal_name(file))
    listed = {str(name): str(kind).removeprefix("2.5D ").split()[0] for name, kind in layers if kind is not None}
    if layer is not None:
        if layer not in listed:
            raise InputError(f"{file.name} has no layer '{layer}'; it has {', '.join(listed) or 'none'}.")
        return layer
    # A layer of the wrong kind is chosen all the same, for the sake of the clearer error later.
    fitting = ([name for name, kind in listed.items() if kind in wanted] for wanted in (kinds, ANYTHING))
    candidates = next((names for names in fitting if names), list(listed))
    if not candidates:
        raise InputError(f"{file.name} holds no shapes, only a table.")
    if len(candidates) > 1:
        raise InputError(
            f"{file.name} has several layers: {', '.join(candidates)}. Save the one that you mean as a file of its own."
        )
    return candidates[0]


def geoparquet_column(schema: Any, source: str) -> tuple[str, dict[str, Any], Any]:
    """Return the name of the geometry column of a GeoParquet schema, what it says of it, and its CRS."""
    try:
        about = json.loads(schema.metadata[b"geo"])
        name = about["primary_column"]
        column = {"geometry_types": [], "crs": LONGITUDE_FIRST, **about["columns"][name]}
        known = isinstance(column["encoding"], str) and isinstance(column["geometry_types"], list)
    except (ValueError, KeyError, TypeError, AttributeError):
        known = False
    if not known or name not in schema.names:
        raise InputError(f"{source} is not GeoParquet, or its 'geo' metadata is not in order.")
    crs = column["crs"]
    return name, column, json.dumps(crs) if isinstance(crs, dict) else crs
