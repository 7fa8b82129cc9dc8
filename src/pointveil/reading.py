"""Read a written release back, with what is promised about it; and of any file, names and types alone."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.errors import InputError
from pointveil.files.places import fetched, is_database, public_name
from pointveil.files.whole import existing_file
from pointveil.formats import format_of, kept_values, open_points, read_statement
from pointveil.formats.starting import describe
from pointveil.synthetic import STATEMENT, SyntheticPoints, statement_path
from pointveil.verification import open_released, read_checked


def read(path: str | PathLike[str]) -> SyntheticPoints:
    """Read a release that `SyntheticPoints.write` has written, in any format.

    The points are checked against the statement beside the file, or inside it, and VerificationError is raised if they
    are others. Who signed is not checked (see `verify`). A rehearsal is read too; its statement says what it is.

    Parameters
    ----------
    path
        The synthetic file, or a folder of parts, or the address of either in a store, or that of a table.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> written = pv.synthesize(vault, count=100).write("synthetic.csv")
    >>> pv.read("synthetic.csv")
    <SyntheticPoints: 100 points in EPSG:4326, epsilon 1, protects one point>
    """
    if is_database(path):
        return _read(str(path))
    with fetched(path, STATEMENT) as local:
        if not local.is_dir():
            existing_file(local)
        return _read(local)


def _read(path: Path | str) -> SyntheticPoints:
    if not (isinstance(path, Path) and statement_path(path).exists()) and read_statement(path) is None:
        raise InputError(
            f"{public_name(path)} has no statement, so nothing is known about its points. Put "
            f"{public_name(path)}{STATEMENT}, which was written with it, beside it; or read it as any other file."
        )
    statement = read_checked(path).statement
    output = statement.output
    source = open_points(path) if output is None else open_released(path, statement, output)
    coordinates = np.concatenate([np.zeros((0, 2)), *(batch.coordinates for batch in source.batches())])
    kept = kept_values(path, source.layout, source.keep) if source.keep else None
    return SyntheticPoints(coordinates, source.layout, statement, kept)


def readable(name: str) -> bool:
    """Say whether a file of this name is in a format known here."""
    try:
        return bool(format_of(name))
    except InputError:
        return False


def read_schema(source: str | PathLike[str]) -> dict[str, Any]:
    """Return names and types of the columns that a file has beside its places, and TOML that starts to declare them.

    No record is looked at. The columns of CSV are text; those of GeoJSON, which cannot be listed, are None.

    Parameters
    ----------
    source
        A file of points, in any format; or a folder, a pattern or an address.
    """
    return describe(source)
