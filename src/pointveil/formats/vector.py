"""Points in GeoPackage, Shapefile and FlatGeobuf."""

from collections.abc import Iterator, Mapping
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
from pointveil.formats.codes import coded
from pointveil.formats.columns import file_crs, find_column, no_columns
from pointveil.formats.decoding import as_text, wall_clock
from pointveil.formats.geopackage import check_table, rows, unwritten
from pointveil.formats.kept import codes_from, with_kept
from pointveil.formats.persons import person_column
from pointveil.formats.values import is_text
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


def _batches(path: Path, layout: Layout, request: Request, declared: int) -> Iterator[Batch]:
    """Yield all records of a layer, at least as many as the header of the file promises."""
    import pyogrio

    person = request.person
    wanted = [*([person] if person else []), *(column.name for column in coded(request.keep))]
    options = {"columns": wanted, "batch_size": READ_ROWS, "use_pyarrow": True}
    seen = 0
    with pyogrio.open_arrow(path, layer=layout.layer, **options) as (meta, reader):
        for batch in reader:
            seen += len(batch)
            coordinates = points_of_wkb(batch.column(meta["geometry_name"] or "wkb_geometry"))
            codes = codes_from(batch.column, layout, request.keep)
            yield make_batch(coordinates, person_column(batch.column(person)) if person else None, codes)
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
        facts = layer_facts(copy, POINTS)
        layout = layout_of(driver, facts, path.name, request)
        if driver is GEOPACKAGE:
            named = [request.person, *(column.name for column in coded(request.keep))]
            check_table(copy, str(layout.layer), [str(layout.geometry), *(name for name in named if name)])
    if driver is GEOPACKAGE:
        return PointSource(layout, partial(rows, path, layout, request), path)
    # Only FlatGeobuf counts its records in its header; elsewhere GDAL would have to look at them.
    declared = int(facts["features"]) if driver is FLATGEOBUF else 0
    return PointSource(layout, lambda: silently(_batches(path, layout, request, declared)), path)


def layout_of(driver: Driver, info: dict[str, Any], name: str, request: Request) -> Layout:
    """Return the public facts of a layer."""
    kind = str(info["geometry_type"])
    if not kind.startswith(("Point", "MultiPoint", "2.5D Point", "Unknown", "GeometryCollection")):
        raise InputError(f"{name} holds geometries of type {kind}, not points.")
    names = [str(field) for field in info["fields"]]
    if request.person is not None:
        find_column(names, request.person, name)
    layout = Layout(
        driver.format,
        crs=chosen_crs(info["crs"], request.crs, name),
        file_crs=file_crs(info["crs"]),
        geometry=info["geometry_name"] or None,
        layer=str(info["layer_name"]),
        left_out=tuple(names),
    )
    kinds = _kinds(driver, info)
    return with_kept(layout, names, request, name, lambda column, _: kinds[column.name])


def fields(driver: Driver, path: Path) -> dict[str, Any]:
    """Return the types of all columns."""
    check_fits(path)
    with unwritten(path) if driver is GEOPACKAGE else nullcontext(path) as copy:
        return _kinds(driver, layer_facts(copy, POINTS))


def _kinds(driver: Driver, info: dict[str, Any]) -> dict[str, Any]:
    facts = zip(info["fields"], info["dtypes"], info["ogr_types"], strict=True)
    return {str(name): _kind(driver, dtype, ogr_type) for name, dtype, ogr_type in facts}


def _kind(driver: Driver, dtype: Any, ogr_type: str) -> Any:
    """Return the Arrow type of a field."""
    if str(dtype) == "datetime64[ms]":
        return pa.timestamp("ms", "UTC" if driver is GEOPACKAGE else None)
    if str(dtype) == "object":
        return {"OFTString": pa.string(), "OFTBinary": pa.binary()}.get(ogr_type, pa.list_(pa.null()))
    return pa.from_numpy_dtype(str(dtype)) if str(dtype) != "datetime64[D]" else pa.date32()


def _fields(driver: Driver, kept: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return kept columns as GDAL can write them, so that they are read as the same again."""
    found = {}
    for name, given in kept.items():
        column = given.dictionary_decode() if pa.types.is_dictionary(given.type) else given
        kind, form = column.type, layout.kept[name].metadata or {}
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            # Only a GeoPackage says which moment is meant; elsewhere it is what the clock shows.
            is_utc = driver is GEOPACKAGE
            column = column if is_utc else wall_clock(column, form.get(b"clock", b"").decode())
            column = column.cast(pa.timestamp("ms", "UTC" if is_utc else None), safe=False)
        elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
            column = column.cast(pa.float64())
        elif is_text(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_fixed_size_binary(kind):
            column = column if kind == pa.binary() and driver is not SHAPEFILE else as_text(column, form)
        elif pa.types.is_date64(kind):
            column = column.cast(pa.date32())
        found[name] = column
    return found


def write(driver: Driver, path: Path, chunks: Chunks, layout: Layout, statement: str | None) -> None:
    """Write one layer of points, streamed through GDAL."""
    import pyogrio

    name, own_crs = layout.geometry or "geom", layout.file_crs or layout.crs
    wkb = pa.field(name, pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    nothing = {each: pa.array([], field.type) for each, field in layout.kept.items()}
    kinds = {each: pa.field(each, column.type) for each, column in _fields(driver, nothing, layout).items()}
    schema = pa.schema(layout.in_order({name: wkb}, kinds).values())
    problems: list[BaseException] = []

    def batches() -> Iterator[Any]:
        try:
            for chunk in chunks:
                kept = _fields(driver, chunk.kept, layout)
                columns = layout.in_order({name: wkb_of_points(chunk.coordinates)}, kept)
                yield pa.record_batch(list(columns.values()), schema=schema)
        except BaseException as problem:  # which GDAL would forget
            problems.append(problem)
            raise

    options = {option: value.format(geometry=name) for option, value in driver.options.items()}
    try:
        with quiet_gdal():
            pyogrio.write_arrow(
                pa.RecordBatchReader.from_batches(schema, batches()),
                path,
                driver=driver.gdal,
                layer=layout.layer if driver is not SHAPEFILE and layout.layer else path.stem,
                geometry_name=name,
                geometry_type="Point",
                crs=own_crs if driver is SHAPEFILE else for_gdal(own_crs),
                **options,
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
    found: dict[str, str] = layer_facts(path, POINTS)[kind] or {}
    return found.get(name)
