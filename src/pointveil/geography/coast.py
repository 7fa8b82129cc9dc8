"""Close the sea: a coastline says on which side the water is, and the boundary does the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.errors import InputError

BESIDE = 1e-3  # of a segment's length: how far beside its middle we look
FARTHEST_BESIDE = 1e-7  # degrees, about a centimetre


def enclose_sea(coast: Sequence[Any], boundary: Any, name: str) -> list[Any]:
    """Return the parts of an area that are sea, by the rule that water lies on the right of every coastline.

    Parameters
    ----------
    coast
        Lines, each in the direction in which it was drawn.
    boundary
        The area, in the same coordinates.
    name
        What to call the coast in errors.
    """
    shores = _within(coast, boundary)
    if not len(shores):
        return []
    noded = shapely.union_all([*shores, boundary.boundary])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(noded)))
    faces = faces[shapely.contains_properly(boundary, shapely.point_on_surface(faces))]
    left, right = _faces_beside(shores, faces)
    if np.intersect1d(left, right).size:
        raise InputError(
            f"The coastline of {name} ends inside the boundary, so sea and land cannot be told apart. "
            "Give an extract that reaches beyond the boundary, or a smaller boundary."
        )
    sea: list[Any] = list(faces[np.unique(right)])
    return sea


def _within(coast: Sequence[Any], boundary: Any) -> NDArray[Any]:
    """Return the parts of the coast inside the boundary, in their own direction."""
    lines = np.empty(len(coast), dtype=object)
    lines[:] = list(coast)
    inside = shapely.get_parts(shapely.get_parts(shapely.intersection(lines, boundary)))
    kept: NDArray[Any] = inside[shapely.length(inside) > 0]
    return kept


def _faces_beside(shores: NDArray[Any], faces: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the faces on the left and on the right of the shores."""
    points, shore = shapely.get_coordinates(shores, return_index=True)
    same = shore[1:] == shore[:-1]
    start, end = points[:-1][same], points[1:][same]
    step = end - start
    length = np.maximum(np.hypot(step[:, 0], step[:, 1]), 1e-300)
    reach = np.minimum(BESIDE, FARTHEST_BESIDE / length)
    beside = np.column_stack([-step[:, 1], step[:, 0]]) * reach[:, None]
    tree = shapely.STRtree(faces)
    left, right = (
        tree.query(shapely.points((start + end) / 2 + turn * beside), predicate="within")[1] for turn in (1, -1)
    )
    return np.unique(left), np.unique(right)
