"""A coarse grid whose cells are cut into finer grids of their own."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import NOWHERE, Floats, Ints, blocks
from pointveil.cells.grid import Grid
from pointveil.errors import InputError


@dataclass(frozen=True, eq=False)
class NestedGrid:
    """Cells within cells: cell i of a coarse grid is cut into sides[i] by sides[i] equal parts.

    The parts of coarse cell 0 come first, row by row from its south-west; then those of cell 1; and so on. A part
    holds its west and south edges and not its east and north ones: a record is in one part or nowhere.
    """

    coarse: Grid
    sides: Ints  # (coarse cells,), at least 1

    def __post_init__(self) -> None:
        if len(self.sides) != len(self.coarse) or not (np.asarray(self.sides) >= 1).all():
            raise InputError(f"A nested grid needs one side of at least 1 for each of {len(self.coarse)} coarse cells.")

    def __len__(self) -> int:
        return int(self.first[-1])

    @cached_property
    def first(self) -> Ints:
        """The number of the first part of each coarse cell, and the number of all parts."""
        return np.concatenate([[0], np.cumsum(np.square(self.sides.astype(np.int64)))])

    @cached_property
    def owner(self) -> Ints:
        """The coarse cell that each part belongs to."""
        return np.repeat(np.arange(len(self.coarse)), np.diff(self.first))

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the part that holds each record, and -1 for a record in none; silent always."""
        xy = np.asarray(xy, dtype=np.float64)
        found = np.empty(len(xy), dtype=np.int64)
        with np.errstate(all="ignore"):
            for block in blocks(len(xy)):
                cell = self.coarse.locate(xy[block])
                known = np.where(cell == NOWHERE, 0, cell)
                column, row = (self._along(xy[block, axis], known, axis) for axis in (0, 1))
                found[block] = np.where(cell == NOWHERE, cell, self.first[known] + row * self.sides[known] + column)
        return found

    def rectangles(self, which: NDArray[Any] | None = None) -> Floats:
        """Return west, south, east and north of each part, or of these."""
        number = np.arange(len(self)) if which is None else which
        owner = self.owner[number]
        row, column = np.divmod(number - self.first[owner], self.sides[owner])
        west, south = self._edge(owner, column, 0), self._edge(owner, row, 1)
        east, north = self._edge(owner, column + 1, 0), self._edge(owner, row + 1, 1)
        return np.column_stack([west, south, east, north])

    def polygons(self, which: Ints) -> NDArray[Any]:
        """Return these parts as polygons."""
        return np.asarray(shapely.box(*self.rectangles(which).T))

    def _along(self, values: Floats, cell: Ints, axis: int) -> Ints:
        """Return the column (axis 0) or row (axis 1) of the part within its coarse cell."""
        side, (low, high) = self.sides[cell], self._ends(cell, axis)
        guess = np.fmin(np.fmax((values - low) / (high - low) * side, 0), side - 1).astype(np.int64)
        # The quotient may be off by a rounding, so the edges themselves decide.
        guess -= (values < self._edge(cell, guess, axis)) & (guess > 0)
        guess += (values >= self._edge(cell, guess + 1, axis)) & (guess < side - 1)
        return guess

    def _edge(self, cell: Ints, number: Ints, axis: int) -> Floats:
        """Return where part `number` begins: exactly the coarse cell's own edge for the first and after the last."""
        side, (low, high) = self.sides[cell], self._ends(cell, axis)
        return np.where(number == side, high, low + number * ((high - low) / side))

    def _ends(self, cell: Ints, axis: int) -> tuple[Floats, Floats]:
        row, column = np.divmod(cell, self.coarse.columns)
        place, edges = (column, row)[axis], self.coarse.edges[axis]
        return edges[place], edges[place + 1]
