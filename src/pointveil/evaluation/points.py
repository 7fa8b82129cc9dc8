"""Points in any form, as metres of a world, with what is promised about them."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.errors import InputError, VerificationError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.files.crs import transform
from pointveil.formats import open_points
from pointveil.statement import Statement
from pointveil.synthetic import SyntheticPoints
from pointveil.verification import read_checked
from pointveil.world import World


def compare(
    real: Any,
    synthetic: Any,
    world: World,
    *,
    columns: tuple[str, str] | None = None,
    crs: str | None = None,
    seed: int = 0,
) -> Comparison:
    """Read both sets of points into metres of the world; parameters as of `evaluate`."""
    all_real = in_metres(real, world, columns=columns, crs=crs)
    about = stated(synthetic)
    own = {"crs": crs} if isinstance(synthetic, np.ndarray | list) else form(about)
    all_synthetic = in_metres(synthetic, world, **own)
    some_real, some_synthetic = with_coordinates(all_real), with_coordinates(all_synthetic)
    on_land = some_real[world.on_land(some_real)]
    names = _name(real, "the real points"), _name(synthetic, "the synthetic points")
    if not len(on_land):
        raise InputError(
            f"No point of {names[0]} is on land in this world. Give the world of this data, or --crs (crs=) if "
            "the file states the wrong coordinate system."
        )
    (west, south, east, north) = world.bounds
    within = ((some_synthetic >= (west, south)) & (some_synthetic <= (east, north))).all(axis=1)
    if len(some_synthetic) and not within.any():
        raise InputError(
            f"No point of {names[1]} is within this world, so there is nothing to compare. Give the world of this "
            "data, and keep the statement beside the synthetic file: it says its columns and coordinate system."
        )
    left_out = len(all_real) - len(on_land), len(all_synthetic) - len(some_synthetic)
    return Comparison(on_land, some_synthetic, world, seed, names, left_out, about)


def in_metres(points: Any, world: World, *, columns: tuple[str, str] | None = None, crs: str | None = None) -> XY:
    """Return points as metres of the world, `(n, 2)`; those without coordinates in its CRS are not finite.

    Points are synthetic ones, a file, a frame, or an `(n, 2)` array of x (longitude) and y (latitude). Those that do
    not say their columns or CRS themselves need `columns` and `crs` (an array: EPSG:4326 by default).
    """
    if isinstance(points, SyntheticPoints):
        return _converted(points.coordinates, points.crs, world)
    if isinstance(points, np.ndarray | list):
        xy = np.asarray(points, dtype=np.float64)
        if xy.ndim != 2 or xy.shape[1] != 2:
            raise InputError(
                f"The array of points has the shape {xy.shape}; give x and y (longitude and latitude) as (n, 2)."
            )
        return _converted(xy, crs or "EPSG:4326", world)
    source = open_points(points, columns=columns, crs=crs)
    batches = [batch.coordinates for batch in source.batches()]
    return _converted(np.concatenate([np.zeros((0, 2)), *batches]), source.layout.crs, world)


def with_coordinates(xy: XY) -> XY:
    """Return the points that have finite coordinates."""
    return xy[np.isfinite(xy).all(axis=1)]


def stated(points: Any) -> Statement | None:
    """Return the statement of synthetic points, or of the file with them if it is about these very points."""
    if isinstance(points, SyntheticPoints):
        return points.statement
    if not isinstance(points, str | os.PathLike):
        return None
    try:
        return read_checked(Path(points)).statement
    except (InputError, VerificationError):
        return None


def form(statement: Statement | None) -> dict[str, Any]:
    """Return the columns and the CRS that a statement gives to its file, where the file itself does not say them."""
    output = None if statement is None else statement.output
    if output is None or output.x is None or output.y is None:
        return {}
    return {"columns": (output.x, output.y), "crs": output.crs}


def _name(points: Any, otherwise: str) -> str:
    return Path(points).name if isinstance(points, str | os.PathLike) else otherwise


def _converted(coordinates: XY, crs: str, world: World) -> XY:
    """Return coordinates of a CRS as metres."""
    moved = transform(crs, world.projection.crs)(coordinates)
    with np.errstate(all="ignore"):
        return np.asarray(world.projection.to_metres(moved), dtype=np.float64)
