"""Points as well-known binary, as whole arrays."""

from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from numpy.typing import NDArray

POINT_BYTES = 21
LITTLE_ENDIAN_POINT = np.array([1, 1, 0, 0, 0], dtype=np.uint8)


def points_of_wkb(values: Any) -> NDArray[np.float64]:
    """Return x and y of each geometry of a binary Arrow array; NaN for whatever is not one point."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    values = values.cast(pa.large_binary())
    if not len(values):
        return np.empty((0, 2))
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int64)[values.offset : values.offset + len(values) + 1]
    if (np.diff(offsets) == POINT_BYTES).all():
        data = values.buffers()[2]
        raw = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]].reshape(-1, POINT_BYTES)
        if (raw[:, :5] == LITTLE_ENDIAN_POINT).all():
            return np.ascontiguousarray(raw[:, 5:]).view("<f8").astype(np.float64, copy=False)
    return points_of_shapes(shapely.from_wkb(values.to_numpy(zero_copy_only=False), on_invalid="ignore"))


def points_of_shapes(shapes: Any) -> NDArray[np.float64]:
    """Return x and y of each shapely geometry; NaN for whatever is not one point."""
    shapes = np.asarray(shapes, dtype=object)
    many = shapely.get_type_id(shapes) == shapely.GeometryType.MULTIPOINT
    lonely = many & (shapely.get_num_geometries(shapes) == 1)
    shapes = np.where(lonely, shapely.get_geometry(shapes, 0), shapes)
    # Asking an empty point where it is would be an error.
    somewhere = (shapely.get_type_id(shapes) == shapely.GeometryType.POINT) & ~shapely.is_empty(shapes)
    found = np.full((len(shapes), 2), np.nan)
    found[somewhere] = shapely.get_coordinates(shapes[somewhere])
    return found


def wkb_of_points(coordinates: NDArray[np.float64]) -> Any:
    """Return coordinates as a binary Arrow array of points."""
    raw = np.empty((len(coordinates), POINT_BYTES), dtype=np.uint8)
    raw[:, :5] = LITTLE_ENDIAN_POINT
    raw[:, 5:] = np.ascontiguousarray(coordinates, dtype="<f8").view(np.uint8).reshape(-1, 16)
    offsets = np.arange(len(coordinates) + 1, dtype=np.int32) * POINT_BYTES
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.binary(), len(coordinates), buffers)
