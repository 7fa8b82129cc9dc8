"""Synthetic points: coordinates, their form, and what is promised about them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyproj
from numpy.typing import NDArray

from pointveil.errors import missing_extra
from pointveil.files.whole import check_target, write_whole
from pointveil.formats import Layout, format_of, output_layout, write_points
from pointveil.ledger import OWN, Own
from pointveil.statement import Output, OutputFile, SigningKey, Statement, find_key

if TYPE_CHECKING:
    import geopandas
    import pandas as pd

CHUNK = 2**20


@dataclass(frozen=True)
class SyntheticPoints:
    """Points that were drawn: public, and free to use.

    Parameters
    ----------
    coordinates
        x and y (longitude and latitude) in the CRS of the layout, each on the public lattice.
    layout
        The form of the file they stand for: format, column names, CRS.
    statement
        What is promised, and what it cost.
    """

    coordinates: NDArray[np.float64]
    layout: Layout
    statement: Statement

    def __len__(self) -> int:
        return len(self.coordinates)

    def __repr__(self) -> str:
        stamp = f", {self.statement.rehearsal}" if self.statement.rehearsal else ""
        epsilon = self.statement.guarantee.epsilon
        return f"<SyntheticPoints: {len(self):,} points in {self.crs}, epsilon {epsilon}{stamp}>"

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
    ) -> Statement:
        """Write the points to a file, and the statement into it and beside it.

        The file has the form of the input (format, columns, order, CRS), unless the suffix says otherwise. The
        statement lies beside it as `<name>.statement.json`, signed with `key`: one that you name, by default your own
        if you have one, or None. Both appear whole or not at all.
        """
        path, key = check_target(Path(path)), find_key(key)
        form = layout or output_layout(path, self.layout)
        output = self._output(form)
        described = self.statement.with_output(output).signed(key)
        files = write_points(path, self._chunks(), form, statement=described.to_json(), total=len(self))
        listed = tuple(describe_file(file) for file in sorted(files))
        complete = described.with_output(output.model_copy(update={"files": listed})).signed(key)
        write_whole(statement_path(path), lambda new: _write_text(new, complete.to_json()))
        return complete

    def to_arrow(self) -> Any:
        """Return the points as an Arrow table with two columns, named and ordered as in the input."""
        import pyarrow as pa

        columns = dict(zip(self.layout.names, self.layout.in_file_order(self.coordinates), strict=True))
        return pa.table(columns).replace_schema_metadata({"pointveil.statement": self.statement.to_json()})

    def to_pandas(self) -> pd.DataFrame:
        """Return the points as a pandas frame with two columns, named and ordered as in the input."""
        try:
            import pandas as pd
        except ImportError:
            raise missing_extra("frames", "pandas") from None
        return pd.DataFrame(dict(zip(self.layout.names, self.layout.in_file_order(self.coordinates), strict=True)))

    def to_geopandas(self) -> geopandas.GeoDataFrame:
        """Return the points as a geopandas frame."""
        try:
            import geopandas as gpd
        except ImportError:
            raise missing_extra("frames", "geopandas") from None
        return gpd.GeoDataFrame(geometry=gpd.points_from_xy(*self.coordinates.T), crs=self.crs)

    def _chunks(self) -> Iterator[NDArray[np.float64]]:
        for start in range(0, len(self), CHUNK):
            yield self.coordinates[start : start + CHUNK]

    def _output(self, form: Layout) -> Output:
        columns = form.names if form.geometry is None else (form.geometry,)
        steps = steps_per_unit(form.crs)
        digest = points_digest([self.coordinates], steps)
        x, y = (form.x, form.y) if form.geometry is None else (None, None)
        return Output(
            rows=len(self), columns=columns, x=x, y=y, crs=form.crs, steps_per_unit=steps, points_sha256=digest
        )


def check_format(path: Path) -> None:
    """Refuse a file name whose suffix stands for no format."""
    format_of(path)


def steps_per_unit(crs: str) -> int:
    """Return how many lattice steps one unit has: 1e7 for a degree, 100 for a metre or a foot."""
    return 10**7 if pyproj.CRS.from_user_input(crs).is_geographic else 100


def snap(coordinates: NDArray[np.float64], crs: str) -> NDArray[np.float64]:
    """Return coordinates rounded to the public lattice of their CRS."""
    steps = steps_per_unit(crs)
    snapped = np.rint(coordinates * steps)
    snapped /= steps
    snapped += 0.0  # no negative zero
    return snapped


def points_digest(chunks: Any, steps: int) -> str:
    """Return the hash of points in their order, as whole lattice steps, so many to a unit."""
    digest = hashlib.sha256()
    for coordinates in chunks:
        for start in range(0, len(coordinates), CHUNK):
            lattice = np.rint(coordinates[start : start + CHUNK] * steps)
            digest.update(lattice.astype("<i8").tobytes())
    return digest.hexdigest()


def describe_file(path: Path) -> OutputFile:
    """Return the name, hash and size of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return OutputFile(name=path.name, sha256=digest, bytes=path.stat().st_size)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def statement_path(path: Path) -> Path:
    """Return where the statement about a file lies."""
    return path.with_name(f"{path.name}.statement.json")
