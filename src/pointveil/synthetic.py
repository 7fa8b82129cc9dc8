"""Synthetic points: coordinates, their form, and what is promised about them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil import counting, showing
from pointveil.cells.arrays import blocks
from pointveil.columns import Column, from_dict
from pointveil.errors import InputError, missing_extra
from pointveil.files.crs import DEGREES, short_name, transform
from pointveil.files.laid_aside import LaidAside
from pointveil.files.lattice import steps_per_unit
from pointveil.files.memory import return_memory
from pointveil.files.places import fetched, is_beside, is_database, local_path, names_at, public_name, put, remove
from pointveil.files.whole import EXISTS, OTHER_FILES, PART, check_target, file_digest, refuse_existing
from pointveil.formats import (
    Chunk,
    Layout,
    check_holds_crs,
    check_table,
    files_of,
    format_of,
    is_folder,
    output_layout,
    write_points,
    write_table,
)
from pointveil.formats import as_named as _as_named
from pointveil.formats.base import Codes
from pointveil.formats.decoding import keep_columns as _keep_columns
from pointveil.formats.geojson import properties
from pointveil.formats.kept import codes_from
from pointveil.ledger import OWN, Own
from pointveil.statement import Output, OutputFile, SigningKey, Statement, find_key, parse_statement
from pointveil.world import World

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import polars as pl
    import pyarrow as pa

CHUNK = 2**20
STATEMENT = ".statement.json"
# For those who are not to import what reads real records.
as_named, keep_columns = _as_named, _keep_columns


@dataclass(frozen=True)
class SyntheticPoints:
    """Points that were drawn: public, and free to use.

    polars, DuckDB, pyarrow and pandas read them by `__arrow_c_stream__`, geopandas by `__geo_interface__`.

    Parameters
    ----------
    coordinates
        (n, 2) x and y (longitude and latitude) in the units of the layout's CRS, each on the public lattice.
    layout
        The form of the file they stand for: format, column names, CRS.
    statement
        What is promised, and what it cost.
    kept
        The kept columns as an Arrow table, in the order declared, if there are any.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> points = pv.synthesize(vault, count=100, seed=1)
    >>> points
    <SyntheticPoints: 100 points in EPSG:4326, epsilon 1, protects one point>
    >>> points.to_arrow().column_names
    ['lon', 'lat']
    >>> points.write("synthetic.geojson").output.rows
    100
    """

    coordinates: NDArray[np.float64]
    layout: Layout
    statement: Statement
    kept: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.coordinates)

    @staticmethod
    def laid_aside(
        drawn: Iterable[tuple[NDArray[np.float64], pa.Table | None]],
        layout: Layout,
        statement: Statement,
        folder: Path | None,
    ) -> SyntheticPoints:
        """Return points, with kept columns, that are too many to be held: laid aside as they come."""
        laid = LaidAside(folder)

        def added() -> Iterator[NDArray[np.float64]]:
            for block in drawn:
                laid.add(_as_table(Chunk(*block)))
                yield block[0]

        digest = points_digest(added(), steps_per_unit(layout.crs))
        return_memory()  # that drawing took
        return _LaidAside(laid, layout, statement, digest)

    def with_statement(self, statement: Statement) -> SyntheticPoints:
        """Return the same points with another statement."""
        return replace(self, statement=statement)

    def __repr__(self) -> str:
        return f"<SyntheticPoints: {len(self):,} points in {short_name(self.crs)}, {self.statement.in_short}>"

    def _repr_html_(self) -> str:
        return showing.card(self.coordinates, self.crs, self.statement)

    @property
    def crs(self) -> str:
        """The coordinate system, such as EPSG:4326."""
        return self.layout.crs

    def write(
        self,
        path: str | PathLike[str],
        *,
        layout: Layout | None = None,
        key: SigningKey | str | PathLike[str] | Own | None = OWN,
        force: bool = False,
        ready: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Statement:
        """Write the points to a file, a folder or a store, and the statement into it and beside it.

        The file has the form of the input (format, columns, order, CRS), unless the suffix says otherwise; a name
        without a suffix is a folder of parts, and an address such as s3://bucket/synthetic.parquet an object. The
        statement lies beside it as `<name>.statement.json`, signed with `key`: one that you name, by default your own
        if you have one, or None. Both appear whole or not at all, the statement first. A file that exists is replaced
        only with `force`; `ready` is told names and digests of the files before they are put in place.
        """
        key, local = find_key(key), local_path(path)
        if is_database(path):
            return self._write_table(str(path), key=key, force=force, ready=ready)
        if local is None:
            return self._write_to_store(str(path), layout=layout, key=key, force=force, ready=ready)
        path = check_target(local)
        form = layout or output_layout(path, self.layout)
        check_release(path, force=force)
        output = self._output(form)
        described = self.statement.with_output(output).signed(key)
        complete: list[Statement] = []

        def state(draft: Path) -> None:
            complete.append(state_beside(draft, output, described, key, ready))

        embedded, first = described.to_json(), statement_path(path).name
        write_points(path, self.chunks(), form, statement=embedded, total=len(self), first=first, beside=state)
        return complete[0]

    def _write_to_store(self, url: str, *, key: SigningKey | None, force: bool, **options: Any) -> Statement:
        """Write to a private folder first, then copy; the statement is there before its file."""
        check_release(url, force=force)
        with TemporaryDirectory(prefix="pointveil-") as folder:
            draft = Path(folder) / public_name(url)
            statement = self.write(draft, key=key, **options)
            if force:
                remove(url, draft.name)
            put(url, sorted(Path(folder).iterdir(), key=lambda file: file.name != statement_path(draft).name))
        return statement

    def _write_table(
        self, url: str, *, key: SigningKey | None, force: bool, ready: Callable[[Mapping[str, Any]], None] | None
    ) -> Statement:
        shape = self.layout.geometry or "geom"
        columns = self.layout.columns_at(shape) if self.layout.columns else ()
        form = replace(self.layout, geometry=shape, x=None, y=None, columns=columns)
        stated, name = self.statement.with_output(self._output(form)).signed(key), public_name(url)

        def tell(digest: str) -> None:
            if ready is not None:
                ready({"file": name, "rows": len(self), "files": {name: digest}})

        write_table(url, self.chunks(), form, statement=stated.to_json(), total=len(self), ready=tell, force=force)
        return stated

    def to_arrow(self) -> Any:
        """Return the points as an Arrow table: x, y and the kept columns, named and ordered as in the input."""
        return self._table().replace_schema_metadata({"pointveil.statement": self.statement.to_json()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The points as a GeoJSON FeatureCollection: longitude and latitude (EPSG:4326), whatever their own CRS is."""
        places = transform(self.crs, DEGREES)(self.coordinates).tolist()
        rows = [{} for _ in places] if self.kept is None else properties(self.kept, self.layout)
        features = [
            {"type": "Feature", "properties": row, "geometry": {"type": "Point", "coordinates": place}}
            for place, row in zip(places, rows, strict=True)
        ]
        return {"type": "FeatureCollection", "features": features}

    def to_pandas(self) -> pd.DataFrame:
        """Return the points as a pandas frame: x, y and the kept columns, named and ordered as in the input."""
        return _import("pandas") and self._table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the points as a polars frame: x, y and the kept columns, named and ordered as in the input."""
        return _import("polars").from_arrow(self._table())

    def to_geopandas(self) -> geopandas.GeoDataFrame:
        """Return the points as a geopandas frame, in their CRS."""
        gpd = _import("geopandas")
        shapes = gpd.points_from_xy(*self.coordinates.T)
        if self.kept is None:
            return gpd.GeoDataFrame(geometry=shapes, crs=self.crs)
        frame = gpd.GeoDataFrame(self.kept.to_pandas(), geometry=shapes, crs=self.crs)
        return frame[list(self.layout.columns_at("geometry"))]

    def count(
        self, area: Any, *, time: Any = None, where: Mapping[str, Any] | None = None, crs: str | None = None
    ) -> counting.Count:
        """Return how many people are in an area, with a margin, such as 212 ± 14.

        The area is a polygon, a GeoDataFrame or GeoSeries of polygons (together), (x, y, radius in metres), or bounds
        (west, south, east, north), in `crs`; by default in its own or the file's, or in longitude and latitude.
        `time` is (from, to) where a time is kept: moments, or whole hours of a pattern; `to` is
        outside. `where` names values of other kept columns: {"kind": "visitor"}, a list of values, or (from, to) of a
        number. Nine in ten such intervals hold the count of the real file; a count of a release whose statement has no
        margins says so.
        """
        chosen = None
        if time is not None or where:
            chosen = counting.slice_of(*self.kept_codes(), time, where or {})
        return counting.count_in(self.coordinates, self.crs, area, self.statement, chosen, crs)

    def kept_codes(self) -> tuple[list[Column], Codes]:
        """Return the kept columns, and an array (rows,) of codes for each that has bins."""
        keep = [from_dict(column) for column in self.statement.columns]
        return keep, self._codes(Chunk(self.coordinates, self.kept)) if keep else ()

    def plot(self, ax: Any = None) -> Any:
        """Draw the points with matplotlib, onto `ax` or onto new axes, and return the axes."""
        return showing.plot(self.coordinates, self.crs, ax=ax)

    def explore(self, world: World | str | PathLike[str] | None = None) -> Any:
        """Return a map to move about in: folium's if it is installed, else the release's page, which works offline.

        Both show themselves in a notebook. The page is `explore().html`, to be saved as a file; with the world of the
        release it has streets and water. Folium fetches its background map from the internet.
        """
        return showing.explore(self, self.statement, World.read(world) if isinstance(world, str | PathLike) else world)

    def _table(self) -> Any:
        import pyarrow as pa

        places = dict(zip(self.layout.names, self.layout.in_file_order(self.coordinates), strict=True))
        return pa.table(self.layout.in_order(places, Chunk(self.coordinates, self.kept).kept))

    def chunks(self) -> Iterator[Chunk]:
        """Yield the points as they are written, some at a time."""
        for block in blocks(len(self), CHUNK):
            table = None if self.kept is None else self.kept.slice(block.start, block.stop - block.start)
            yield Chunk(self.coordinates[block], table)

    def _output(self, form: Layout) -> Output:
        digest = self._digest(steps_per_unit(form.crs))
        chunks = self.chunks() if len(self) else [Chunk(self.coordinates, self.kept)]
        return output_of(
            form, len(self), digest, codes_digest(map(self._codes, chunks)) if self.statement.columns else None
        )

    def _digest(self, steps: int) -> str:
        return points_digest((chunk.coordinates for chunk in self.chunks()), steps)

    def _codes(self, chunk: Chunk) -> Codes:
        """Return what the kept columns say, by the declarations of the statement."""
        kept = [from_dict(column) for column in self.statement.columns]
        return codes_from(chunk.kept.__getitem__, self.layout, kept)


class _LaidAside(SyntheticPoints):
    """Points that are written from a temporary file, and held only if somebody looks at them."""

    def __init__(self, laid: LaidAside, layout: Layout, statement: Statement, digest: str) -> None:
        vars(self).update(laid=laid, layout=layout, statement=statement, digest=digest)

    def __len__(self) -> int:
        return int(vars(self)["laid"].rows)

    def with_statement(self, statement: Statement) -> SyntheticPoints:
        return _LaidAside(vars(self)["laid"], self.layout, statement, vars(self)["digest"])

    def _digest(self, steps: int) -> str:
        known = steps == steps_per_unit(self.layout.crs)  # made while they were laid aside
        return str(vars(self)["digest"]) if known else super()._digest(steps)

    @cached_property
    def coordinates(self) -> NDArray[np.float64]:
        """All of them."""
        return np.concatenate([np.zeros((0, 2)), *(chunk.coordinates for chunk in self.chunks())])

    @cached_property
    def kept(self) -> pa.Table | None:
        """All of them, if there are any."""
        import pyarrow as pa

        tables = [chunk.table for chunk in self.chunks() if chunk.table is not None]
        return pa.concat_tables(tables) if tables else None

    def chunks(self) -> Iterator[Chunk]:
        """Yield them from the file."""
        for table in vars(self)["laid"]:
            places = np.asarray(table.column(0).chunk(0).flatten()).reshape(-1, 2)  # without a copy
            yield Chunk(places, table.select(range(1, table.num_columns)) if table.num_columns > 1 else None)


def _as_table(chunk: Chunk) -> pa.Table:
    """Return places and kept columns as one table, the places first."""
    import pyarrow as pa

    names, columns = ([], []) if chunk.table is None else (chunk.table.column_names, chunk.table.columns)
    places = pa.FixedSizeListArray.from_arrays(np.ascontiguousarray(chunk.coordinates).ravel(), 2)  # without a copy
    return pa.table([places, *columns], names=["xy", *names])


def _import(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise missing_extra("frames", package) from None


def check_format(path: str | PathLike[str]) -> str:
    """Return the format that the name of an output stands for; refuse one that stands for none."""
    if is_database(path):
        return "table"
    local = local_path(path) or Path(public_name(path))
    return "folder" if is_folder(local) else format_of(local)


def check_release(path: Path | str, *, force: bool, own: Collection[str] = ()) -> None:
    """Refuse to write a release over a file that is not its own; a statement left behind without its file goes."""
    if is_database(path):
        check_table(str(path), force=force, own=own)
        return
    if isinstance(path, str):
        _check_store(path, force=force, own=own)
        return
    beside = statement_path(path)
    if not os.path.lexists(path) and beside.is_file():
        with suppress(ValueError, TypeError, OSError):
            parse_statement(beside.read_text(encoding="utf-8"))
            beside.unlink()
    refuse_existing(*files_of(path), beside, force=force, own=own)


def _check_store(url: str, *, force: bool, own: Collection[str]) -> None:
    """Refuse to write over what lies in a store; what is no release of ours is not even fetched to be compared."""
    found = names_at(url)
    if any(name and not PART.fullmatch(name) for name in found):
        raise InputError(OTHER_FILES.format(public_name(url)))
    if force:
        return
    if not own and (found or is_beside(url, *_others(Path(public_name(url))))):
        raise InputError(EXISTS.format(public_name(url)))
    if not found:
        return
    with fetched(url) as copy:
        refuse_existing(copy, force=False, own=own)


def _others(path: Path) -> tuple[str, ...]:
    """Return the names of all that is written beside a release."""
    return (statement_path(path).name, *(file.name for file in files_of(path)[1:]))


def check_crs(path: Path | str, layout: Layout, world: World) -> None:
    """Refuse a file whose format cannot hold the CRS of the layout in this world."""
    corners = transform(world.projection.crs, layout.crs)(shapely.get_coordinates(world.boundary))
    if is_database(path):
        check_table(str(path), layout.crs, force=True)
        return
    check_holds_crs(path if isinstance(path, Path) else Path(public_name(path)), layout, corners)


def output_of(form: Layout, rows: int, points_sha256: str, codes_sha256: str | None) -> Output:
    """Return what a statement says of points that are written in this form."""
    named: dict[str, Any] = {"columns": form.columns or form.names, "x": form.x, "y": form.y}
    if form.geometry is not None:
        named = {"columns": form.columns or (form.geometry,), "x": None, "y": None}
    named |= {"points_sha256": points_sha256, "codes_sha256": codes_sha256}
    return Output(rows=rows, crs=form.crs, steps_per_unit=steps_per_unit(form.crs), **named)


def points_digest(chunks: Any, steps: int) -> str:
    """Return the hash of points in their order, as whole lattice steps, so many to a unit."""
    digest = hashlib.sha256()
    for coordinates in chunks:
        for block in blocks(len(coordinates)):
            digest.update(np.rint(coordinates[block] * steps).astype("<i8", order="C").ravel())
    return digest.hexdigest()


def codes_digest(chunks: Iterable[Codes]) -> str:
    """Return the hash of codes, column by column in the order declared, each in the order of its rows."""
    digests: list[Any] = []
    for codes in chunks:
        digests = digests or [hashlib.sha256() for _ in codes]
        for digest, column in zip(digests, codes, strict=True):
            digest.update(np.ascontiguousarray(column, dtype="<u2").tobytes())
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def state_beside(
    draft: Path,
    output: Output,
    statement: Statement,
    key: SigningKey | None,
    ready: Callable[[Mapping[str, Any]], None] | None,
) -> Statement:
    """Write the complete statement beside a draft; `ready` is told names and digests before they are put in place."""
    files = tuple(map(describe_file, sorted((draft if draft.is_dir() else draft.parent).iterdir())))
    complete = statement.with_output(output.model_copy(update={"files": files})).signed(key)
    beside = statement_path(draft)
    beside.write_text(complete.to_json(), encoding="utf-8", newline="\n")
    if ready is not None:
        digests = {file.name: file.sha256 for file in files} | {beside.name: file_digest(beside)}
        ready({"file": draft.name, "rows": output.rows, "files": digests})
    return complete


def describe_file(path: Path) -> OutputFile:
    """Return the name, hash and size of a file."""
    return OutputFile(name=path.name, sha256=file_digest(path), bytes=path.stat().st_size)


def statement_path(path: Path) -> Path:
    """Return where the statement about a file lies."""
    return path.with_name(path.name + STATEMENT)
