"""Read public layers (water, land, roads) from files of many formats."""

import json
import os
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely
from numpy.typing import NDArray
from pyproj import CRS, Transformer

from pointveil.errors import InputError
from pointveil.world.projection import crs_name, parse_crs

POLYGONS = ("Polygon", "MultiPolygon")
LINES = ("LineString", "LinearRing", "MultiLineString")

MOST_VERTICES = 20_000_000
FARTHEST = 1e9  # no coordinate of any CRS in use is larger

GEOPACKAGE_MARKS = (b"GPKG", b"GP10", b"GP11")


@dataclass(frozen=True)
class Layer:
    """Shapes with their attributes, as they stand in a file.

    Parameters
    ----------
    geometries
        One shape per row.
    attributes
        The other columns, one row per shape.
    crs
        The CRS of the shapes: an authority code, or else WKT.
    name
        What to call the layer in errors.
    """

    geometries: NDArray[Any]
    attributes: pa.Table
    crs: str
    name: str = "the layer"

    def to_crs(self, crs: str) -> "Layer":
        """Return the layer in another CRS; the same coordinates if it is the same CRS in all but name."""
        mine, wanted = CRS(self.crs), CRS(crs)
        if mine.equals(wanted, ignore_axis_order=True):
            return Layer(self.geometries, self.attributes, crs, self.name)
        transform = Transformer.from_crs(mine, wanted, always_xy=True).transform

        def move(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.column_stack(transform(coordinates[:, 0], coordinates[:, 1]))

        flat_only = not shapely.has_z(self.geometries).any()
        moved = shapely.transform(self.geometries, move) if flat_only else _move_level(self.geometries, move)
        coordinates = shapely.get_coordinates(moved)
        if not np.isfinite(coordinates).all():
            raise InputError(f"{self.name} cannot be brought from {self.crs} to {crs}: is its CRS right?")
        return Layer(moved, self.attributes, crs, self.name)


def read_layer(path: str | os.PathLike[str], *, kinds: Collection[str], layer: str | None = None) -> Layer:
    """Read a layer from a local GeoJSON, GeoPackage, Shapefile, FlatGeobuf or GeoParquet file.

    Parameters
    ----------
    path
        A file on this machine; GDAL's virtual file systems and addresses are refused.
    kinds
        The geometry types to accept, such as `POLYGONS` or `LINES`.
    layer
        Which layer of the file to read, if it has several of those kinds.
    """
    file = local_file(path)
    reader = _read_parquet if file.suffix.lower() in PARQUET_SUFFIXES else _read_vector
    geometries, attributes, crs = reader(file, kinds, layer)
    if crs is None:
        raise InputError(f"{file.name} does not say its CRS. Save it again with one.")
    there = ~(shapely.is_missing(geometries) | shapely.is_empty(geometries))
    read = Layer(geometries[there], attributes.filter(pa.array(there)), crs_name(parse_crs(crs)), file.name)
    check_shapes(read.geometries, kinds, read.name)
    return read


def check_shapes(geometries: NDArray[Any], kinds: Collection[str], name: str) -> None:
    """Refuse shapes of the wrong kind, with coordinates that are none, or with too many vertices."""
    found = {str(shape.geom_type) for shape in _one_of_each_type(geometries)}
    wrong = sorted(found - set(kinds))
    if wrong:
        raise InputError(f"{name} holds {', '.join(wrong)}; it should hold {' or '.join(kinds)} only.")
    vertices = int(shapely.get_num_coordinates(geometries).sum())
    if vertices > MOST_VERTICES:
        raise InputError(f"{name} has {vertices:,} vertices, more than {MOST_VERTICES:,}. Cut or simplify it.")
    coordinates = shapely.get_coordinates(geometries)
    if not np.isfinite(coordinates).all():
        raise InputError(f"{name} has coordinates that are not finite numbers. Repair it and try again.")
    if coordinates.size and np.abs(coordinates).max() > FARTHEST:
        raise InputError(f"{name} has coordinates beyond {FARTHEST:g}, where no place is. Repair it and try again.")


def local_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of a real file on this machine whose first bytes fit its suffix.

    GDAL looks at a file's content and not at its name, and some of its formats fetch from the network or run
    pipelines. So only a file that starts as its own format does gets as far as GDAL.
    """
    text = os.fspath(path)
    if text.startswith("/vsi") or "://" in text:
        raise InputError(f"{text} is not a file on this machine. Copy it here first.")
    file = Path(text)
    if file.is_dir():
        raise InputError(f"{file} is a directory. Give a file.")
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    fits = FITS.get(file.suffix.lower())
    if fits is None:
        raise InputError(f"{file.name}: cannot read '{file.suffix}'. Give one of {', '.join(FITS)}.")
    with file.open("rb") as stream:
        if not fits(stream.read(4096), file.stat().st_size):
            raise InputError(f"{file.name} is not what its suffix '{file.suffix}' says, or it is damaged.")
    return file


def gdal_name(file: Path) -> str:
    """Return the name under which GDAL opens a local file with the driver of its suffix and no other."""
    absolute = str(file.absolute())
    return f"GeoJSON:{absolute}" if file.suffix.lower() in JSON_SUFFIXES else absolute


def _is_json(head: bytes, _size: int) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _is_geopackage(head: bytes, _size: int) -> bool:
    return head.startswith(b"SQLite format 3\0") and head[68:72] in GEOPACKAGE_MARKS


def _is_shapefile(head: bytes, size: int) -> bool:
    # A shapefile says how many pairs of bytes it has; GDAL takes what is cut off for missing shapes.
    return head.startswith(b"\x00\x00\x27\x0a") and size >= 2 * int.from_bytes(head[24:28], "big")


def _is_flatgeobuf(head: bytes, _size: int) -> bool:
    return head.startswith(b"fgb")


def _is_parquet(head: bytes, _size: int) -> bool:
    return head.startswith(b"PAR1")


JSON_SUFFIXES = (".geojson", ".json")
PARQUET_SUFFIXES = (".parquet", ".geoparquet")
FITS: dict[str, Callable[[bytes, int], bool]] = {
    ".geojson": _is_json,
    ".json": _is_json,
    ".gpkg": _is_geopackage,
    ".shp": _is_shapefile,
    ".fgb": _is_flatgeobuf,
    ".parquet": _is_parquet,
    ".geoparquet": _is_parquet,
}


def _read_vector(file: Path, kinds: Collection[str], layer: str | None) -> tuple[NDArray[Any], pa.Table, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # GDAL's remarks on public files
            # GDAL's own fast way through FlatGeobuf spoils records beside one without a shape.
            pyogrio.set_gdal_config_options({"OGR_FLATGEOBUF_STREAM_BASE_IMPL": "YES"})
            chosen = _choose_layer(file, kinds, layer)
            declared = int(pyogrio.read_info(gdal_name(file), layer=chosen)["features"])
            about, table = pyogrio.read_arrow(gdal_name(file), layer=chosen)
    except (pyogrio.errors.DataSourceError, pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error
    if table.num_rows < declared:
        raise InputError(f"{file.name} is not whole: it has fewer records than it says, so it was cut off.")
    name = about["geometry_name"] or "wkb_geometry"
    if name not in table.column_names:
        raise InputError(f"{file.name} holds no shapes, only a table.")
    return _shapes(table[name], file.name), table.drop_columns([name]), about["crs"]


def _choose_layer(file: Path, kinds: Collection[str], layer: str | None) -> str:
    """Return the layer asked for, or the only one that may hold shapes of these kinds."""
    listed = {str(name): str(kind).split()[0] for name, kind in pyogrio.list_layers(gdal_name(file)) if kind}
    if layer is not None:
        if layer not in listed:
            raise InputError(f"{file.name} has no layer '{layer}'; it has {', '.join(listed)}.")
        return layer
    fitting = [name for name, kind in listed.items() if kind in kinds] or [
        name for name, kind in listed.items() if kind in {"Unknown", "GeometryCollection"}
    ]
    # A layer of the wrong kind is read all the same, for the sake of the clearer error.
    candidates = fitting or list(listed)
    if not candidates:
        raise InputError(f"{file.name} holds no shapes.")
    if len(candidates) > 1:
        raise InputError(f"{file.name} has several layers: {', '.join(candidates)}. Say which with layer=….")
    return candidates[0]


def _read_parquet(file: Path, kinds: Collection[str], layer: str | None) -> tuple[NDArray[Any], pa.Table, Any]:
    del kinds, layer  # a Parquet file is one layer
    try:
        table = pq.read_table(file, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file.name} cannot be read: {error}") from error
    try:
        about = json.loads((table.schema.metadata or {})[b"geo"])
        name = about["primary_column"]
        column = about["columns"][name]
        encoding = column["encoding"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{file.name} is Parquet but not GeoParquet: it says nothing of shapes.") from error
    if encoding != "WKB" or name not in table.column_names:
        raise InputError(f"{file.name} keeps its shapes as {encoding}. Save it again with the encoding WKB.")
    return _shapes(table[name], file.name), table.drop_columns([name]), column.get("crs", "OGC:CRS84")


def _shapes(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    try:
        with np.errstate(invalid="ignore"):  # what is not finite is refused later, by name
            shapes: NDArray[Any] = shapely.from_wkb(np.asarray(column.to_pylist(), dtype=object))
    except (shapely.errors.ShapelyError, TypeError) as error:
        raise InputError(f"{name} holds shapes that cannot be read: {error}") from error
    return shapes


def _one_of_each_type(geometries: NDArray[Any]) -> NDArray[Any]:
    _, first = np.unique(shapely.get_type_id(geometries), return_index=True)
    one_each: NDArray[Any] = geometries[first]
    return one_each


def _move_level(geometries: NDArray[Any], move: Any) -> NDArray[Any]:
    """Move x and y and keep heights, whether or not every shape has them."""

    def move_three(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([move(coordinates), coordinates[:, 2]])

    high = shapely.has_z(geometries)
    moved = geometries.copy()
    moved[high] = shapely.transform(geometries[high], move_three, include_z=True)
    moved[~high] = shapely.transform(geometries[~high], move)
    return moved
