"""Clean the polygons and lines of a world once, when it is made."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bounds, Floats, Ints

Shapes = NDArray[Any]


def shape_array(shapes: Iterable[Any]) -> Shapes:
    """Return shapes as an array of objects."""
    many = list(shapes)
    array = np.empty(len(many), dtype=object)
    array[:] = many
    return array


def join_polygons(shapes: Shapes) -> Any:
    """Return the area that polygons cover together, repairing rings that cross themselves."""
    valid = shapely.make_valid(shapely.force_2d(shapes), method="structure", keep_collapsed=False)
    return polygons_only(shapely.union_all(valid))


def polygons_only(shape: Any) -> Any:
    """Return the part of a shape that has area, in an order that depends on the area alone."""
    parts = shapely.get_parts(shapely.get_parts(shape))
    areas = parts[(shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & (shapely.area(parts) > 0)]
    joined = areas[0] if len(areas) == 1 else shapely.multipolygons(areas)
    return shapely.normalize(joined)


def clip(shape: Any, bounds: Bounds) -> Any:
    """Return the part of an area within a box."""
    return polygons_only(shapely.intersection(shape, shapely.box(*bounds)))


def unwrap_boundary(boundary: Shapes) -> Shapes:
    """Join what the antimeridian parts, and bring the whole to a west from -180 up to 180 degrees."""
    # No boundary is half the globe wide, so one that seems to be lies on both sides of the antimeridian.
    west, _, east, _ = shapely.total_bounds(boundary)
    if east - west > 180:
        boundary = _shift(boundary, lambda longitude: longitude + np.where(longitude < 0, 360, 0))
        west = shapely.total_bounds(boundary)[0]
    turns = np.floor((west + 180) / 360) * 360
    return _turn(boundary, -turns) if turns else boundary


def unwrap_box(bounds: Bounds) -> Bounds:
    """Return a box in degrees with its west from -180 up to 180 and its east beyond its west."""
    west, south, east, north = bounds
    turns = float(np.floor((west + 180) / 360) * 360)
    if west > east:
        east += 360
    return west - turns, south, east - turns, north


def unwrap_polygons(polygons: Shapes, middle: float) -> Shapes:
    """Bring polygons to where a world that crosses the antimeridian can see them."""
    # Polygons that jump over the antimeridian are drawn through; of all others there are copies one turn away.
    parts = shapely.get_parts(polygons)
    # One jumps if a ring goes more than half around the globe in one step, and not all around it.
    rings, part = shapely.get_rings(parts, return_index=True)
    start, end, ring = straight_pieces(rings)
    step = np.abs(end - start)[:, 0]
    jumps = np.bincount(part[ring], (step > 180) & (step < 360), len(parts)) > 0
    lowest = middle - 180
    drawn_through = _shift(parts[jumps], lambda longitude: (longitude - lowest) % 360 + lowest)
    copies = [_turn(parts[~jumps], degrees) for degrees in (-360, 0, 360)]
    return np.concatenate([drawn_through, *copies])


def _turn(shapes: Shapes, degrees: float) -> Shapes:
    return _shift(shapes, lambda longitude: longitude + degrees)


def _shift(shapes: Shapes, move: Callable[[Floats], Floats]) -> Shapes:
    def move_longitude(coordinates: Floats) -> Floats:
        return np.column_stack([move(coordinates[:, 0]), coordinates[:, 1]])

    return np.asarray(shapely.transform(shapes, move_longitude))


def straight_pieces(lines: Shapes) -> tuple[Floats, Floats, Ints]:
    """Return where each straight piece of these lines or rings starts and ends, and which line it is part of."""
    points, line = shapely.get_coordinates(lines, return_index=True)
    joined = line[1:] == line[:-1]
    return points[:-1][joined], points[1:][joined], line[1:][joined].astype(np.int64)
