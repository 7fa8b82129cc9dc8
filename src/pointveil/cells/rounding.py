"""How finely the coordinates of a file are rounded: a question that costs nothing beside the total."""

from dataclasses import dataclass

import numpy as np
import pyproj

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.plane import Plane

COARSER = (10**5, 10**4, 10**3)  # lattice steps: two, three and four decimals of a degree; 1 km, 100 m and 10 m
SLACK = 20.0  # lattice steps by which what was rounded may be off, once it has been in another CRS


@dataclass(frozen=True)
class Ruler:
    """A CRS in which records may have been rounded."""

    coarser: tuple[int, ...]  # the roundings, in lattice steps of this CRS, the coarsest first
    steps_per_unit: int
    transformer: pyproj.Transformer | None = None  # from the world's CRS; None if that is this one
    slack: float = 0.0  # lattice steps

    def measure(self, coordinates: Floats) -> Floats:
        """Return coordinates of the world's CRS, (n, 2), in lattice steps of this one."""
        if self.transformer is not None:
            # Older versions of pyproj take arrays of one for numbers, with a warning: so one is never alone.
            x, y = (np.append(axis, axis[:1]) for axis in coordinates.T)
            coordinates = np.column_stack(self.transformer.transform(x, y, errcheck=False))[: len(coordinates)]
        steps = coordinates * self.steps_per_unit
        return steps if self.slack else np.rint(steps)


@dataclass(frozen=True)
class Precision:
    """Cells by how coarsely coordinates are rounded, and in which CRS; the last is for all that are not.

    Their sum is the total.
    """

    plane: Plane  # the world's
    rulers: tuple[Ruler, ...]

    def __len__(self) -> int:
        return sum(len(ruler.coarser) for ruler in self.rulers) + 1

    def locate(self, xy: Floats) -> Ints:
        """Return the coarsest rounding that both coordinates of each record fit, in the first CRS that has one."""
        number = len(self) - 1
        found = np.full(len(xy), number, dtype=np.int64)
        with np.errstate(all="ignore"):
            coordinates = self.plane.to_units(xy)
            for ruler in reversed(self.rulers):
                steps, fit = ruler.measure(coordinates), np.arange(len(xy))
                for rounding in reversed(ruler.coarser):  # what fits a coarser one fits all finer ones
                    number -= 1
                    off = np.abs(steps - np.rint(steps / rounding) * rounding)
                    fits = (off[:, 0] <= ruler.slack) & (off[:, 1] <= ruler.slack)
                    steps, fit = steps[fits], fit[fits]
                    found[fit] = number
        return found
