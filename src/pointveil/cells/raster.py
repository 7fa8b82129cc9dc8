"""The land as small cells, and in each how much lies how far from a road: public, and the same for everybody."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, ShortInts

MASKED = 255  # the bin of a pixel that is not land


@dataclass(frozen=True, eq=False)
class Raster:
    """The cells that have land, along a Hilbert curve, and their pixels by distance to the nearest road."""

    side: float  # of a cell, metres; cells are counted from the world's south-west corner
    shape: tuple[int, int]  # columns and rows of cells
    per_side: int  # pixels along the side of a cell
    column: ShortInts  # (cells with land,)
    row: ShortInts  # (cells with land,)
    patch: ShortInts  # line of the cell in `pixels`; if the whole cell is land in one bin, -1 minus that bin
    pixels: NDArray[np.uint8]  # (patches, pixels of a cell): the bin of each, 255 where it is not land
    index: ShortInts  # (columns, rows): the number of the cell there, -1 if it has no land
    entry_cell: ShortInts  # (entries,): an entry is a pair of cell and bin that there is
    entry_bin: NDArray[np.uint8]  # (entries,)
    entry_area: ShortInts  # (entries,): pixels, or sites
    bins: int  # of distance; one without roads
    sites: Floats | None = None  # (sites, 2) metres, by entry: the only places if coordinates are known to be rounded
    first_site: Ints | None = None  # (entries,): where in `sites` each begins

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
        found[fine] = self.pixels[patch[fine], self.pixel_of(xy[fine], column[fine], row[fine])]
        return np.where((cell < 0) | (found == MASKED), -1, found)

    def pixel_of(self, xy: Floats, column: Ints, row: Ints) -> Ints:
        """Return the number of the pixel of each point within its cell."""
        scale = self.per_side / self.side
        across, along = (self._pixel(xy[:, axis] - at * self.side, scale) for axis, at in ((0, column), (1, row)))
        return across * self.per_side + along

    def _pixel(self, metres: Floats, scale: float) -> Ints:
        with np.errstate(invalid="ignore"):
            place = np.nan_to_num(np.clip(np.floor(metres * scale), 0, self.per_side - 1))
        return np.asarray(place, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Distances:
    """Cells by distance to the nearest road, told by the pixel of a raster that holds a record."""

    raster: Raster

    def __len__(self) -> int:
        return self.raster.bins

    def locate(self, xy: Floats) -> Ints:
        """Return the one bin of each record, or -1."""
        return self.raster.bin_of(xy)
