"""Synthetic points: coordinates, their form, and what is promised about them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil import showing
from pointveil.cells.arrays import blocks
from pointveil.errors import missing_extra
from pointveil.files.crs import DEGREES, short_name, transform
from pointveil.files.lattice import steps_per_unit
from pointveil.files.whole import check_target, file_digest, refuse_existing
from pointveil.formats import Layout, check_holds_crs, files_of, format_of, output_layout, write_points
from pointveil.ledger import OWN, Own
from pointveil.statement import Output, OutputFile, SigningKey, Statement, find_key, parse_statement
from pointveil.world import World

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import polars as pl

CHUNK = 2**20
check_format = format_of  # for `releases`, which is not to import what reads real records


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

    def __len__(self) -> int:
        return len(self.coordinates)

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
        path: str | Path,
        *,
        layout: Layout | None = None,
        key: SigningKey | str | PathLike[str] | Own | None = OWN,
        force: bool = False,
        ready: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Statement:
        """Write the points to a file, and the statement into it and beside it.

        The file has the form of the input (format, columns, order, CRS), unless the suffix says otherwise. The
        statement lies beside it as `<name>.statement.json`, signed with `key`: one that you name, by default your own
        if you have one, or None. Both appear whole or not at all, the statement first. A file that exists is replaced
        only with `force`; `ready` is told names and digests of the files before they are put in place.
        """
        path, key = check_target(Path(path)), find_key(key)
        form = layout or output_layout(path, self.layout)
        check_release(path, force=force)
        output = self._output(form)
        described = self.statement.with_output(output).signed(key)
        beside = statement_path(path).name

        def state(draft: Path) -> None:
            files = [describe_file(file) for file in sorted(draft.parent.iterdir())]
            listed = output.model_copy(update={"files": tuple(files)})
            complete.append(described.with_output(listed).signed(key))
            draft.with_name(beside).write_text(complete[0].to_json(), encoding="utf-8", newline="\n")
            if ready is not None:
                digests = {file.name: file.sha256 for file in files} | {beside: file_digest(draft.with_name(beside))}
                ready({"file": path.name, "rows": len(self), "files": digests})

        complete: list[Statement] = []
        embedded = described.to_json()
        write_points(path, self._chunks(), form, statement=embedded, total=len(self), first=beside, beside=state)
        return complete[0]

    def to_arrow(self) -> Any:
        """Return the points as an Arrow table with two columns, named and ordered as in the input."""
        import pyarrow as pa

        return pa.table(self._columns()).replace_schema_metadata({"pointveil.statement": self.statement.to_json()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        """The points as a GeoJSON FeatureCollection: longitude and latitude (EPSG:4326), whatever their own CRS is."""
        return {
            "type": "FeatureCollection",
            "features": [
                {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": place}}
                for place in transform(self.crs, DEGREES)(self.coordinates).tolist()
            ],
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the points as a pandas frame with two columns, named and ordered as in the input."""
        return _import("pandas").DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the points as a polars frame with two columns, named and ordered as in the input."""
        return _import("polars").DataFrame(self._columns())

    def to_geopandas(self) -> geopandas.GeoDataFrame:
        """Return the points as a geopandas frame, in their CRS."""
        gpd = _import("geopandas")
        return gpd.GeoDataFrame(geometry=gpd.points_from_xy(*self.coordinates.T), crs=self.crs)

    def plot(self, ax: Any = None) -> Any:
        """Draw the points with matplotlib, onto `ax` or onto new axes, and return the axes."""
        return showing.plot(self.coordinates, self.crs, ax=ax)

    def explore(self, world: World | str | PathLike[str] | None = None) -> Any:
        """Return a map to move about in: folium's if it is installed, else the release's page, which works offline.

        Both show themselves in a notebook. The page is `explore().html`, to be saved as a file; with the world of the
        release it has streets and water. Folium fetches its background map from the internet.
        """
        return showing.explore(self, self.statement, World.read(world) if isinstance(world, str | PathLike) else world)

    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return dict(zip(self.layout.names, self.layout.in_file_order(self.coordinates), strict=True))

    def _chunks(self) -> Iterator[NDArray[np.float64]]:
        for block in blocks(len(self), CHUNK):
            yield self.coordinates[block]

    def _output(self, form: Layout) -> Output:
        steps = steps_per_unit(form.crs)
        named = {"columns": form.names, "x": form.x, "y": form.y}
        columns = named if form.geometry is None else {"columns": (form.geometry,), "x": None, "y": None}
        digest = points_digest([self.coordinates], steps)
        return Output(rows=len(self), crs=form.crs, steps_per_unit=steps, points_sha256=digest, **columns)


def _import(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise missing_extra("frames", package) from None


def check_release(path: Path, *, force: bool, own: Collection[str] = ()) -> None:
    """Refuse to write a release over a file that is not its own; a statement left behind without its file goes."""
    beside = statement_path(path)
    if not os.path.lexists(path) and beside.is_file():
        with suppress(ValueError, TypeError, OSError):
            parse_statement(beside.read_text(encoding="utf-8"))
            beside.unlink()
    refuse_existing(*files_of(path), beside, force=force, own=own)


def check_crs(path: Path, layout: Layout, world: World) -> None:
    """Refuse a file whose format cannot hold the CRS of the layout in this world."""
    corners = transform(world.projection.crs, layout.crs)(shapely.get_coordinates(world.boundary))
    check_holds_crs(path, layout, corners)


def points_digest(chunks: Any, steps: int) -> str:
    """Return the hash of points in their order, as whole lattice steps, so many to a unit."""
    digest = hashlib.sha256()
    for coordinates in chunks:
        for block in blocks(len(coordinates), CHUNK):
            digest.update(np.rint(coordinates[block] * steps).astype("<i8").tobytes())
    return digest.hexdigest()


def describe_file(path: Path) -> OutputFile:
    """Return the name, hash and size of a file."""
    return OutputFile(name=path.name, sha256=file_digest(path), bytes=path.stat().st_size)


def statement_path(path: Path) -> Path:
    """Return where the statement about a file lies."""
    return path.with_name(f"{path.name}.statement.json")
