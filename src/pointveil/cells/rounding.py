"""How finely the coordinates of a file are rounded: a question that costs nothing beside the total."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.world.projection import Projection

COARSER = (10**5, 10**4, 10**3)
"""Lattice steps between rounded coordinates: two, three and four decimals of a degree; 1 km, 100 m and 10 m."""


@dataclass(frozen=True)
class Precision:
    """Cells by how coarsely coordinates are rounded; the last is for all that are not. Their sum is the total.

    Parameters
    ----------
    projection
        The world's, which knows the public lattice.
    """

    projection: Projection

    def __len__(self) -> int:
        return len(COARSER) + 1

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the coarsest rounding that both coordinates of each point fit."""
        found = np.full(len(xy), len(COARSER), dtype=np.int64)
        steps = [self._steps(xy[:, axis], axis) for axis in (0, 1)]
        for number in reversed(range(len(COARSER))):
            fits = (steps[0] % COARSER[number] == 0) & (steps[1] % COARSER[number] == 0)
            found[fits] = number
        return found

    def _steps(self, metres: NDArray[np.float64], axis: int) -> NDArray[np.int64]:
        unit = metres / self.projection.metres_per_unit[axis] + self.projection.origin[axis]
        return np.rint(unit * self.projection.steps_per_unit).astype(np.int64)
