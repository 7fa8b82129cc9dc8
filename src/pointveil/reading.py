"""Read a written release back: its points, and what is promised about them."""

from pathlib import Path

import numpy as np

from pointveil.errors import InputError
from pointveil.files.whole import existing_file
from pointveil.formats import open_points, read_statement
from pointveil.synthetic import SyntheticPoints, statement_path
from pointveil.verification import read_checked


def read(path: str | Path) -> SyntheticPoints:
    """Read a release that `SyntheticPoints.write` has written, in any format.

    The points are checked against the statement beside the file, or inside it, and VerificationError is raised if they
    are others. Who signed is not checked (see `verify`). A rehearsal is read too; its statement says what it is.

    Parameters
    ----------
    path
        The synthetic file.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> written = pv.synthesize(vault, count=100).write("synthetic.csv")
    >>> pv.read("synthetic.csv")
    <SyntheticPoints: 100 points in EPSG:4326, epsilon 1, protects one point>
    """
    path = Path(path)
    existing_file(path)
    if not statement_path(path).exists() and read_statement(path) is None:
        raise InputError(
            f"{path.name} has no statement, so nothing is known about its points. Put {statement_path(path).name}, "
            "which was written with it, beside it; or read the file as any other of its format."
        )
    statement = read_checked(path).statement
    output = statement.output
    columns = None if output is None or output.x is None or output.y is None else (output.x, output.y)
    source = open_points(path, columns=columns, crs=output.crs if output and columns else None)
    coordinates = np.concatenate([np.zeros((0, 2)), *(batch.coordinates for batch in source.batches())])
    return SyntheticPoints(coordinates, source.layout, statement)
