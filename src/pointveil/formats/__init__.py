"""Files and frames of real records, in and out: only the vault, engines and evaluation are handed what is read."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import blocks
from pointveil.columns import Column
from pointveil.errors import InputError
from pointveil.files.crs import same_places
from pointveil.files.drafts import draft_folder
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.files.places import File, files_in, is_database, local_path
from pointveil.files.whole import existing_file, write_whole
from pointveil.formats import csv, frames, geojson, many, parquet, postgis, spark, vector
from pointveil.formats.base import Batch as Batch
from pointveil.formats.base import Chunk as Chunk
from pointveil.formats.base import DamagedError as DamagedError
from pointveil.formats.base import Format as Format
from pointveil.formats.base import Layout as Layout
from pointveil.formats.base import PointSource as PointSource
from pointveil.formats.base import Request
from pointveil.formats.columns import usual_names
from pointveil.formats.kept import settled
from pointveil.formats.released import kept_values as kept_values
from pointveil.plugins import load_plugins


def _vector(suffix: str, driver: vector.Driver) -> Format:
    read, write = partial(vector.read, driver), partial(vector.write, driver)
    known = partial(vector.statement, driver), driver.companions, partial(vector.fields, driver)
    return Format((suffix,), True, read, write, *known)


_parquet = partial(Format, read=parquet.read, statement=parquet.statement, fields=parquet.fields, is_remote=True)
FORMATS = {
    "csv": Format((".csv", ".tsv", ".txt"), False, csv.read, csv.write, fields=csv.fields, is_remote=True),
    "parquet": _parquet((".parquet", ".pq"), has_geometry=False, write=parquet.write),
    "geoparquet": _parquet((".geoparquet",), has_geometry=True, write=parquet.write_geometry),
    "geojson": Format((".geojson", ".json"), True, geojson.read, geojson.write, geojson.statement),
    "geopackage": _vector(".gpkg", vector.GEOPACKAGE),
    "shapefile": _vector(".shp", vector.SHAPEFILE),
    "flatgeobuf": _vector(".fgb", vector.FLATGEOBUF),
}
ENGINES = ("local", "spark")
PART_ROWS = 2**23
"""Points in each file of a folder, and perhaps a chunk more."""
GEOMETRY_NAMES = {"geopackage": "geom"}
ADVICE = {
    (".gz", ".zip", ".bz2", ".xz", ".zst"): "Unpack it first.",
    (".xlsx", ".xls", ".ods", ".numbers"): "Spreadsheets are neither read nor written: use CSV.",
}


def register_format(name: str, row: Format) -> None:
    """Add a format; a name or a suffix that is taken is refused."""
    taken = {suffix for known in FORMATS.values() for suffix in known.suffixes} & set(row.suffixes)
    if name in FORMATS or taken:
        raise InputError(f"There is already a format for {', '.join(sorted(taken)) or name}: choose another name.")
    FORMATS[name] = row


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the name of the format that the suffix of a path stands for."""
    suffix = Path(path).suffix.lower()
    for name, row in FORMATS.items():
        if suffix in row.suffixes:
            return name
    if load_plugins():
        return format_of(path)
    known = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
    advice = next((text for ends, text in ADVICE.items() if suffix in ends), "Give it the suffix of its format.")
    raise InputError(f"{Path(path).name} is in no format known here, which are {known}. {advice}")


def open_points(
    source: Any,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    person: str | None = None,
    in_order: bool = False,
    keep: tuple[Column, ...] = (),
    engine: str = "local",
    master: str | None = None,
) -> PointSource:
    """Open points, without reading a record yet; `Request` says what else the caller may tell.

    A source is a path, a folder, a pattern such as `trips/*.parquet`, a list of paths, or an address; a frame or
    stream that Arrow can take (pandas, polars, DuckDB, ibis, pyarrow); a geopandas frame or series; an (n, 2) array or
    a list of pairs, x (longitude) first. A table that is a release can be read `in_order`: as it was written.
    With the engine "spark", executors read the files, of the cluster at `master`.
    """
    request = Request(None if columns is None else _pair(columns), crs, person, tuple(keep))
    if engine not in ENGINES or (master is not None and engine != "spark"):
        raise InputError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}; only Spark has a master.")
    found = _opened(source, request, in_order=in_order)
    if engine == "spark" and found.cluster is None:
        found = spark.spread(found, spark.session(master))
    return dataclasses.replace(found, keep=settled(request.keep, found.layout))


def _opened(source: Any, request: Request, *, in_order: bool) -> PointSource:
    named = as_named(source)
    if named is None:
        return frames.read(source, request)
    if is_database(named):
        return postgis.read(named, request, in_order=in_order)
    found, path = files_in(named), local_path(named)
    if found is None and path is not None:
        return _read_file(existing_file(path), request)
    return many.read(named, found or {}, request, _read_file)


def as_named(source: Any) -> Any:
    """Return a source that is told by its path or address, or by a list of them; nothing for one that holds records."""
    # Here, although `files.places` asks much the same: it must never be handed a record.
    items = source if isinstance(source, list | tuple) else [source]
    return source if items and all(isinstance(item, str | os.PathLike) for item in items) else None


def _read_file(file: File, request: Request) -> PointSource:
    return _row_of(file).read(file, request)


def _row_of(file: File) -> Format:
    row = FORMATS[format_of(file)]
    if not isinstance(file, Path) and not row.is_remote:
        able = ", ".join(suffix for each in FORMATS.values() if each.is_remote for suffix in each.suffixes)
        raise InputError(f"{file.name} cannot be read from a store, only {able}; copy it to this machine first.")
    return row


def _pair(columns: Any) -> tuple[str, str]:
    names = tuple(columns)
    if isinstance(columns, str) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise InputError(f"columns={columns!r} is not two names; give the names of x and of y, as in ('LON', 'LAT').")
    return names[0], names[1]


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether an output of this name is a folder of parts: whether it has no suffix."""
    return not Path(path).suffix


def part_path(path: Path, format_: str, number: int = 0) -> Path:
    """Return the name of a part of a folder, in this format if it can be cut into parts, else in Parquet."""
    suffix = FORMATS[format_].suffixes[0] if format_ in FORMATS and FORMATS[format_].is_remote else ".parquet"
    return path / f"part-{number:05}{suffix}"


def output_layout(path: str | os.PathLike[str], like: Layout) -> Layout:
    """Return the layout of a new file: as `like`, save for what the suffix of `path` decides."""
    path = Path(path)
    if is_folder(path):
        return output_layout(part_path(path, like.format), like)
    name = format_of(path)
    known = FORMATS.get(like.format)
    if name == "parquet" and (like.geometry is not None if known is None else known.has_geometry):
        name = "geoparquet"
    if FORMATS[name].has_geometry:
        return _with_geometry(name, path.stem, like)
    plain = dataclasses.replace(like, format=name, geometry=None, layer=None, encoding="WKB")
    if path.suffix.lower() == ".tsv" and plain.delimiter != "\t":
        plain = dataclasses.replace(plain, delimiter="\t", header=())
    if like.x is None or like.y is None:
        x, y = usual_names(like.crs)
        columns = like.columns_at(x, y) if like.columns else ()
        plain = dataclasses.replace(plain, x=x, y=y, y_first=False, columns=columns)
    return plain


def _with_geometry(name: str, stem: str, like: Layout) -> Layout:
    geometry = like.geometry or GEOMETRY_NAMES.get(name, "geometry")
    columns = like.columns_at(geometry) if like.columns else ()
    if like.format == name:
        layer = like.layer or stem
        return dataclasses.replace(like, geometry=geometry, layer=layer, x=None, y=None, y_first=False, columns=columns)
    return Layout(
        name, like.crs, geometry=geometry, layer=stem, left_out=like.left_out, columns=columns, schema=like.schema
    )


def write_points(
    path: str | os.PathLike[str],
    chunks: Iterable[Chunk | NDArray[np.float64]],
    layout: Layout,
    *,
    statement: str | None,
    total: int,
    first: str | None = None,
    beside: Callable[[Path], object] | None = None,
) -> list[Path]:
    """Write points to a file that appears whole or not at all, and return the files written.

    The chunks are (n, 2) x and y in the layout's CRS, on its public lattice, `total` points together; with them come
    tables of the columns that the layout keeps. The statement is embedded where the format has a place for it. A file
    that exists is replaced at the very end. `first` names a file that is put in place before all others; `beside`
    writes it beside the finished draft.
    """
    row = FORMATS[layout.format]

    def write(new: Path) -> None:
        checked = _checked(chunks, layout, total)
        if is_folder(new):
            new.mkdir()
            for number, part in enumerate(_in_parts(checked)):
                row.write(part_path(new, layout.format, number), part, layout, statement)
        else:
            row.write(new, checked, layout, statement)
        if beside is not None:
            beside(new)

    return write_whole(Path(path), write, companions=row.companions, first=first)


def write_table(
    url: str,
    chunks: Iterable[Chunk],
    layout: Layout,
    *,
    statement: str,
    total: int,
    ready: Callable[[str], None],
    **options: Any,
) -> None:
    """Write points to a table of a database; parameters as of `write_points` and of `postgis.write`."""
    postgis.write(url, _checked(chunks, layout, total), layout, statement, ready=ready, **options)


check_table = postgis.check


def _in_parts(chunks: Iterator[Chunk]) -> Iterator[Iterator[Chunk]]:
    """Yield the chunks of each part; at least one part, perhaps without chunks."""
    waiting = next(chunks, None)
    while True:

        def part() -> Iterator[Chunk]:
            nonlocal waiting
            rows = 0
            while waiting is not None and rows < PART_ROWS:
                rows += len(waiting.coordinates)
                yield waiting
                waiting = next(chunks, None)

        yield part()
        if waiting is None:
            return


def files_of(path: Path) -> list[Path]:
    """Return the files that may be written for a release at `path`, or go with an older one."""
    patterns = () if is_folder(path) else FORMATS[format_of(path)].companions
    return [path, *(path.with_name(pattern.format(name=path.name, stem=path.stem)) for pattern in patterns)]


def _checked(chunks: Iterable[Chunk | NDArray[np.float64]], layout: Layout, total: int) -> Iterator[Chunk]:
    """Yield the chunks, if they hold as many points as was said, each on the public lattice, and the kept columns."""
    seen = 0
    for given in chunks:
        chunk = given if isinstance(given, Chunk) else Chunk(given)
        places = chunk.coordinates
        if not all(_on_lattice(places[block], layout.crs) for block in blocks(len(places))):
            raise ValueError("Only points on the public lattice of their CRS are written; nothing was written.")
        table = () if chunk.table is None else chunk.table.column_names
        if {*table} != {*layout.kept} or (chunk.table is not None and chunk.table.num_rows != len(places)):
            raise ValueError("The kept columns are not those of the layout; nothing was written.")
        seen += len(places)
        yield chunk
    if seen != total:
        raise ValueError(f"{total} points were to be written, and {seen} came; nothing was written.")


def _on_lattice(places: NDArray[np.float64], crs: str) -> bool:
    return bool(np.isfinite(places).all() and np.array_equal(snap(places, crs), places))


def check_holds_crs(path: Path, like: Layout, places: NDArray[np.float64]) -> None:
    """Refuse a format that would move these public places (n, 2), in the CRS of `like`, by a step of the lattice."""
    form = output_layout(path, like)
    if form.geometry is None:
        return
    with draft_folder() as folder:
        empty = folder / path.name
        write_points(empty, [], form, statement=None, total=0)
        written = open_points(empty).layout
    lost = [name for name in form.kept if name not in written.left_out and form.format != "geojson"]
    if lost:
        raise InputError(
            f"{path.name}: this format cannot hold a column called {', '.join(lost)}. Write .gpkg, .parquet or .csv, "
            "or keep it under another name."
        )
    if not same_places(written.crs, form.crs, places, 1 / steps_per_unit(form.crs)):
        raise InputError(f"{path.name}: this format cannot hold the CRS of the points. Write .gpkg, .parquet or .csv.")


def describe_columns(source: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """Return the format of a source, and its columns' Arrow types by name; not of those that surely say where it is."""
    if is_database(source):
        name, found = "table", postgis.fields(str(source))
    else:
        files, path = files_in(source), local_path(source)
        file = next(iter(files)) if files else existing_file(Path() if path is None else path)
        name, found = format_of(file), _row_of(file).fields(file)
    try:
        layout = open_points(source).layout
    except InputError:  # only the caller knows which columns say that, or which CRS they have
        return name, found
    return name, {each: kind for each, kind in found.items() if each not in {layout.x, layout.y, layout.geometry}}


def read_statement(path: str | os.PathLike[str]) -> str | None:
    """Return the statement embedded in a file, or nothing if there is none."""
    if is_database(path):
        return postgis.statement(str(path))
    file = min(Path(path).iterdir(), default=Path(path)) if Path(path).is_dir() else Path(path)
    return FORMATS[format_of(file)].statement(existing_file(file))
