"""Clip regions to land, once, and pick even random points in what remains."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.ground.triangles import Triangulation
from pointveil.world.world import World

RASTER_SIDE = 2048
BLOCK = 2**16  # points at a time: the work stays in the processor's cache


class Regions(Protocol):
    """Numbered regions that can say which of them holds a point, and what they look like."""

    def __len__(self) -> int: ...

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the one region that holds each point, or -1 for nowhere."""
        ...

    def polygons(self, which: NDArray[np.int64]) -> NDArray[Any]:
        """Return the outlines of these regions, not clipped to land."""
        ...

    def rectangles(self) -> NDArray[np.float64] | None:
        """Return west, south, east, north of every region if all are rectangles, else None."""
        ...


@dataclass(frozen=True)
class LandOf:
    """The land of each region.

    Parameters
    ----------
    area
        Square metres of land in each region.
    rectangles
        The outlines of regions that are rectangles, or None.
    whole
        Which regions are rectangles wholly on land.
    triangles
        The land of all other regions.
    """

    area: NDArray[np.float64]
    rectangles: NDArray[np.float64] | None
    whole: NDArray[np.bool_]
    triangles: Triangulation

    def pick(self, region: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
        """Return an even random point on the land of each given region, all of which must have land."""
        if self.rectangles is None:
            return self.triangles.pick(region, rng)
        xy = _pick_in_rectangles(self.rectangles, region, rng)
        if not self.whole.all():
            partly = np.flatnonzero(~self.whole[region])
            xy[partly] = self.triangles.pick(region[partly], rng)
        return xy


def clip_to_land(regions: Regions, world: World) -> LandOf:
    """Return the land of each region; work goes only into regions that the water's edge crosses."""
    rectangles = regions.rectangles()
    if rectangles is None:
        whole = np.zeros(len(regions), dtype=bool)
        crossed = np.arange(len(regions))
        area = np.zeros(len(regions))
    else:
        whole, dry_or_wet = sort_rectangles(rectangles, world)
        crossed = np.flatnonzero(~dry_or_wet)
        sides = rectangles[:, 2:] - rectangles[:, :2]
        area = np.where(whole, sides.prod(axis=1), 0.0)
    clipped = np.full(len(regions), None, dtype=object)
    clipped[crossed] = _clip(regions.polygons(crossed), world)
    triangles = Triangulation.of(clipped)
    area = area + np.bincount(triangles.region, weights=triangles.areas, minlength=len(regions))
    return LandOf(area, rectangles, whole, triangles)


def _clip(polygons: NDArray[Any], world: World) -> NDArray[Any]:
    """Return the parts of these polygons that are land; those wholly on land stay as they are."""
    land = world.land
    shapely.prepare(land)
    inside = shapely.contains_properly(land, polygons)
    result = polygons.copy()
    result[~inside] = shapely.intersection(polygons[~inside], land)
    return result


def _pick_in_rectangles(
    rectangles: NDArray[np.float64], region: NDArray[Any], rng: np.random.Generator
) -> NDArray[np.float64]:
    corner = np.ascontiguousarray(rectangles[:, :2])
    size = rectangles[:, 2:] - corner
    xy = np.empty((len(region), 2))
    for start in range(0, len(region), BLOCK):
        block = xy[start : start + BLOCK]
        here = region[start : start + BLOCK]
        rng.random(out=block)
        block *= size.take(here, axis=0)
        block += corner.take(here, axis=0)
    return xy


def sort_rectangles(rectangles: NDArray[np.float64], world: World) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rectangles are wholly land, and which are wholly land or wholly water."""
    plain = shapely.equals(world.land, shapely.box(*world.bounds))
    if plain:
        return np.ones(len(rectangles), dtype=bool), np.ones(len(rectangles), dtype=bool)
    crossed = _crossed_by_shore(rectangles, world)
    middle = (rectangles[:, :2] + rectangles[:, 2:]) / 2
    return ~crossed & world.on_land(middle), ~crossed


def _crossed_by_shore(rectangles: NDArray[np.float64], world: World) -> NDArray[np.bool_]:
    """Return which rectangles the edge of the land may cross: all that it does, and a few near it."""
    origin, cell = _raster_of(world)
    sums = _shore_sums(world)
    low = _raster_cell((rectangles[:, :2] - origin) / cell - 1e-6)
    high = _raster_cell((rectangles[:, 2:] - origin) / cell + 1e-6) + 1
    met = sums[high[:, 0], high[:, 1]] - sums[low[:, 0], high[:, 1]] - sums[high[:, 0], low[:, 1]]
    return np.asarray(met + sums[low[:, 0], low[:, 1]] > 0)


@lru_cache(maxsize=4)
def _shore_sums(world: World) -> NDArray[np.int32]:
    """Return how many raster cells south-west of each the edge of the land may enter.

    The edge is cut into pieces no longer than a raster cell, and all cells that a piece's box meets are marked.
    """
    origin, cell = _raster_of(world)
    marked = np.zeros((RASTER_SIDE + 1, RASTER_SIDE + 1), dtype=np.int32)
    start, end = _short_pieces(world.land, float(cell.min()))
    low = _raster_cell((np.minimum(start, end) - origin) / cell) + 1
    high = _raster_cell((np.maximum(start, end) - origin) / cell) + 1
    for x in (low[:, 0], high[:, 0]):
        for y in (low[:, 1], high[:, 1]):
            marked[x, y] = 1
    np.cumsum(marked, axis=0, out=marked)
    np.cumsum(marked, axis=1, out=marked)
    return marked


def _raster_of(world: World) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the corner of the raster and the size of its cells."""
    west, south, east, north = world.bounds
    return np.array([west, south]), np.array([east - west, north - south]) / RASTER_SIDE


def _raster_cell(place: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(np.floor(place).astype(np.int64), 0, RASTER_SIDE - 1)


def _short_pieces(land: Any, length: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of short pieces of every ring of the land."""
    rings = shapely.get_rings(shapely.get_parts(land))
    fine = shapely.segmentize(rings, length)
    coordinates, ring = shapely.get_coordinates(fine, return_index=True)
    same = ring[1:] == ring[:-1]
    return coordinates[:-1][same], coordinates[1:][same]
