"""Points in GeoPackage, Shapefile and FlatGeobuf."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.files.whole import existing_file
from pointveil.formats.base import STATEMENT_KEY, Batch, Chunks, Layout, Request, make_batch, regrouped
from pointveil.formats.columns import find_column, no_columns
from pointveil.formats.crs import canonical_chunks, chosen_crs, other_name
from pointveil.formats.geopackage import GeoPackagePoints, check_table
from pointveil.formats.persons import person_column
from pointveil.formats.wkb import points_of_wkb, wkb_of_points

READ_ROWS = 1 << 16
# GDAL's own fast way through FlatGeobuf loses the points that stand before one without geometry.
GDAL_SETTINGS = {"OGR_FLATGEOBUF_STREAM_BASE_IMPL": True}
# GDAL's errors, as pyogrio raises them, are all runtime errors.
BROKEN = (RuntimeError, pa.ArrowException, OSError)


@dataclass(frozen=True)
class Driver:
    """A vector format that GDAL reads and writes.

    Parameters
    ----------
    format
        Its row in the table of formats.
    gdal
        GDAL's name of it.
    mark
        The bytes that tell the format, and where they stand, so that GDAL never has to guess.
    options
        What to say to GDAL when writing; ``{geometry}`` stands for the name of the geometry column.
    statement_place
        Which of GDAL's two kinds of metadata holds a statement, and under which name.
    advice
        What may be wrong with a file that GDAL does not open.
    """

    format: str
    gdal: str
    mark: tuple[int, bytes]
    options: dict[str, str] = field(default_factory=dict)
    statement_place: tuple[str, str] | None = None
    advice: str = "it may be cut off"

    def with_statement(self, statement: str | None) -> dict[str, Any]:
        """Return what to say to GDAL so that the file holds the statement."""
        if statement is None or self.statement_place is None:
            return {}
        kind, name = self.statement_place
        return {name: statement} if kind == "layer_metadata" else {kind: {name: statement}}


# A spatial index costs more time than all the rest, and any map program can add one.
GEOPACKAGE = Driver(
    "geopackage",
    "GPKG",
    (68, b"GP"),
    {"SPATIAL_INDEX": "NO", "GEOMETRY_NAME": "{geometry}"},
    ("dataset_metadata", STATEMENT_KEY),
)
FLATGEOBUF = Driver("flatgeobuf", "FlatGeobuf", (0, b"fgb"), {"SPATIAL_INDEX": "NO"}, ("layer_metadata", "DESCRIPTION"))
SHAPEFILE = Driver(
    "shapefile",
    "ESRI Shapefile",
    (0, b"\x00\x00\x27\x0a"),
    advice="its .shx and .dbf must stand beside it, whole",
)
SHAPEFILE_ENDINGS = ("shx", "dbf", "prj", "cpg", "qix", "qpj", "sbn", "sbx", "shp.xml")
COMPANIONS = {
    "geopackage": ("{name}-wal", "{name}-shm", "{name}-journal"),
    "shapefile": tuple("{stem}." + end for end in SHAPEFILE_ENDINGS),
}


@dataclass(frozen=True)
class VectorPoints:
    """A layer of points that GDAL reads.

    Parameters
    ----------
    path
        The file.
    layout
        Its public facts.
    person
        The name of the attribute that says whose a record is.
    declared
        How many records the header of the file promises, or less if it does not say.
    """

    path: Path
    layout: Layout
    person: str | None
    declared: int

    def batches(self) -> Iterator[Batch]:
        """Yield all records in order; one without a readable point is NaN."""
        return regrouped(silently(self._batches()))

    def _batches(self) -> Iterator[Batch]:
        import pyogrio

        columns = [self.person] if self.person else []
        options = {"columns": columns, "batch_size": READ_ROWS, "use_pyarrow": True}
        pyogrio.set_gdal_config_options(GDAL_SETTINGS)
        try:
            with pyogrio.open_arrow(self.path, layer=self.layout.layer, **options) as (meta, reader):
                seen = 0
                for batch in reader:
                    seen += len(batch)
                    coordinates = points_of_wkb(batch.column(meta["geometry_name"] or "wkb_geometry"))
                    owner = person_column(batch.column(self.person)) if self.person else None
                    yield make_batch(coordinates[:, 0], coordinates[:, 1], owner)
        except BROKEN:
            raise InputError(f"{self.path.name} is damaged: not all of it can be read.") from None
        if seen < self.declared:
            raise InputError(f"{self.path.name} is not whole: it holds fewer records than its header says.")


def silently(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the same, but let GDAL say nothing about the records it reads."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def read(driver: Driver, path: Path, request: Request) -> VectorPoints | GeoPackagePoints:
    """Open a file of this kind; only its schema is looked at."""
    path = checked(driver, path)
    no_columns(request.columns, path.name)
    info = _info(driver, path, request.layer)
    # Only FlatGeobuf counts its records in its header; elsewhere GDAL would have to look at them.
    declared = int(info["features"]) if driver is FLATGEOBUF else 0
    layout = layout_of(driver, info, path.name, request)
    if driver is GEOPACKAGE:
        check_table(path, str(layout.layer), [str(layout.geometry), *([request.person] if request.person else [])])
        return GeoPackagePoints(path, layout, request.person)
    return VectorPoints(path, layout, request.person, declared)


def checked(driver: Driver, path: Path) -> Path:
    """Return the absolute path of a file that begins as this format does."""
    path = existing_file(path)
    start, mark = driver.mark
    with path.open("rb") as stream:
        if stream.read(start + len(mark))[start:] != mark:
            raise InputError(f"{path.name} is not a {driver.gdal} file; it may be of another format.")
    if driver is SHAPEFILE:
        whole_shapefile(path)
    return path


def whole_shapefile(path: Path) -> None:
    """Refuse a Shapefile that is shorter than it says, whose end GDAL would take for missing points."""
    with path.open("rb") as stream:
        words = int.from_bytes(stream.read(28)[24:], "big")
    if path.stat().st_size < max(2 * words, 100):
        raise InputError(f"{path.name} is not whole: it is shorter than it says, so it was cut off.")


def _info(driver: Driver, path: Path, layer: str | None) -> dict[str, Any]:
    import pyogrio

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            info: dict[str, Any] = pyogrio.read_info(path, layer=chosen_layer(path, layer))
    except BROKEN:
        raise InputError(f"{path.name} cannot be opened as {driver.gdal}; {driver.advice}.") from None
    return info


def chosen_layer(path: Path, wanted: str | None) -> str:
    """Return the one layer of points, or the layer that was asked for."""
    import pyogrio

    layers = {str(name): kind for name, kind in pyogrio.list_layers(path)}
    spatial = [name for name, kind in layers.items() if kind is not None]
    if wanted is not None and wanted not in spatial:
        raise InputError(f"{path.name} has no layer {wanted!r}; it has {', '.join(spatial) or 'none'}.")
    points = [name for name in spatial if "Point" in layers[name]] or spatial
    if wanted is None and len(points) > 1:
        raise InputError(f"{path.name} has several layers: {', '.join(points)}. Say which with layer=.")
    if not points:
        raise InputError(f"{path.name} has no layer of points.")
    return wanted or points[0]


def layout_of(driver: Driver, info: dict[str, Any], name: str, request: Request) -> Layout:
    """Return the public facts of a layer."""
    kind = str(info["geometry_type"])
    if not kind.startswith(("Point", "MultiPoint", "2.5D Point", "Unknown", "GeometryCollection")):
        raise InputError(f"{name} holds geometries of type {kind}, not points.")
    names = [str(field) for field in info["fields"]]
    if request.person is not None:
        find_column(names, request.person, name)
    return Layout(
        driver.format,
        crs=chosen_crs(info["crs"], request.crs, name),
        file_crs=other_name(info["crs"]),
        geometry=info["geometry_name"] or None,
        layer=str(info["layer_name"]),
        left_out=tuple(names),
    )


def write(driver: Driver, path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write one layer of points, streamed through GDAL."""
    import pyogrio

    name = layout.geometry or "geom"
    schema = pa.schema([pa.field(name, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})])
    source = Remembering(canonical_chunks(chunks, layout.crs))
    batches = (pa.record_batch([wkb_of_points(chunk)], schema=schema) for chunk in source)
    try:
        pyogrio.write_arrow(
            pa.RecordBatchReader.from_batches(schema, batches),
            path,
            driver=driver.gdal,
            layer=layout.layer if driver is not SHAPEFILE and layout.layer else path.stem,
            geometry_name=name,
            geometry_type="Point",
            crs=layout.file_crs or layout.crs,
            **{option: value.format(geometry=name) for option, value in driver.options.items()},
            **driver.with_statement(statement),
        )
    except BROKEN:
        if source.problem is not None:
            raise source.problem from None
        raise InputError(f"{path.name} cannot be written as {driver.gdal}; is the disk full?") from None


class Remembering:
    """Chunks that remember what went wrong in them, which GDAL would forget.

    Parameters
    ----------
    chunks
        The chunks to yield.
    """

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self.problem: BaseException | None = None

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        try:
            yield from self._chunks
        except BaseException as problem:
            self.problem = problem
            raise


def statement(driver: Driver, path: Path) -> str | None:
    """Return the statement among the metadata of a file."""
    if driver.statement_place is None:
        return None
    kind, name = driver.statement_place
    path = checked(driver, path)
    found = _info(driver, path, None)[kind] or {}
    return found.get(name)
