"""Close the sea: a coastline says on which side the water is, and the boundary does the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.world.shapes import shape_array, straight_pieces

BESIDE = 1e-3  # of a segment's length: how far beside its middle we look
FARTHEST_BESIDE = 1e-7  # degrees, about a centimetre


def enclose_sea(coast: Sequence[Any], boundary: Any, name: str) -> list[Any]:
    """Return the parts of an area that are sea, by the rule that water lies on the right of every coastline."""
    # An area in degrees may reach over the antimeridian; the coast, which is parted there, is joined again.
    west, _, east, _ = boundary.bounds
    lines = shape_array(coast) if west >= -180 and east <= 180 else _joined_at_antimeridian(shape_array(coast))
    lines = lines[shapely.intersects(lines, boundary)]
    inside = shapely.get_parts(shapely.get_parts(shapely.intersection(lines, boundary)))
    shores = inside[shapely.length(inside) > 0]
    if not len(shores):
        return []
    # Whole lines, not those cut at the boundary: by a rounding, the end of a cut line may just fail to touch it.
    noded = shapely.union_all([*lines, boundary.boundary])
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


def _joined_at_antimeridian(coast: NDArray[Any]) -> NDArray[Any]:
    """Return the coast in straight pieces, three times, a turn of the globe apart; without what runs along 180°."""
    # Map makers close land at the antimeridian on both sides; where nothing parts it any more, that is no coast.
    start, end, _ = straight_pieces(coast)
    # The short way round; all others stay as they are, to the last bit, so that pieces meet.
    end[:, 0] -= 360 * np.rint((end[:, 0] - start[:, 0]) / 360)
    real = (np.abs(start[:, 0]) < 180) | (end[:, 0] != start[:, 0])
    pieces = np.stack([start[real], end[real]], axis=1)
    turns = np.array([[-360.0, 0.0], [0.0, 0.0], [360.0, 0.0]])
    return np.asarray(shapely.linestrings(np.concatenate([pieces + turn for turn in turns])))


def _faces_beside(shores: NDArray[Any], faces: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the faces on the left and on the right of the shores."""
    start, end, _ = straight_pieces(shores)
    step = end - start
    length = np.maximum(np.hypot(step[:, 0], step[:, 1]), 1e-300)
    reach = np.minimum(BESIDE, FARTHEST_BESIDE / length)
    beside = np.column_stack([-step[:, 1], step[:, 0]]) * reach[:, None]
    tree = shapely.STRtree(faces)
    left, right = (
        tree.query(shapely.points((start + end) / 2 + turn * beside), predicate="within")[1] for turn in (1, -1)
    )
    return np.unique(left), np.unique(right)
