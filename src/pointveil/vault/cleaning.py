"""Clean records one by one: a bad record is dropped, and nobody is told."""

from collections.abc import Callable

import numpy as np
import pyproj
from numpy.typing import NDArray

from pointveil.geography import World


def cleaner(crs: str, world: World) -> Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Return the function that turns coordinates into metres and says which are good.

    It looks at each record alone, never raises, never logs: NaN, infinite, unparsable, outside the boundary and
    in water are all just "not good". So adding one record changes the clean points by at most that one.
    """
    transform = _transform(crs, world.projection.crs)
    geographic = pyproj.CRS.from_user_input(world.projection.crs).is_geographic

    def clean(coordinates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        with np.errstate(all="ignore"):
            outside = transform(coordinates)
            good = np.isfinite(outside[:, 0]) & np.isfinite(outside[:, 1])
            if geographic:
                good &= (np.abs(outside[:, 0]) <= 180) & (np.abs(outside[:, 1]) <= 90)
            xy = world.projection.to_metres(np.where(good[:, None], outside, world.projection.origin))
            good &= world.on_land(xy)
        return xy, good

    return clean


def _transform(source: str, target: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the function from one CRS to another; what cannot be transformed becomes infinite."""
    if pyproj.CRS.from_user_input(source).equals(pyproj.CRS.from_user_input(target), ignore_axis_order=True):
        return lambda coordinates: coordinates
    transformer = pyproj.Transformer.from_crs(source, target, always_xy=True)

    def apply(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack(transformer.transform(coordinates[:, 0], coordinates[:, 1], errcheck=False))

    return apply
