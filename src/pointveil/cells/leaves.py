"""Squares of many sizes over the cells of a raster: large where little happens, small where much does."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Floats, Ints, ShortInts
from pointveil.cells.raster import Raster
from pointveil.cells.spots import Squares


@dataclass(frozen=True, eq=False)
class Leaves:
    """Square groups of 2**level by 2**level cells, numbered along the Hilbert curve; blocks are leaves of one size."""

    raster: Raster
    leaf_at: ShortInts  # (columns, rows), -1 where there is no land
    level: Ints  # (leaves,)
    column: Ints  # (leaves,): of the south-west cell
    row: Ints  # (leaves,): of the south-west cell
    leaf_of: ShortInts  # (cells with land,)

    def __len__(self) -> int:
        return max(len(self.level), 1)

    def locate(self, xy: Floats) -> Ints:
        """Return the one leaf of each record, or -1."""
        return self.of_base.take(self.raster.square_of(xy)).astype(np.int64)

    @property
    def base(self) -> Squares:
        """The cells of the raster, each of which is wholly in one leaf or in none."""
        return Squares(self.raster)

    @property
    def of_base(self) -> ShortInts:
        """The leaf of each cell of the raster, or -1."""
        return self.leaf_at.ravel()

    def sum(self, cell_values: Floats) -> Floats:
        """Return the sum over each leaf's cells."""
        return np.bincount(self.leaf_of, cell_values, len(self)).astype(np.float64)

    @property
    def cells(self) -> Floats:
        """How many cells each leaf covers."""
        return np.asarray(4.0**self.level)
