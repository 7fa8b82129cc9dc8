"""Squares of many sizes over the cells of a raster: large where little happens, small where much does."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Floats, Ints, ShortInts
from pointveil.cells.raster import Raster


@dataclass(frozen=True, eq=False)
class Leaves:
    """Square groups of 2**level by 2**level cells, numbered along the Hilbert curve; blocks are leaves of one size.

    Parameters
    ----------
    raster
        The cells.
    leaf_at
        The leaf at each column and row, -1 where there is no land.
    level
        The size of each leaf.
    column, row
        The south-west cell of each leaf.
    leaf_of
        The leaf of each cell that has land.
    """

    raster: Raster
    leaf_at: ShortInts
    level: Ints
    column: Ints
    row: Ints
    leaf_of: ShortInts

    def __len__(self) -> int:
        return max(len(self.level), 1)

    def locate(self, xy: Floats) -> Ints:
        """Return the one leaf of each record, or -1."""
        return self.leaf_at[self.raster.cell_of(xy)].astype(np.int64)

    def sum(self, cell_values: Floats) -> Floats:
        """Return the sum over each leaf's cells."""
        return np.bincount(self.leaf_of, cell_values, len(self)).astype(np.float64)

    @property
    def cells(self) -> Floats:
        """How many cells each leaf covers."""
        return np.asarray(4.0**self.level)
