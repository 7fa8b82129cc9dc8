"""How finely the coordinates of a file are rounded: a question that costs nothing beside the total."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.plane import Plane

COARSER = (10**5, 10**4, 10**3)  # lattice steps: two, three and four decimals of a degree; 1 km, 100 m and 10 m


@dataclass(frozen=True)
class Precision:
    """Cells by how coarsely coordinates are rounded; the last is for all that are not. Their sum is the total."""

    plane: Plane  # the world's

    def __len__(self) -> int:
        return len(COARSER) + 1

    def locate(self, xy: Floats) -> Ints:
        """Return the coarsest rounding that both coordinates of each record fit."""
        found = np.full(len(xy), len(COARSER), dtype=np.int64)
        with np.errstate(all="ignore"):
            x, y = (self.plane.lattice_numbers(xy[:, axis], axis) for axis in (0, 1))
        fitting = np.flatnonzero(np.isfinite(xy).all(axis=1))
        for number in reversed(range(len(COARSER))):  # what fits a coarser rounding fits all finer ones
            steps = COARSER[number]
            fitting = fitting[(x[fitting] % steps == 0) & (y[fitting] % steps == 0)]
            found[fitting] = number
        return found
