"""Clip regions to land, once, and pick even random points in what remains."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints, ShortInts, blocks
from pointveil.cells.land import PlainBox
from pointveil.cells.regions import Regions
from pointveil.ground.triangles import Triangulation
from pointveil.world.land import shore_cells
from pointveil.world.world import World

RASTER_SIDE = 2048


@dataclass(frozen=True)
class LandOf:
    """The land of each region."""

    area: Floats  # square metres of land in each region
    rectangles: Regions | None  # the regions, if they are rectangles, or None
    whole: Bools  # which regions are rectangles wholly on land
    triangles: Triangulation  # the land of all other regions

    def pick(self, region: NDArray[Any], rng: np.random.Generator) -> Floats:
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
    count = len(regions)
    whole, decided, area = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool), np.zeros(count)
    are_rectangles = regions.rectangles(np.arange(0)) is not None
    for block in blocks(count if are_rectangles else 0):  # some at a time: there may be many
        rectangles = regions.rectangles(np.arange(block.start, block.stop))
        assert rectangles is not None  # noqa: S101 - all are
        whole[block], decided[block] = sort_rectangles(rectangles, world)
        sides = rectangles[:, 2:] - rectangles[:, :2]
        area[block] = np.where(whole[block], sides.prod(axis=1), 0.0)
    crossed = np.flatnonzero(~decided)
    triangles = Triangulation.of(_clip(regions.polygons(crossed), world), crossed, count)
    area += triangles.region_areas
    return LandOf(area, regions if are_rectangles else None, whole, triangles)


def _clip(polygons: NDArray[Any], world: World) -> NDArray[Any]:
    """Return the parts of these polygons that are land; those wholly on land stay as they are."""
    land = world.land
    shapely.prepare(land)
    inside = shapely.contains_properly(land, polygons)
    result = polygons.copy()
    result[~inside] = shapely.intersection(polygons[~inside], land)
    return result


def _pick_in_rectangles(regions: Regions, region: NDArray[Any], rng: np.random.Generator) -> Floats:
    xy = np.empty((len(region), 2))
    for block in blocks(len(region)):
        rng.random(out=xy[block])
        sides = np.asarray(regions.rectangles(region[block]))
        for axis in range(2):
            xy[block, axis] *= sides[:, axis + 2] - sides[:, axis]
            xy[block, axis] += sides[:, axis]
    return xy


def sort_rectangles(rectangles: Floats, world: World) -> tuple[Bools, Bools]:
    """Return which rectangles are wholly land, and which are wholly land or wholly water."""
    if isinstance(world.land_test, PlainBox):
        return np.ones(len(rectangles), dtype=bool), np.ones(len(rectangles), dtype=bool)
    crossed = _crossed_by_shore(rectangles, world)
    middle = (rectangles[:, :2] + rectangles[:, 2:]) / 2
    return ~crossed & world.on_land(middle), ~crossed


def _crossed_by_shore(rectangles: Floats, world: World) -> Bools:
    """Return which rectangles the edge of the land may cross: all that it does, and a few near it."""
    origin = np.array(world.bounds[:2])
    cell = np.array(world.size) / RASTER_SIDE
    sums = _shore_sums(world)
    low = _raster_cell((rectangles[:, :2] - origin) / cell - 1e-6)
    high = _raster_cell((rectangles[:, 2:] - origin) / cell + 1e-6) + 1
    met = sums[high[:, 0], high[:, 1]] - sums[low[:, 0], high[:, 1]] - sums[high[:, 0], low[:, 1]]
    return np.asarray(met + sums[low[:, 0], low[:, 1]] > 0)


@lru_cache(maxsize=4)
def _shore_sums(world: World) -> ShortInts:
    """Return how many cells of a raster south-west of each the edge of the land may enter."""
    sums = np.zeros((RASTER_SIDE + 1, RASTER_SIDE + 1), dtype=np.int32)
    sums[1:, 1:] = shore_cells(world.land, world.bounds, (RASTER_SIDE, RASTER_SIDE))
    np.cumsum(sums, axis=0, out=sums)
    np.cumsum(sums, axis=1, out=sums)
    return sums


def _raster_cell(place: Floats) -> Ints:
    return np.clip(np.floor(place).astype(np.int64), 0, RASTER_SIDE - 1)
