"""A grid of equal cells that can say which cell holds a record."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import NOWHERE, Bounds, Floats, Ints, blocks, within
from pointveil.errors import InputError

MOST_CELLS = 1 << 40


@dataclass(frozen=True)
class Grid:
    """Equal cells over a box, numbered row by row from the south-west.

    A cell holds its west and south edges and not its east and north ones: a record is in one cell or nowhere.
    """

    bounds: Bounds  # metres
    columns: int  # cells side by side from west to east
    rows: int  # cells side by side from south to north

    def __post_init__(self) -> None:
        west, south, east, north = self.bounds
        if not (np.isfinite(self.bounds).all() and west < east and south < north):
            raise InputError(f"A grid needs west < east and south < north, not {self.bounds}.")
        if self.columns < 1 or self.rows < 1 or self.columns * self.rows > MOST_CELLS:
            raise InputError(f"A grid has one to {MOST_CELLS:,} cells, not {self.columns} columns of {self.rows} rows.")

    def __len__(self) -> int:
        return self.columns * self.rows

    @property
    def cell_size(self) -> tuple[float, float]:
        """Width and height of a cell, in metres."""
        west, south, east, north = self.bounds
        return (east - west) / self.columns, (north - south) / self.rows

    @cached_property
    def edges(self) -> tuple[Floats, Floats]:
        """Where the cells end: columns + 1 values of x and rows + 1 values of y."""
        west, south, east, north = self.bounds
        return np.linspace(west, east, self.columns + 1), np.linspace(south, north, self.rows + 1)

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the cell that holds each record, and -1 for a record in none; silent always."""
        xy = np.asarray(xy, dtype=np.float64)
        cells = np.empty(len(xy), dtype=np.int64)
        with np.errstate(all="ignore"):
            for block in blocks(len(xy)):
                x, y = (np.ascontiguousarray(xy[block, axis]) for axis in range(2))
                cell = _interval(y, self.edges[1])
                cell *= self.columns
                cell += _interval(x, self.edges[0])
                cell -= NOWHERE
                cell *= within(self.bounds, x, y)
                cell += NOWHERE
                cells[block] = cell
        return cells

    def lower_corners(self) -> Floats:
        """Return the south-west corner of each cell."""
        return self.rectangles()[:, :2]

    def rectangles(self, which: NDArray[Any] | None = None) -> Floats:
        """Return west, south, east and north of each cell, or of these."""
        number, (across, along) = np.arange(len(self)) if which is None else which, self.edges
        row = number // self.columns
        column = number - row * self.columns  # far faster than divmod
        found = np.empty((4, len(number)))  # one side after the other: what reads them does so, too
        for place, (edges, at) in enumerate(((across, column), (along, row), (across, column + 1), (along, row + 1))):
            edges.take(at, out=found[place], mode="clip")
        return found.T

    def polygons(self, which: Ints) -> NDArray[Any]:
        """Return these cells as polygons."""
        return np.asarray(shapely.box(*self.rectangles(which).T))


def _interval(values: Floats, edges: Floats) -> Ints:
    """Return the number of the interval that holds each value, and any number for a value in none."""
    count = len(edges) - 1
    guess = values - edges[0]
    guess *= count / (edges[-1] - edges[0])
    # Unlike maximum and minimum these two take NaN to a number.
    np.fmax(guess, 0, out=guess)
    np.fmin(guess, count - 1, out=guess)
    index: Ints = guess.astype(np.int64)
    # The product may be off by a rounding, so the edges themselves decide.
    index -= values < edges.take(index, mode="clip")
    index += values >= edges.take(index + 1, mode="clip")
    return index
