"""Points, streets and water as small whole numbers, for a map in a page."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Ints
from pointveil.evaluation.comparison import XY
from pointveil.evaluation.kept import Bins
from pointveil.world import World

STEPS = 65535
MOST_SHOWN = 250_000
DETAIL = 6000  # shapes are drawn no finer than the map's longer side over this


def encode_map(world: World) -> dict[str, Any]:
    """Return the size of the map, its streets and its water."""
    width, height = world.size
    reach = max(width, height)
    coarse = max(1.0, reach / DETAIL)
    return {
        "metres": reach,
        "attribution": world.attribution,
        "width": width / reach,
        "height": height / reach,
        "streets": _encode_shapes(_lines(world), world, coarse),
        "water": _encode_shapes(_rings(world), world, coarse),
    }


def encode_points(xy: XY, world: World, bins: Sequence[Ints] = (), *, seed: int = 0) -> dict[str, Any]:
    """Return points within the bounds as pairs of 16 bits, and their bins; of very many, an even random part."""
    west, south, east, north = world.bounds
    inside = np.flatnonzero((xy >= (west, south)).all(axis=1) & (xy <= (east, north)).all(axis=1))
    shown = inside
    if len(inside) > MOST_SHOWN:
        shown = inside[np.random.default_rng(seed).choice(len(inside), MOST_SHOWN, replace=False)]
    return {
        "data": _text(_steps(xy[shown], world)),
        "count": len(xy),
        "shown": len(shown),
        "inside": len(inside),
        "bins": [_text(each[shown].astype("<u2")) for each in bins],
    }


def encode_bins(bins: Bins) -> dict[str, Any]:
    """Return what a page says of a kept column, or of a part of it: names and declared bins, and no point."""
    is_time = bins.axis == "circle" and bins.listed % 24 == 0
    return {"name": bins.name, "labels": list(bins.labels), "ordered": bins.axis != "list", "clock": is_time}


def _lines(world: World) -> NDArray[Any]:
    """Return the streets, cut to the bounds."""
    if world.roads is None or not len(world.roads):
        return np.zeros(0, dtype=object)
    lines = shapely.clip_by_rect(shapely.get_parts(world.roads.lines_m), *world.bounds)
    return np.asarray(shapely.get_parts(lines))


def _rings(world: World) -> NDArray[Any]:
    """Return the outlines of all that is not land; a ring within a ring is land again."""
    water = shapely.get_parts(shapely.difference(shapely.box(*world.bounds), world.land))
    return np.asarray(shapely.get_rings(water[shapely.get_type_id(water) == shapely.GeometryType.POLYGON]))


def _encode_shapes(shapes: NDArray[Any], world: World, coarse: float) -> dict[str, str]:
    """Return how many corners each shape has, and all corners."""
    simple = shapely.simplify(shapes, coarse)
    lengths = shapely.get_num_points(simple)
    corners = shapely.get_coordinates(simple[lengths > 1])
    return {"lengths": _text(lengths[lengths > 1].astype("<u4")), "corners": _text(_steps(corners, world))}


def _steps(xy: XY, world: World) -> NDArray[np.uint16]:
    west, south, east, north = world.bounds
    scaled = (xy - (west, south)) * (STEPS / max(east - west, north - south))
    return np.clip(np.rint(scaled), 0, STEPS).astype("<u2")


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
