"""Points, streets and water as small whole numbers, for a map in a page."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.evaluation.comparison import XY
from pointveil.world import World

STEPS = 65535
MOST_SHOWN = 250_000
DETAIL = 6000  # shapes are drawn no finer than the map's longer side over this


def encode_map(world: World) -> dict[str, Any]:
    """Return the size of the map, its streets and its water."""
    west, south, east, north = world.bounds
    reach = max(east - west, north - south)
    coarse = max(1.0, reach / DETAIL)
    return {
        "metres": reach,
        "width": (east - west) / reach,
        "height": (north - south) / reach,
        "streets": _encode_shapes(_lines(world), world, coarse),
        "water": _encode_shapes(_rings(world), world, coarse),
    }


def encode_points(xy: XY, world: World, *, seed: int = 0) -> dict[str, Any]:
    """Return points within the bounds as pairs of 16 bits; of very many, an even random part."""
    west, south, east, north = world.bounds
    inside = xy[(xy >= (west, south)).all(axis=1) & (xy <= (east, north)).all(axis=1)]
    shown = inside
    if len(inside) > MOST_SHOWN:
        shown = inside[np.random.default_rng(seed).choice(len(inside), MOST_SHOWN, replace=False)]
    return {"data": _text(_steps(shown, world)), "count": len(xy), "shown": len(shown), "inside": len(inside)}


def _lines(world: World) -> list[Any]:
    """Return the streets, cut to the bounds."""
    if world.roads is None or not len(world.roads):
        return []
    return list(shapely.get_parts(shapely.clip_by_rect(shapely.get_parts(world.roads.lines_m), *world.bounds)))


def _rings(world: World) -> list[Any]:
    """Return the outlines of all that is not land; a ring within a ring is land again."""
    water = shapely.difference(shapely.box(*world.bounds), world.land)
    polygons = [part for part in shapely.get_parts(water) if isinstance(part, shapely.Polygon) and not part.is_empty]
    return list(shapely.get_rings(polygons)) if polygons else []


def _encode_shapes(shapes: list[Any], world: World, coarse: float) -> dict[str, str]:
    """Return how many corners each shape has, and all corners."""
    simple = [shapely.simplify(shape, coarse) for shape in shapes]
    simple = [shape for shape in simple if shapely.get_num_points(shape) > 1]
    corners = shapely.get_coordinates(simple) if simple else np.zeros((0, 2))
    lengths = np.array([shapely.get_num_points(shape) for shape in simple], dtype="<u4")
    return {"lengths": _text(lengths), "corners": _text(_steps(corners, world))}


def _steps(xy: XY, world: World) -> NDArray[np.uint16]:
    west, south, east, north = world.bounds
    scaled = (xy - (west, south)) * (STEPS / max(east - west, north - south))
    return np.clip(np.rint(scaled), 0, STEPS).astype("<u2")


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
