"""The land as small cells, and in each how much lies how far from a road: public, and the same for everybody."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, ShortInts

MASKED = 255
"""The bin of a pixel that is not land."""


@dataclass(frozen=True, eq=False)
class Raster:
    """The cells that have land, along a Hilbert curve, and their pixels by distance to the nearest road.

    Parameters
    ----------
    side
        The side of a cell, in metres; cells are counted from the world's south-west corner.
    shape
        How many columns and rows of cells there are.
    per_side
        How many pixels lie along the side of a cell.
    column, row
        Where each cell with land lies.
    patch
        The line of the cell in `pixels`; or, if the whole cell is land in one bin, minus one minus that bin.
    pixels
        The bin of each pixel, 255 where it is not land.
    index
        The number of the cell at each column and row, -1 if it has no land.
    entry_cell, entry_bin, entry_area
        The pairs of cell and bin that there are, and the pixels (or sites) of each.
    bins
        How many bins of distance there are: one without roads.
    sites, first_site
        If coordinates are known to be rounded: the only places there are, by entry, and where each entry begins.
    """

    side: float
    shape: tuple[int, int]
    per_side: int
    column: ShortInts
    row: ShortInts
    patch: ShortInts
    pixels: NDArray[np.uint8]
    index: ShortInts
    entry_cell: ShortInts
    entry_bin: NDArray[np.uint8]
    entry_area: ShortInts
    bins: int
    sites: Floats | None = None
    first_site: Ints | None = None

    def cell_of(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return column and row of the cell of each point; a point beyond the edge takes the cell at the edge."""
        with np.errstate(invalid="ignore"):
            column = np.clip(np.floor(xy[:, 0] / self.side), 0, self.shape[0] - 1)
            row = np.clip(np.floor(xy[:, 1] / self.side), 0, self.shape[1] - 1)
        return np.nan_to_num(column).astype(np.int64), np.nan_to_num(row).astype(np.int64)

    def bin_of(self, xy: Floats) -> Ints:
        """Return the bin of the pixel of each point, or -1 where that is not land."""
        column, row = self.cell_of(xy)
        cell = self.index[column, row].astype(np.int64)
        if not len(self.column):
            return cell
        patch = np.where(cell >= 0, self.patch[cell], -1).astype(np.int64)
        found = -1 - patch
        fine = np.flatnonzero(patch >= 0)
        scale = self.per_side / self.side
        across = self._pixel(xy[fine, 0] - column[fine] * self.side, scale)
        along = self._pixel(xy[fine, 1] - row[fine] * self.side, scale)
        found[fine] = self.pixels[patch[fine], across * self.per_side + along]
        return np.where((cell < 0) | (found == MASKED), -1, found)

    def _pixel(self, metres: Floats, scale: float) -> Ints:
        with np.errstate(invalid="ignore"):
            place = np.nan_to_num(np.clip(np.floor(metres * scale), 0, self.per_side - 1))
        return np.asarray(place, dtype=np.int64)
