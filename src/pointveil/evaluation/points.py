"""Points in any form, as metres in a world."""

from typing import Any

import numpy as np

from pointveil.errors import InputError
from pointveil.evaluation.base import XY, Place
from pointveil.files.crs import transform
from pointveil.formats import open_points


def in_metres(points: Any, world: Place, kind: str) -> XY:
    """Return points as an array of metres; what has no coordinates in the world's CRS is not finite.

    Parameters
    ----------
    points
        An array of metres; or synthetic points, a file or a frame, in any CRS that they name.
    world
        Where they are.
    kind
        "real" or "synthetic", for errors.
    """
    if isinstance(points, np.ndarray | list):
        return _checked(np.asarray(points, dtype=np.float64), kind)
    if hasattr(points, "coordinates") and hasattr(points, "crs"):
        return _converted(points.coordinates, points.crs, world)
    source = open_points(points)
    batches = [_converted(batch.coordinates, source.layout.crs, world) for batch in source.batches()]
    return np.concatenate(batches) if batches else np.zeros((0, 2))


def _checked(xy: XY, kind: str) -> XY:
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise InputError(f"the {kind} points have the shape {xy.shape}; give x and y in metres, one row each.")
    return xy


def _converted(coordinates: XY, crs: str, world: Place) -> XY:
    """Return coordinates of a CRS as metres."""
    moved = transform(crs, world.projection.crs)(coordinates)
    with np.errstate(all="ignore"):
        return np.asarray(world.projection.to_metres(moved), dtype=np.float64)
