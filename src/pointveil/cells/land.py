"""Say quickly and exactly which records lie on land."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Bounds, Floats, ShortInts, blocks, within

SEA, LAND, MIXED = 0, 1, 2


@dataclass(frozen=True)
class PlainBox:
    """Land that is a box: its west and south edges are land, its east and north edges are not."""

    bounds: Bounds  # metres

    def holds(self, xy: Floats) -> Bools:
        """Return which records lie in the box; silent always."""
        return within(self.bounds, xy[:, 0], xy[:, 1])


@dataclass(frozen=True, eq=False)
class LandTest:
    """Land of any shape, with a raster that decides all records but those near a shore.

    A shore is land; the east and north edges of the bounds are not, so that every record on land is in one
    cell of any grid over them.
    """

    land: Any  # metres
    bounds: Bounds  # of the world, metres
    raster: NDArray[np.uint8]  # (rows + 2, columns + 2) of SEA, LAND and MIXED, with a rim of sea around

    def holds(self, xy: Floats) -> Bools:
        """Return which records lie on land; silent always."""
        raster, columns = self.raster.ravel(), self.raster.shape[1]
        found = np.empty(len(xy), dtype=np.uint8)
        with np.errstate(all="ignore"):
            for block in blocks(len(xy)):
                cell = self._place(xy[block], 1)
                cell *= columns
                cell += self._place(xy[block], 0)
                raster.take(cell, out=found[block], mode="clip")
        near = np.flatnonzero(found == MIXED)
        if near.size:
            inside = near[PlainBox(self.bounds).holds(xy[near])]
            shapely.prepare(self.land)
            found[near] = False
            found[inside] = shapely.intersects_xy(self.land, xy[inside, 0], xy[inside, 1])
        return found.view(np.bool_)

    def _place(self, xy: Floats, axis: int) -> ShortInts:
        """Return the column (axis 0) or row (axis 1) of each record in the raster, the rim included."""
        low, high, count = self.bounds[axis], self.bounds[axis + 2], self.raster.shape[1 - axis] - 2
        place = xy[:, axis] - low
        place *= count / (high - low)
        place += 1
        # Unlike maximum and minimum these two take NaN to the rim, which is sea.
        np.fmax(place, 0, out=place)
        np.fmin(place, count + 1, out=place)
        return place.astype(np.int32)
