"""Files and frames of real records, in and out: only the vault, engines and evaluation are handed what is read."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.files.crs import same_places
from pointveil.files.lattice import snap, steps_per_unit
from pointveil.files.whole import existing_file, write_whole
from pointveil.formats import csv, frames, geojson, parquet, vector
from pointveil.formats.base import Batch as Batch
from pointveil.formats.base import Chunks, Request
from pointveil.formats.base import DamagedError as DamagedError
from pointveil.formats.base import Format as Format
from pointveil.formats.base import Layout as Layout
from pointveil.formats.base import PointSource as PointSource
from pointveil.formats.columns import usual_names
from pointveil.plugins import load_plugins


def _vector(suffix: str, driver: vector.Driver) -> Format:
    read, write = partial(vector.read, driver), partial(vector.write, driver)
    return Format((suffix,), True, read, write, partial(vector.statement, driver), driver.companions)


FORMATS = {
    "csv": Format((".csv", ".tsv", ".txt"), False, csv.read, csv.write),
    "parquet": Format((".parquet", ".pq"), False, parquet.read, parquet.write, parquet.statement),
    "geoparquet": Format((".geoparquet",), True, parquet.read, parquet.write_geometry, parquet.statement),
    "geojson": Format((".geojson", ".json"), True, geojson.read, geojson.write, geojson.statement),
    "geopackage": _vector(".gpkg", vector.GEOPACKAGE),
    "shapefile": _vector(".shp", vector.SHAPEFILE),
    "flatgeobuf": _vector(".fgb", vector.FLATGEOBUF),
}
GEOMETRY_NAMES = {"geopackage": "geom"}


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
    advice = (
        "Unpack it first." if suffix in {".gz", ".zip", ".bz2", ".xz", ".zst"} else "Give it the suffix of its format."
    )
    raise InputError(f"{Path(path).name} is in no format known here, which are {known}. {advice}")


def open_points(
    source: Any,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    person: str | None = None,
    layer: str | None = None,
) -> PointSource:
    """Open points, without reading a record yet; `Request` says what else the caller may tell.

    A source is a path; a frame or stream that Arrow can take (pandas, polars, DuckDB, ibis, pyarrow); a geopandas
    frame or series; an (n, 2) array or a list of pairs, x (longitude) first.
    """
    request = Request(None if columns is None else _pair(columns), crs, person, layer)
    if isinstance(source, str | os.PathLike):
        path = existing_file(Path(source))
        return FORMATS[format_of(path)].read(path, request)
    return frames.read(source, request)


def _pair(columns: Any) -> tuple[str, str]:
    names = tuple(columns)
    if isinstance(columns, str) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise InputError(f"columns={columns!r} is not two names; give the names of x and of y, as in ('LON', 'LAT').")
    return names[0], names[1]


def output_layout(path: str | os.PathLike[str], like: Layout) -> Layout:
    """Return the layout of a new file: as `like`, save for what the suffix of `path` decides."""
    path = Path(path)
    name = format_of(path)
    if name == "parquet" and _has_geometry(like):
        name = "geoparquet"
    if FORMATS[name].has_geometry:
        return _with_geometry(name, path.stem, like)
    plain = dataclasses.replace(like, format=name, geometry=None, layer=None, encoding="WKB")
    if path.suffix.lower() == ".tsv":
        plain = dataclasses.replace(plain, delimiter="\t")
    if like.x is None or like.y is None:
        x, y = usual_names(like.crs)
        plain = dataclasses.replace(plain, x=x, y=y, y_first=False)
    return plain


def _has_geometry(layout: Layout) -> bool:
    known = FORMATS.get(layout.format)
    return layout.geometry is not None if known is None else known.has_geometry


def _with_geometry(name: str, stem: str, like: Layout) -> Layout:
    geometry = like.geometry or GEOMETRY_NAMES.get(name, "geometry")
    if like.format == name:
        layer = like.layer or stem
        return dataclasses.replace(like, geometry=geometry, layer=layer, x=None, y=None, y_first=False)
    return Layout(name, like.crs, geometry=geometry, layer=stem, left_out=like.left_out)


def write_points(
    path: str | os.PathLike[str],
    chunks: Chunks,
    layout: Layout,
    *,
    statement: str | None,
    total: int,
    first: str | None = None,
    beside: Callable[[Path], object] | None = None,
) -> list[Path]:
    """Write points to a file that appears whole or not at all, and return the files written.

    The chunks are (n, 2) x and y in the layout's CRS, on its public lattice, `total` points together. The statement is
    embedded where the format has a place for it. A file that exists is replaced at the very end. `first` names a file
    that is put in place before all others; `beside` writes it beside the finished draft.
    """
    row = FORMATS[layout.format]

    def write(new: Path) -> None:
        row.write(new, _checked(chunks, layout.crs, total), layout, statement)
        if beside is not None:
            beside(new)

    return write_whole(Path(path), write, companions=row.companions, first=first)


def files_of(path: Path) -> list[Path]:
    """Return the files that may be written for a release at `path`, or go with an older one."""
    patterns = FORMATS[format_of(path)].companions
    return [path, *(path.with_name(pattern.format(name=path.name, stem=path.stem)) for pattern in patterns)]


def _checked(chunks: Chunks, crs: str, total: int) -> Iterator[NDArray[np.float64]]:
    """Yield the chunks, if they hold as many points as was said, each on the public lattice."""
    seen = 0
    for chunk in chunks:
        if not (np.isfinite(chunk).all() and np.array_equal(snap(chunk, crs), chunk)):
            raise ValueError("Only points on the public lattice of their CRS are written; nothing was written.")
        seen += len(chunk)
        yield chunk
    if seen != total:
        raise ValueError(f"{total} points were to be written, and {seen} came; nothing was written.")


def check_holds_crs(path: Path, like: Layout, places: NDArray[np.float64]) -> None:
    """Refuse a format that would move these public places (n, 2), in the CRS of `like`, by a step of the lattice."""
    form = output_layout(path, like)
    if form.geometry is None:
        return
    with TemporaryDirectory() as folder:
        empty = Path(folder) / path.name
        write_points(empty, [], form, statement=None, total=0)
        kept = open_points(empty).layout.crs
    if not same_places(kept, form.crs, places, 1 / steps_per_unit(form.crs)):
        raise InputError(f"{path.name}: this format cannot hold the CRS of the points. Write .gpkg, .parquet or .csv.")


def read_statement(path: str | os.PathLike[str]) -> str | None:
    """Return the statement embedded in a file, or nothing if there is none."""
    return FORMATS[format_of(path)].statement(existing_file(Path(path)))
