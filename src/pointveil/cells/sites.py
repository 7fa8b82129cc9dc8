"""Numbered sites within regions, such that neighbouring numbers are neighbouring places."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.regions import Regions


@dataclass(frozen=True, eq=False)
class RegionSites:
    """Each region's bounding box is cut into equal squares along a Hilbert curve; those with land are its sites.

    A record in a square that is not a site takes the next site along the curve, so every place on land has one.
    """

    regions: Regions  # public, or made from noisy answers alone
    boxes: Floats  # (regions, 4) metres: west, south, east and north
    curve: Ints  # the step of the curve at each row and column of a box
    broken: Ints  # (regions,): the row in `rank` of one that a shore or an edge breaks, else -1
    rank: Ints  # (broken regions, steps): the site at each step of the curve
    counts: Ints  # (regions,): sites of each, none if it lies wholly in water

    def site_counts(self) -> Ints:
        """Return how many sites each region has."""
        return self.counts

    def locate_sites(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return the region of each record (-1 for nowhere) and the number of its site there."""
        region = self.regions.locate(xy)
        known = np.maximum(region, 0)
        site = self.curve[self._square(xy, known, 1), self._square(xy, known, 0)]
        shore = np.flatnonzero(self.broken[known] >= 0)
        site[shore] = self.rank[self.broken[known[shore]], site[shore]]
        return region, site

    def _square(self, xy: Floats, region: Ints, axis: int) -> Ints:
        """Return the column (axis 0) or row (axis 1) of each record in its region's box."""
        low, high = self.boxes[region, axis], self.boxes[region, axis + 2]
        side = len(self.curve)
        with np.errstate(all="ignore"):
            place = (xy[:, axis] - low) / (high - low) * side
        return np.asarray(np.fmin(np.fmax(place, 0), side - 1), dtype=np.int64)
