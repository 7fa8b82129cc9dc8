"""Even random points in polygons, by way of triangles."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints, blocks, numbered
from pointveil.errors import InputError

BLOCK = 1 << 16  # places at a time; another number would draw others from the same seed
MOST_AREA_LOST = 1e-6  # of a region: far more than roundings, far less than a triangle that matters
SLIVER = 1e-3  # square metres that may get lost: rounding leaves slivers where water meets a border of a region
CROSSED = "A region crosses itself, so it cannot be cut into triangles. Repair it first."


@dataclass(frozen=True)
class Triangulation:
    """Regions cut into triangles."""

    corners: Floats  # (triangles, 3, 2) metres
    region: Ints  # the region that each triangle is part of, in rising order
    areas: Floats  # square metres of each triangle, all above zero
    regions: int  # how many regions there are, those without area included

    @classmethod
    def of(
        cls, polygons: Sequence[Any] | NDArray[Any], numbers: Ints | None = None, regions: int | None = None
    ) -> "Triangulation":
        """Cut polygons, one per region, into triangles; what is missing, empty or without area gives none.

        They may be those of some of the regions: `numbers`, rising.
        """
        shapes = np.empty(len(polygons), dtype=object)
        shapes[:] = polygons
        numbers = np.arange(len(shapes)) if numbers is None else numbers
        parts, owner = _parts(shapes)
        convex = _are_convex(parts)
        fans, in_fan = _fans(parts[convex])
        others, in_other = _constrained(parts[~convex])
        corners = np.concatenate([fans, others])
        region = numbers[np.concatenate([owner[convex][in_fan], owner[~convex][in_other]])]
        areas = triangle_areas(corners)
        order = np.argsort(region, kind="stable")
        order = order[areas[order] > 0]
        made = cls(corners[order], region[order], areas[order], len(shapes) if regions is None else regions)
        wanted = np.nan_to_num(shapely.area(shapes))
        if (np.abs(made.region_areas[numbers] - wanted) > MOST_AREA_LOST * wanted + SLIVER).any():
            raise InputError(CROSSED)
        return made

    @cached_property
    def region_areas(self) -> Floats:
        """Square metres of each region."""
        return np.bincount(self.region, weights=self.areas, minlength=self.regions).astype(np.float64)

    def pick(self, region: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Return an even random point in each given region, all of which must have area."""
        region = np.asarray(region, dtype=np.int64)
        if region.size and (region.min() < 0 or region.max() >= self.regions):
            raise InputError(f"Regions are numbered from 0 to {self.regions - 1}.")
        if (self.region_areas[region] <= 0).any():
            raise InputError("A region without area cannot hold a point. Give such regions no points.")
        parts = (self._pick(region[block], rng) for block in blocks(len(region), BLOCK))
        return np.concatenate([np.empty((0, 2)), *parts])

    def _pick(self, region: Ints, rng: np.random.Generator) -> Floats:
        triangle = self._pick_triangles(region, rng)
        first, second = rng.random((2, len(region)))
        over = first + second > 1  # the other half of the parallelogram: turn it back
        first[over], second[over] = 1 - first[over], 1 - second[over]
        corner, one_side, other_side = (side.take(triangle, axis=0) for side in self._sides)
        return np.asarray(corner + first[:, None] * one_side + second[:, None] * other_side)

    def _pick_triangles(self, region: Ints, rng: np.random.Generator) -> Ints:
        """Return a triangle of each region, each with a chance as large as its area."""
        place = rng.random(len(region))
        place += region
        found = np.searchsorted(self._shares, place, side="right")
        # Adding the region may have rounded a place up to the next one's beginning.
        return np.minimum(found, self._last[region])

    @cached_property
    def _shares(self) -> Floats:
        """Where each triangle ends if every region is as long as one: rising from its number to the next."""
        total = np.cumsum(self.areas / self.region_areas[self.region])
        before = np.concatenate([[0.0], total])[np.searchsorted(self.region, self.region)]
        shares = self.region + (total - before)
        # No region may reach into the next by a rounding.
        return np.asarray(np.minimum(shares, self.region + 1.0))

    @cached_property
    def _last(self) -> Ints:
        return np.searchsorted(self.region, np.arange(self.regions), side="right") - 1

    @cached_property
    def _sides(self) -> tuple[Floats, Floats, Floats]:
        """A corner of each triangle, and the two sides from it."""
        a, b, c = self.corners.transpose(1, 0, 2)
        return np.ascontiguousarray(a), b - a, c - a


def _parts(shapes: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the polygons of all regions that have area, and whose they are."""
    simple = shapely.get_type_id(shapes) == shapely.GeometryType.POLYGON
    outer, whose_outer = shapely.get_parts(shapes[~simple], return_index=True)
    inner, whose_inner = shapely.get_parts(outer, return_index=True)
    parts = np.concatenate([shapes[simple], inner])
    owner = np.concatenate([np.flatnonzero(simple), np.flatnonzero(~simple)[whose_outer[whose_inner]]])
    kept = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & (shapely.area(parts) > 0)
    # A corner given twice would hide which way the outline turns there.
    return shapely.remove_repeated_points(parts[kept]), owner[kept]


def _are_convex(parts: NDArray[Any]) -> Bools:
    """Return which polygons have no holes and turn one way only."""
    points, part = shapely.get_coordinates(parts, return_index=True)
    within = part[1:] == part[:-1]
    steps, part = np.diff(points, axis=0)[within], part[1:][within]
    last = np.append(part[1:] != part[:-1], True)[: len(part)]
    following = np.where(last, np.searchsorted(part, part), np.arange(1, len(part) + 1))
    turns = steps[:, 0] * steps[following, 1] - steps[:, 1] * steps[following, 0]
    left = np.bincount(part, turns > 0, len(parts))
    right = np.bincount(part, turns < 0, len(parts))
    return np.asarray(((left == 0) | (right == 0)) & (shapely.get_num_interior_rings(parts) == 0))


def _fans(parts: NDArray[Any]) -> tuple[Floats, Ints]:
    """Cut convex polygons into triangles around their first corner."""
    points = shapely.get_coordinates(parts)
    lengths = shapely.get_num_coordinates(parts)
    owner, number = numbered(lengths - 3)
    apex = (np.cumsum(lengths) - lengths)[owner]
    corners = np.stack([points[apex], points[apex + number + 1], points[apex + number + 2]], axis=1)
    return corners, owner


def _constrained(parts: NDArray[Any]) -> tuple[Floats, Ints]:
    """Cut any polygons into triangles that use their corners only."""
    try:
        triangles, owner = shapely.get_parts(
            shapely.constrained_delaunay_triangles(shapely.force_2d(parts)), return_index=True
        )
    except shapely.errors.GEOSException as error:
        raise InputError(CROSSED) from error
    return shapely.get_coordinates(triangles).reshape(-1, 4, 2)[:, :3], owner


def triangle_areas(corners: Floats) -> Floats:
    """Return the square metres of (n, 3, 2) corners."""
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return np.asarray(np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / 2)
