"""Say quickly and exactly which points lie on land."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.world.projection import Bounds, Floats

Bools = NDArray[np.bool_]

SEA, LAND, MIXED = 0, 1, 2
MOST_CELLS = 1 << 20  # a raster of a megabyte stays in the processor's cache
BLOCK = 1 << 15


@dataclass(frozen=True)
class PlainBox:
    """Land that is a box: its west and south edges are land, its east and north edges are not.

    Parameters
    ----------
    bounds
        West, south, east and north, in metres.
    """

    bounds: Bounds

    def holds(self, xy: Floats) -> Bools:
        """Return which points lie in the box; silent always."""
        west, south, east, north = self.bounds
        x, y = xy[:, 0], xy[:, 1]
        inside = x >= west
        for test in (x < east, y >= south, y < north):
            inside &= test
        return inside


@dataclass(frozen=True)
class LandTest:
    """Land of any shape, with a raster that decides all points but those near a shore.

    A shore is land; the east and north edges of the bounds are not, so that every point on land is in one
    cell of any grid over them.

    Parameters
    ----------
    land
        The land, in metres.
    bounds
        West, south, east and north of the world, in metres.
    """

    land: Any
    bounds: Bounds

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of the raster: cells about as wide as high."""
        west, south, east, north = self.bounds
        aspect = (east - west) / (north - south)
        columns = int(np.clip(np.sqrt(MOST_CELLS * aspect), 1, MOST_CELLS))
        return columns, max(1, MOST_CELLS // columns)

    @cached_property
    def raster(self) -> NDArray[np.uint8]:
        """What each cell is, row by row, with a rim of sea around."""
        columns, rows = self.shape
        cells = np.full((rows + 2, columns + 2), SEA, dtype=np.uint8)
        inner = cells[1:-1, 1:-1]
        self._mark_shores(inner)
        self._fill(inner)
        return cells

    def holds(self, xy: Floats) -> Bools:
        """Return which points lie on land; silent always."""
        raster, columns = self.raster.ravel(), self.shape[0] + 2
        found = np.empty(len(xy), dtype=np.uint8)
        with np.errstate(all="ignore"):
            for start in range(0, len(xy), BLOCK):
                block = xy[start : start + BLOCK]
                cell = self._place(block, 1)
                cell *= columns
                cell += self._place(block, 0)
                raster.take(cell, out=found[start : start + BLOCK], mode="clip")
        near = np.flatnonzero(found == MIXED)
        if near.size:
            found[near] = self.holds_exactly(xy[near])
        return found.view(np.bool_)

    def holds_exactly(self, xy: Floats) -> Bools:
        """Return which points lie on land without the raster: the same answers, slowly."""
        inside = PlainBox(self.bounds).holds(xy)
        shapely.prepare(self.land)
        inside[inside] = shapely.intersects_xy(self.land, xy[inside, 0], xy[inside, 1])
        return inside

    def _place(self, block: Floats, axis: int) -> NDArray[np.int32]:
        low, high, count = self.bounds[axis], self.bounds[axis + 2], self.shape[axis]
        place = block[:, axis] - low
        place *= count / (high - low)
        place += 1
        # Unlike maximum and minimum these two take NaN to the rim, which is sea.
        np.fmax(place, 0, out=place)
        np.fmin(place, count + 1, out=place)
        return place.astype(np.int32)

    def _mark_shores(self, cells: NDArray[np.uint8]) -> None:
        """Mark every cell that a shore enters or all but touches."""
        starts, ends = _segments(self.land)
        columns, rows = self.shape
        origin, extent = np.array(self.bounds[:2]), np.array(self.bounds[2:]) - self.bounds[:2]
        scale = np.array([columns, rows]) / extent
        starts, ends = (starts - origin) * scale, (ends - origin) * scale
        swap = starts[:, 0] > ends[:, 0]
        starts[swap], ends[swap] = ends[swap], starts[swap]

        margin = 1e-6  # of a cell: far more than any rounding
        first = np.clip(np.floor(starts[:, 0] - margin), 0, columns - 1).astype(np.int64)
        last = np.clip(np.floor(ends[:, 0] + margin), 0, columns - 1).astype(np.int64)
        segment, column = _ranges(first, last)
        low, high = _heights(starts[segment], ends[segment], column - margin, column + 1 + margin)
        bottom = np.clip(np.floor(low - margin), 0, rows - 1).astype(np.int64)
        top = np.clip(np.floor(high + margin), 0, rows - 1).astype(np.int64)
        entry, row = _ranges(bottom, top)
        cells[row, column[entry]] = MIXED

    def _fill(self, cells: NDArray[np.uint8]) -> None:
        """Ask for the first cell of each run between shores, and fill the run with the answer."""
        columns, rows = self.shape
        clear = cells != MIXED
        first = clear.copy()
        first[:, 1:] &= ~clear[:, :-1]
        row, column = np.nonzero(first)
        west, south, east, north = self.bounds
        x = west + (column + 0.5) * (east - west) / columns
        y = south + (row + 0.5) * (north - south) / rows
        shapely.prepare(self.land)
        answers = np.where(shapely.contains_xy(self.land, x, y), LAND, SEA).astype(np.uint8)
        run = np.cumsum(first.ravel()) - 1
        flat = clear.ravel()
        cells[clear] = answers[run[flat]]


def _segments(land: Any) -> tuple[Floats, Floats]:
    """Return where the straight pieces of all rings start and end."""
    coordinates, ring = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(land)), return_index=True)
    joined = ring[1:] == ring[:-1]
    return coordinates[:-1][joined], coordinates[1:][joined]


def _ranges(first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write out each range from `first` to `last`: whose it is, and the number."""
    lengths = last - first + 1
    owner = np.repeat(np.arange(len(first)), lengths)
    begins = np.cumsum(lengths) - lengths
    return owner, np.arange(len(owner)) - begins[owner] + first[owner]


def _heights(starts: Floats, ends: Floats, left: Any, right: Any) -> tuple[Floats, Floats]:
    """Return the lowest and highest y of each segment between two values of x."""
    run, rise = (ends - starts).T
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0)
    at_left = starts[:, 1] + (np.maximum(left, starts[:, 0]) - starts[:, 0]) * slope
    at_right = starts[:, 1] + (np.minimum(right, ends[:, 0]) - starts[:, 0]) * slope
    steep = run <= 2e-6  # within the margins: take the segment whole
    at_left = np.where(steep, starts[:, 1], at_left)
    at_right = np.where(steep, ends[:, 1], at_right)
    return np.minimum(at_left, at_right), np.maximum(at_left, at_right)
