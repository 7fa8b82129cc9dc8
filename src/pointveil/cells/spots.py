"""Small places: squares of a few metres, and single cells and pixels of a raster."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints
from pointveil.cells.raster import Distances, Raster

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
        known, number = np.ones(len(xy), dtype=bool), np.zeros(len(xy), dtype=np.int64)
        with np.errstate(invalid="ignore"):
            for axis, factor in enumerate((73_856_093, 19_349_663)):
                known &= np.abs(xy[:, axis]) < FARTHEST
                number += np.floor(xy[:, axis] / SMALL).astype(np.int64) * factor
        return np.where(known, number % NUMBERS, NOWHERE)

    @property
    def key(self) -> Hashable:
        """What tells them from other cells."""
        return SmallSquares


@dataclass(frozen=True, eq=False)
class Squares:
    """All cells of a raster, with land or without: the finest that leaves are made of, so that one count serves all."""

    raster: Raster

    def __len__(self) -> int:
        return self.raster.shape[0] * self.raster.shape[1]

    def locate(self, xy: Floats) -> Ints:
        """Return the one cell of each record; one beyond the edge takes the cell at the edge."""
        return self.raster.square_of(xy)

    @property
    def key(self) -> Hashable:
        """What tells them from other cells."""
        return Squares, self.raster

    @property
    def beside(self) -> tuple[Any, ...]:
        """What is mostly asked of the same raster."""
        return Distances(self.raster), SmallSquares()


@dataclass(frozen=True, eq=False)
class ChosenCells:
    """Some cells of a raster: each record is in one of them, or in none."""

    raster: Raster
    cells: Ints  # in order, chosen by noisy answers alone

    def __len__(self) -> int:
        return max(len(self.cells), 1)

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the chosen cell of each record, or -1."""
        return _among(self.cells, self.raster.index.ravel().take(self.raster.square_of(xy)).astype(np.int64))

    @property
    def base(self) -> Squares:
        """The cells of the raster, some of which are chosen."""
        return Squares(self.raster)

    @property
    def of_base(self) -> Ints:
        """The number of each cell of the raster among those that are chosen, or -1."""
        return _among(self.cells, self.raster.index.ravel().astype(np.int64))


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
