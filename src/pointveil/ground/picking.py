"""Even random places: in the entries of a raster, and in the sites of regions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from pointveil.cells import Bools, Floats, Ints, Raster, Regions, RegionSites
from pointveil.ground.clipping import LandOf
from pointveil.ground.quadtree import hilbert_index
from pointveil.world.world import World

TRIES = 40
COMPARED = 8_000_000  # pixels that are looked at together


def pick_in_entries(raster: Raster, entry: Ints, within: Floats, rng: np.random.Generator) -> Floats:
    """Return a place in each entry, even within it: one of its sites, or anywhere in one of its pixels.

    `within` is how far through the entry each place is, from 0 to below 1: its pixels are taken in order.
    """
    area = raster.entry_area.take(entry)
    number = np.floor(within * area).astype(np.int64)
    if raster.sites is not None and raster.first_site is not None:
        return np.asarray(raster.sites[raster.first_site[entry] + number])
    cell = raster.entry_cell.take(entry)
    patch = raster.patch.take(cell)
    pixel = np.floor(within * raster.per_side**2).astype(np.int64)
    fine = np.flatnonzero(patch >= 0)
    for part in np.array_split(fine, len(fine) * raster.per_side**2 // COMPARED + 1):
        fits = raster.pixels.take(patch[part], axis=0) == raster.entry_bin.take(entry[part])[:, None]
        before = np.cumsum(area[part], dtype=np.int64) - area[part]
        pixel[part] = np.flatnonzero(fits)[before + number[part]] % raster.per_side**2
    place = rng.random((len(entry), 2))
    across = pixel // raster.per_side
    for axis, (number, start) in enumerate(((across, raster.column), (pixel - across * raster.per_side, raster.row))):
        place[:, axis] += number
        place[:, axis] *= raster.side / raster.per_side
        place[:, axis] += start.take(cell) * raster.side
    return place


@dataclass(frozen=True, eq=False)
class SitePlaces:
    """The places of the sites of regions."""

    sites: RegionSites
    land: LandOf  # of each region
    world: World
    path: Ints  # column and row of each step of the curve
    step: Ints  # the step of the curve of each site, for each broken region

    @classmethod
    def of(cls, regions: Regions, land: LandOf, world: World, side: int) -> "SitePlaces":
        """Cut each region's box into side × side squares; whether one counts as land is told by its middle.

        The side is a power of two. A region without land has no site, any other at least one.
        """
        row, column = np.divmod(np.arange(side**2), side)
        curve = hilbert_index(column, row, side.bit_length() - 1)
        path = np.column_stack([column, row])[np.argsort(curve)]
        is_broken = (land.area > 0) & ~land.whole
        boxes = regions.rectangles()
        if boxes is None:
            boxes = np.asarray(shapely.bounds(regions.polygons(np.arange(len(regions)))))
        habitable = _habitable(regions, boxes, path, world, np.flatnonzero(is_broken))
        # A square that does not count takes the next site along the curve, or the last.
        last = np.maximum(habitable.sum(axis=1), 1) - 1
        rank = np.minimum(np.cumsum(habitable, axis=1) - habitable, last[:, None])
        counts = np.where(land.area > 0, side**2, 0)
        counts[is_broken] = last + 1
        broken = np.where(is_broken, np.cumsum(is_broken) - 1, -1)
        sites = RegionSites(regions, boxes, curve.reshape(side, side), broken, rank, counts)
        return cls(sites, land, world, path, np.argsort(~habitable, axis=1, kind="stable"))

    def pick(self, region: Ints, site: Ints, rng: np.random.Generator) -> Floats:
        """Return a random place on land in each of these sites, even within its square."""
        # The square of a site at the edge of a region that is not a rectangle may reach a little over it.
        row, step = self.sites.broken[region], site.copy()
        open_ = np.flatnonzero(row >= 0)
        step[open_] = self.step[row[open_], site[open_]]
        xy = self._pick_in_squares(region, step, rng)
        for _ in range(TRIES):
            open_ = open_[~self.world.on_land(xy[open_])]
            if not len(open_):
                return xy
            xy[open_] = self._pick_in_squares(region[open_], step[open_], rng)
        # What is left stands for slivers of land: anywhere in the region will do.
        xy[open_] = self.land.pick(region[open_], rng)
        return xy

    def _pick_in_squares(self, region: Ints, step: Ints, rng: np.random.Generator) -> Floats:
        place = rng.random((len(region), 2))
        place += self.path[step]
        place /= len(self.sites.curve)
        corner, size = self.sites.boxes[:, :2], self.sites.boxes[:, 2:] - self.sites.boxes[:, :2]
        return np.asarray(corner[region] + place * size[region])


def _habitable(regions: Regions, boxes: Floats, path: Ints, world: World, which: Ints) -> Bools:
    """Return which steps of the curve have their middle on land, for each of these regions."""
    region, step = np.repeat(which, len(path)), np.tile(np.arange(len(path)), len(which))
    corner, size = boxes[:, :2], boxes[:, 2:] - boxes[:, :2]
    middle = corner[region] + (path[step] + 0.5) / np.sqrt(len(path)) * size[region]
    habitable: Any = regions.locate(middle) == region
    habitable[habitable] = world.on_land(middle[habitable])
    return np.asarray(habitable.reshape(len(which), len(path)))
