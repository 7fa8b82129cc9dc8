"""Points in GeoPackage, Shapefile and FlatGeobuf."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pointveil.errors import InputError
from pointveil.files.crs import chosen_crs, for_gdal
from pointveil.files.vector_layer import BROKEN, POINTS, check_fits, layer_facts, quiet_gdal
from pointveil.formats.base import STATEMENT_KEY, Batch, Chunks, DamagedError, Layout, PointSource, Request, make_batch
from pointveil.formats.columns import file_crs, find_column, no_columns
from pointveil.formats.geopackage import check_table, rows, unwritten
from pointveil.formats.persons import person_column
from pointveil.formats.wkb import points_of_wkb, wkb_of_points

READ_ROWS = 1 << 16


@dataclass(frozen=True)
class Driver:
    """A vector format that GDAL reads and writes."""

    format: str  # its row in the table of formats
    gdal: str  # GDAL's name of it
    options: dict[str, str] = field(default_factory=dict)  # for writing; {geometry} stands for the name of its column
    statement_place: tuple[str, str] | None = None  # which of GDAL's two kinds of metadata, and the name there
    companions: tuple[str, ...] = ()  # patterns of the files that are a part of a file

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
    {"SPATIAL_INDEX": "NO", "GEOMETRY_NAME": "{geometry}"},
    ("dataset_metadata", STATEMENT_KEY),
    ("{name}-wal", "{name}-shm", "{name}-journal"),
)
FLATGEOBUF = Driver("flatgeobuf", "FlatGeobuf", {"SPATIAL_INDEX": "NO"}, ("layer_metadata", "DESCRIPTION"))
SHAPEFILE_ENDINGS = ("shx", "dbf", "prj", "cpg", "qix", "qpj", "sbn", "sbx", "shp.xml")
SHAPEFILE = Driver("shapefile", "ESRI Shapefile", companions=tuple("{stem}." + ending for ending in SHAPEFILE_ENDINGS))


def _batches(path: Path, layout: Layout, person: str | None, declared: int) -> Iterator[Batch]:
    """Yield all records of a layer, at least as many as the header of the file promises."""
    import pyogrio

    options = {"columns": [person] if person else [], "batch_size": READ_ROWS, "use_pyarrow": True}
    seen = 0
    with pyogrio.open_arrow(path, layer=layout.layer, **options) as (meta, reader):
        for batch in reader:
            seen += len(batch)
            coordinates = points_of_wkb(batch.column(meta["geometry_name"] or "wkb_geometry"))
            yield make_batch(coordinates, person_column(batch.column(person)) if person else None)
    if seen < declared:
        raise DamagedError(f"{path.name} is damaged: it holds fewer records than its header says.")


def silently(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the same, but let GDAL say nothing about the records it reads."""
    while True:
        with quiet_gdal():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def read(driver: Driver, path: Path, request: Request) -> PointSource:
    """Open a file of this kind; only its schema is looked at."""
    check_fits(path)
    no_columns(request.columns, path.name)
    with unwritten(path) if driver is GEOPACKAGE else nullcontext(path) as copy:
        facts = layer_facts(copy, POINTS, request.layer)
        layout = layout_of(driver, facts, path.name, request)
        if driver is GEOPACKAGE:
            check_table(copy, str(layout.layer), [str(layout.geometry), *([request.person] if request.person else [])])
    if driver is GEOPACKAGE:
        return PointSource(layout, partial(rows, path, layout, request.person), path)
    # Only FlatGeobuf counts its records in its header; elsewhere GDAL would have to look at them.
    declared = int(facts["features"]) if driver is FLATGEOBUF else 0
    return PointSource(layout, lambda: silently(_batches(path, layout, request.person, declared)), path)


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
        file_crs=file_crs(info["crs"]),
        geometry=info["geometry_name"] or None,
        layer=str(info["layer_name"]),
        left_out=tuple(names),
    )


def write(driver: Driver, path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write one layer of points, streamed through GDAL."""
    import pyogrio

    name, own_crs = layout.geometry or "geom", layout.file_crs or layout.crs
    schema = pa.schema([pa.field(name, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})])
    problems: list[BaseException] = []

    def batches() -> Iterator[Any]:
        try:
            for chunk in chunks:
                yield pa.record_batch([wkb_of_points(chunk)], schema=schema)
        except BaseException as problem:  # which GDAL would forget
            problems.append(problem)
            raise

    try:
        pyogrio.write_arrow(
            pa.RecordBatchReader.from_batches(schema, batches()),
            path,
            driver=driver.gdal,
            layer=layout.layer if driver is not SHAPEFILE and layout.layer else path.stem,
            geometry_name=name,
            geometry_type="Point",
            crs=own_crs if driver is SHAPEFILE else for_gdal(own_crs),
            **{option: value.format(geometry=name) for option, value in driver.options.items()},
            **driver.with_statement(statement),
        )
    except BROKEN:
        if problems:
            raise problems[0] from None
        raise InputError(f"{path.name} cannot be written as {driver.gdal}; is the disk full?") from None


def statement(driver: Driver, path: Path) -> str | None:
    """Return the statement among the metadata of a file."""
    if driver.statement_place is None:
        return None
    kind, name = driver.statement_place
    check_fits(path)
    found: dict[str, str] = layer_facts(path, POINTS, None)[kind] or {}
    return found.get(name)
