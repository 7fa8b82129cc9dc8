"""The land as small cells, and in each how much lies how far from a road: public, and the same for everybody."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, ShortInts, blocks

Number = TypeVar("Number", np.int32, np.float64)

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
    entry_area: NDArray[np.integer]  # (entries,): pixels, or sites
    bins: int  # of distance; one without roads
    sites: Floats | None = None  # (sites, 2) metres, by entry: the only places if coordinates are known to be rounded
    first_site: Ints | None = None  # (entries,): where in `sites` each begins

    def cell_of(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return column and row of the cell of each point; a point beyond the edge takes the cell at the edge."""
        return self._along(xy, 0), self._along(xy, 1)

    def square_of(self, xy: Floats) -> Ints:
        """Return the number of the cell of each point among all cells, with land or without, column by column."""
        square = self._along(xy, 0)
        square *= self.shape[1]
        square += self._along(xy, 1)
        return square

    def _along(self, xy: Floats, axis: int) -> Ints:
        with np.errstate(invalid="ignore"):
            return _clipped(xy[:, axis] / self.side, self.shape[axis] - 1)

    def sum(self, entry_values: Floats) -> Floats:
        """Return the sum over each cell's entries, (cells with land,)."""
        sums = np.zeros(len(self.column))
        for part in blocks(len(entry_values)):
            first = self.entry_cell[part.start]  # entries are ordered by cell, so some of them touch few cells
            here = np.bincount(self.entry_cell[part] - first, entry_values[part])
            sums[first : first + len(here)] += here
        return sums

    def bin_of(self, xy: Floats) -> Ints:
        """Return the bin of the pixel of each point, or -1 where that is not land."""
        column, row = self.cell_of(xy)
        cell = self.index.ravel().take(column * self.shape[1] + row)
        if not len(self.column):
            return cell.astype(np.int64)
        patch = self.patch.take(cell, mode="wrap").astype(np.int64)  # of any cell, where there is none
        found = -1 - patch
        if len(self.pixels):  # nearly all cells near roads have some of their own, so they are looked up for all
            pixel = self.pixel_of(xy, column, row)
            pixel += np.maximum(patch, 0) * self.per_side**2
            told = self.pixels.ravel().take(pixel).astype(np.int64)
            told[told == MASKED] = -1
            np.copyto(found, told, where=patch >= 0)
        found[cell < 0] = -1
        return found

    def pixel_of(self, xy: Floats, column: Ints, row: Ints) -> Ints:
        """Return the number of the pixel of each point within its cell."""
        scale = self.per_side / self.side
        with np.errstate(invalid="ignore"):
            number = _clipped((xy[:, 0] - column * self.side) * scale, self.per_side - 1)
            number *= self.per_side
            number += _clipped((xy[:, 1] - row * self.side) * scale, self.per_side - 1)
        return number


def _clipped(places: Floats, last: int) -> Ints:
    """Return places rounded down, from 0 to `last`, in place; NaN is at 0."""
    # Unlike maximum and minimum these two take NaN to a number.
    np.fmax(places, 0, out=places)
    np.fmin(places, last, out=places)
    return places.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Distances:
    """Cells by distance to the nearest road, told by the pixel of a raster that holds a record."""

    raster: Raster

    def __len__(self) -> int:
        return self.raster.bins

    def locate(self, xy: Floats) -> Ints:
        """Return the one bin of each record, or -1."""
        return self.raster.bin_of(xy)

    @property
    def key(self) -> Hashable:
        """What tells them from other cells."""
        return Distances, self.raster
