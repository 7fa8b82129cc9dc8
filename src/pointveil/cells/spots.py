"""Small places that may hold many records: squares of a few metres, and single cells and pixels of a raster."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints
from pointveil.cells.raster import Raster

FARTHEST = 1e9  # metres

SMALL = 2.5  # metres: as wide as a house number, and wider than most coordinates are rounded
NUMBERS = 1_048_573  # a prime, so that squares are spread over all numbers


@dataclass(frozen=True)
class SmallSquares:
    """Squares of 2.5 m, numbered from a fixed number on anew: each record is in one of them.

    Squares far apart may share a number and then count as one. Few do where records are few, and any division of the
    records will do.
    """

    def __len__(self) -> int:
        return NUMBERS

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the square of each record, or -1."""
        with np.errstate(invalid="ignore"):
            known = np.asarray((np.abs(xy) < FARTHEST).all(axis=1))
        column, row = np.floor(np.where(known[:, None], xy, 0.0) / SMALL).astype(np.int64).T
        return np.where(known, (column * 73_856_093 + row * 19_349_663) % NUMBERS, NOWHERE)


@dataclass(frozen=True, eq=False)
class ChosenCells:
    """Some cells of a raster: each record is in one of them, or in none."""

    raster: Raster
    cells: Ints  # in order, chosen by noisy answers alone

    def __len__(self) -> int:
        return max(len(self.cells), 1)

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the chosen cell of each record, or -1."""
        return _among(self.cells, self.raster.index[self.raster.cell_of(xy)].astype(np.int64))


@dataclass(frozen=True, eq=False)
class ChosenPixels:
    """All pixels of some cells of a raster: each record is in one of them, or in none."""

    raster: Raster
    cells: Ints  # in order, chosen by noisy answers alone

    def __len__(self) -> int:
        return max(len(self.cells), 1) * self.raster.per_side**2

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the pixel of each record: those of the first chosen cell, then of the next; or -1."""
        column, row = self.raster.cell_of(xy)
        chosen = _among(self.cells, self.raster.index[column, row].astype(np.int64))
        pixel = self.raster.pixel_of(xy, column, row)
        return np.where(chosen >= 0, chosen * self.raster.per_side**2 + pixel, NOWHERE)


def _among(cells: Ints, found: Ints) -> Ints:
    """Return the place of each found cell in a list in order, or -1."""
    if not len(cells):
        return np.full(len(found), NOWHERE, dtype=np.int64)
    place = np.minimum(np.searchsorted(cells, found), len(cells) - 1)
    return np.where(cells[place] == found, place, NOWHERE)
