"""Numbered sites within regions, such that neighbouring numbers are neighbouring places."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.ground.clipping import LandOf, Regions
from pointveil.world.projection import Floats
from pointveil.world.world import World

Ints = NDArray[np.int64]
TRIES = 40


@dataclass(frozen=True, eq=False)
class RegionSites:
    """Each region's bounding box is cut into equal squares along a Hilbert curve; those with land are its sites.

    Whether a square counts as land is told by its middle. A place in a square that does not count takes the next
    site along the curve that does, so every place on land has a site.

    Parameters
    ----------
    regions
        Public, or made from noisy answers alone.
    land
        The land of each region; a region without land has no site, any other at least one.
    world
        Says where land is.
    side
        How many squares lie along a side of the box: a power of two.
    """

    regions: Regions
    land: LandOf
    world: World
    side: int = 8

    def site_counts(self) -> Ints:
        """Return how many sites each region has; none for a region wholly in water."""
        return self._counts

    def locate_sites(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return the region of each point (-1 for nowhere) and the number of its site there."""
        region = self.regions.locate(xy)
        known = np.maximum(region, 0)
        site = self._curve[self._square(xy, known, 1), self._square(xy, known, 0)]
        broken = np.flatnonzero(self._row[known] >= 0)
        site[broken] = self._rank[self._row[known[broken]], site[broken]]
        return region, site

    def pick(self, region: Ints, site: Ints, rng: np.random.Generator) -> Floats:
        """Return a random place on land in each of these sites, even within its square.

        The square of a site at the edge of a region that is no rectangle may reach a little over it.
        """
        row, step = self._row[region], site.copy()
        open_ = np.flatnonzero(row >= 0)
        step[open_] = self._step[row[open_], site[open_]]
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
        place += self._path[step]
        place /= self.side
        corner, size = self._boxes[:, :2], self._boxes[:, 2:] - self._boxes[:, :2]
        return np.asarray(corner[region] + place * size[region])

    def _square(self, xy: Floats, region: Ints, axis: int) -> Ints:
        low, high = self._boxes[region, axis], self._boxes[region, axis + 2]
        with np.errstate(all="ignore"):
            place = (xy[:, axis] - low) / (high - low) * self.side
        return np.asarray(np.fmin(np.fmax(place, 0), self.side - 1), dtype=np.int64)

    @cached_property
    def _boxes(self) -> Floats:
        rectangles = self.regions.rectangles()
        if rectangles is None:
            return np.asarray(shapely.bounds(self.regions.polygons(np.arange(len(self.regions)))))
        return rectangles

    @cached_property
    def _path(self) -> Ints:
        """Column and row of each step of the curve."""
        return hilbert_path(self.side)

    @cached_property
    def _curve(self) -> Ints:
        """The step of the curve at each row and column."""
        curve = np.empty((self.side, self.side), dtype=np.int64)
        curve[self._path[:, 1], self._path[:, 0]] = np.arange(self.side**2)
        return curve

    @cached_property
    def _row(self) -> Ints:
        """The row of each region in the tables of regions that a shore or an edge breaks; -1 for all others."""
        broken = (self.land.area > 0) & ~self.land.whole
        return np.where(broken, np.cumsum(broken) - 1, -1)

    @cached_property
    def _habitable(self) -> NDArray[np.bool_]:
        """Which steps of the curve have their middle on land, for each broken region."""
        broken = np.flatnonzero(self._row >= 0)
        region, step = np.repeat(broken, self.side**2), np.tile(np.arange(self.side**2), len(broken))
        corner, size = self._boxes[:, :2], self._boxes[:, 2:] - self._boxes[:, :2]
        middle = corner[region] + (self._path[step] + 0.5) / self.side * size[region]
        habitable = self.regions.locate(middle) == region
        habitable[habitable] = self.world.on_land(middle[habitable])
        table: NDArray[Any] = habitable.reshape(len(broken), self.side**2)
        return table

    @cached_property
    def _rank(self) -> Ints:
        """The site at each step of the curve: the next that counts, or the last."""
        before: Ints = np.cumsum(self._habitable, axis=1) - self._habitable
        last = np.maximum(self._habitable.sum(axis=1), 1) - 1
        return np.asarray(np.minimum(before, last[:, None]), dtype=np.int64)

    @cached_property
    def _step(self) -> Ints:
        """The step of the curve of each site."""
        return np.argsort(~self._habitable, axis=1, kind="stable")

    @cached_property
    def _counts(self) -> Ints:
        counts = np.where(self.land.area > 0, self.side**2, 0)
        counts[self._row >= 0] = np.maximum(self._habitable.sum(axis=1), 1)
        return counts


def hilbert_path(side: int) -> Ints:
    """Return column and row of each step of a Hilbert curve through a square; `side` is a power of two."""
    path = np.zeros((1, 2), dtype=np.int64)
    half = 1
    while half < side:
        turned = path[:, ::-1]
        back = np.array([2 * half - 1, half - 1]) - turned
        up, across = path + np.array([0, half]), path + np.array([half, half])
        path = np.concatenate([turned, up, across, back])
        half *= 2
    return path
