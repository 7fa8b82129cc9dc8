"""Cut each region into triangles between its middle and its sides, and keep their land."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Bools, Floats, Ints, Regions
from pointveil.ground.clipping import LandOf
from pointveil.ground.triangles import Triangulation, triangle_areas
from pointveil.world.world import World

STEP = 1e-6  # how far past a side "just past it" is, of the way from the middle to the side


@dataclass(frozen=True, eq=False)
class Fans:
    """Sub-regions: one for each side of a region, all of them with land."""

    region: Ints  # the region that each sub-region is part of
    beyond: Floats  # a place just past the side of each sub-region
    land: Triangulation  # the land of the sub-regions

    def __len__(self) -> int:
        return len(self.region)

    @property
    def area(self) -> Floats:
        """Square metres of land in each sub-region."""
        return self.land.region_areas


def cut_into_fans(regions: Regions, land: LandOf, world: World, which: Ints) -> Fans:
    """Return the sub-regions of these regions."""
    rectangles = regions.rectangles()
    if rectangles is None:
        outlines = shapely.convex_hull(regions.polygons(which))
        owner, corners = _fans_of_polygons(outlines)
        # A region is wholly on land if it is convex and has no water.
        polygons = regions.polygons(which)
        shapely.prepare(world.land)
        convex = shapely.area(polygons) >= shapely.area(outlines) * (1 - 1e-9)
        dry = np.asarray(convex & shapely.covers(world.land, polygons))
    else:
        owner, corners = _fans_of_rectangles(rectangles[which])
        dry = land.whole[which]
    triangles = _on_land(regions, which, owner, corners, dry, world)
    kept = np.unique(triangles.region)
    numbered = Triangulation(triangles.corners, np.searchsorted(kept, triangles.region), triangles.areas, len(kept))
    return Fans(which[owner[kept]], _just_past(corners[kept]), numbered)


def _fans_of_rectangles(rectangles: Floats) -> tuple[Ints, Floats]:
    """Return the owner and the corners of four triangles a rectangle: south, east, north, west."""
    west, south, east, north = rectangles.T
    around = np.stack([west, south, east, south, east, north, west, north], axis=1).reshape(-1, 4, 2)
    middle = np.broadcast_to(((rectangles[:, :2] + rectangles[:, 2:]) / 2)[:, None], around.shape)
    corners = np.stack([middle, around, np.roll(around, -1, axis=1)], axis=2)
    return np.repeat(np.arange(len(rectangles)), 4), corners.reshape(-1, 3, 2)


def _fans_of_polygons(outlines: NDArray[Any]) -> tuple[Ints, Floats]:
    """Return the owner and the corners of one triangle for each side of each convex polygon."""
    points, owner = shapely.get_coordinates(outlines, return_index=True)
    middle = shapely.get_coordinates(shapely.centroid(outlines))
    along = (owner[1:] == owner[:-1]) & (points[1:] != points[:-1]).any(axis=1)
    owner = owner[1:][along]
    return owner, np.stack([middle[owner], points[:-1][along], points[1:][along]], axis=1)


def _on_land(regions: Regions, which: Ints, owner: Ints, corners: Floats, dry: Bools, world: World) -> Triangulation:
    """Return the land of each triangle of a fan, cut into triangles again where a shore crosses it."""
    wet = np.flatnonzero(~dry[owner])
    clipped = np.full(len(owner), None, dtype=object)
    if len(wet):
        wet_regions = np.flatnonzero(~dry)
        pieces = shapely.intersection(regions.polygons(which[wet_regions]), world.land)
        piece = pieces[np.searchsorted(wet_regions, owner[wet])]
        clipped[wet] = shapely.intersection(shapely.polygons(corners[wet]), piece)
    shores = Triangulation.of(clipped)
    inland = np.flatnonzero(dry[owner])
    areas = triangle_areas(corners[inland])
    region = np.concatenate([shores.region, inland[areas > 0]])
    order = np.argsort(region, kind="stable")
    return Triangulation(
        np.concatenate([shores.corners, corners[inland[areas > 0]]])[order],
        region[order],
        np.concatenate([shores.areas, areas[areas > 0]])[order],
        len(owner),
    )


def _just_past(corners: Floats) -> Floats:
    """Return a place past the second side of each triangle, seen from its first corner."""
    middle, start, end = corners[:, 0], corners[:, 1], corners[:, 2]
    side = end - start
    outward = np.column_stack([side[:, 1], -side[:, 0]]) / np.maximum(np.hypot(*side.T), 1e-300)[:, None]
    half = (start + end) / 2
    distance = np.einsum("ij,ij->i", half - middle, outward)
    return np.asarray(half + outward * (distance * STEP)[:, None])
