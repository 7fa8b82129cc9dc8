"""Even random places: in the entries of a raster, and in the sites of regions."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Bools, Floats, Ints, Raster, Regions, RegionSites
from pointveil.ground.clipping import LandOf
from pointveil.ground.quadtree import hilbert_index
from pointveil.world.world import World

TRIES = 40


def pick_in_entries(raster: Raster, entry: Ints, within: Floats, rng: np.random.Generator) -> Floats:
    """Return a place in each entry, even within it: one of its sites, or anywhere in one of its pixels.

    `within` is how far through the entry each place is, from 0 to below 1: its pixels are taken in order.
    """
    number = np.floor(within * raster.entry_area.take(entry)).astype(np.int64)
    if raster.sites is not None and raster.first_site is not None:
        return np.asarray(raster.sites[raster.first_site[entry] + number])
    cell = raster.entry_cell.take(entry)
    pixel = np.floor(within * raster.per_side**2).astype(np.int64)
    if len(raster.pixels):  # nearly all cells near roads have some of their own, so they are looked up for all
        patch = raster.patch.take(cell)
        bins = raster.pixels.take(np.maximum(patch, 0), axis=0)
        np.copyto(pixel, _nth(bins, raster.entry_bin.take(entry), number), where=patch >= 0)
    place = rng.random((len(entry), 2))
    across = pixel // raster.per_side
    place[:, 0] += raster.column.take(cell) * raster.per_side + across
    place[:, 1] += raster.row.take(cell) * raster.per_side + (pixel - across * raster.per_side)
    place *= raster.side / raster.per_side
    return place


def _nth(bins: NDArray[np.uint8], wanted: NDArray[np.uint8], number: Ints) -> NDArray[Any]:
    """Return in each line (n, pixels) which pixel is the `number`-th (n,), from 0, of those in the bin wanted (n,)."""
    # One pixel of all lines after the other, and in as few bytes as their numbers need: lines are short.
    short = np.min_scalar_type(bins.shape[1])
    up_to = (np.ascontiguousarray(bins.T) == wanted).astype(short)
    for before, here in pairwise(up_to):
        np.add(before, here, out=here)
    return np.asarray((up_to <= number.astype(short)).sum(axis=0, dtype=short))


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
