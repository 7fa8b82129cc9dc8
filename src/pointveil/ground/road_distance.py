"""How far each square of a map is from the nearest road."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, numbered
from pointveil.world.shapes import straight_pieces

NEAR = 100.0  # metres: beyond this the distance to a road is told by the cell, not by the pixel
FAR = 1e6
MARGIN = 20.0


def cell_distances(lines: NDArray[Any], side: float, shape: tuple[int, int]) -> Floats:
    """Return the distance of each cell to the nearest cell with a road."""
    touched = np.zeros(shape, dtype=bool)
    if len(lines):
        places = _dense(lines, side / 2)[0]
        column, row = np.floor(places / side).astype(np.int64).T
        inside = (column >= 0) & (column < shape[0]) & (row >= 0) & (row < shape[1])
        touched[column[inside], row[inside]] = True
    if not touched.any():
        return np.full(shape, FAR)
    from scipy.ndimage import distance_transform_edt  # late: grids do not need it, and it is slow to load

    return np.asarray(distance_transform_edt(~touched), dtype=np.float64) * side


def pixel_distances(
    lines: NDArray[Any], tree: shapely.STRtree, corner: tuple[float, float], count: int, pixel: float
) -> Floats | None:
    """Return the distance of each pixel's middle to the nearest road, in a square tile; None if none is near."""
    from scipy.ndimage import distance_transform_edt  # late, as above

    # The nearest pixel with a road names the segment, and the distance to that segment is exact.
    halo = int(np.ceil((NEAR + MARGIN) / pixel))
    low = np.array(corner) - halo * pixel
    side = count + 2 * halo
    near = tree.query(shapely.box(*low, *(low + side * pixel)))
    if not len(near):
        return None
    places, segment, start, end = _dense(lines[np.sort(near)], pixel / 2)
    column, row = np.floor((places - low) / pixel).astype(np.int64).T
    inside = (column >= 0) & (column < side) & (row >= 0) & (row < side)
    owner = np.full((side, side), -1, dtype=np.int32)
    owner[column[inside], row[inside]] = segment[inside]
    if (owner < 0).all():
        return None
    middle = slice(halo, halo + count)
    nearest = distance_transform_edt(owner < 0, return_distances=False, return_indices=True)
    own = owner[nearest[0][middle, middle], nearest[1][middle, middle]]
    place = (np.arange(count) + 0.5) * pixel
    x, y = np.meshgrid(corner[0] + place, corner[1] + place, indexing="ij")
    return _segment_distances(x, y, start[own], end[own])


def _dense(lines: NDArray[Any], step: float) -> tuple[Floats, Ints, Floats, Floats]:
    """Return places at most `step` apart on every segment, the segment of each, and the segments' ends."""
    start, end, _ = straight_pieces(lines)
    count = np.maximum(1, np.ceil(np.hypot(*(end - start).T) / step)).astype(np.int64) + 1
    segment, number = numbered(count)
    share = number / (count[segment] - 1)
    return start[segment] + share[:, None] * (end - start)[segment], segment, start, end


def _segment_distances(x: Floats, y: Floats, start: Floats, end: Floats) -> Floats:
    along_x, along_y = end[..., 0] - start[..., 0], end[..., 1] - start[..., 1]
    from_x, from_y = x - start[..., 0], y - start[..., 1]
    length = np.maximum(along_x**2 + along_y**2, 1e-9)
    share = np.clip((from_x * along_x + from_y * along_y) / length, 0, 1)
    return np.asarray(np.hypot(from_x - share * along_x, from_y - share * along_y))
