"""Where a record lies: in metres, and on the public lattice."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells.arrays import Bools, Floats, ShortInts, blocks

FARTHEST = 2**31 - 1  # lattice steps from the world's corner: what a 32-bit integer holds


@dataclass(frozen=True)
class Plane:
    """A straight scaling from the world's CRS to metres, and the lattice that records are rounded to.

    Each record is treated by itself, in silence, whatever its values are.
    """

    origin: tuple[float, float]  # where (0, 0) lies, in the units of the CRS
    metres_per_unit: tuple[float, float]  # the length of one unit along x and along y
    steps_per_unit: int  # lattice points along one unit of the CRS
    in_degrees: bool  # whether coordinates are longitude and latitude
    middle: float | None = None  # across the antimeridian, the longitude half a turn away from the cut

    def to_metres(self, coordinates: Floats) -> Floats:
        """Bring coordinates of the CRS, (n, 2), to metres."""
        coordinates = np.asarray(coordinates, dtype=np.float64)
        xy = np.empty_like(coordinates)  # one axis after the other, if they are given so: that is faster
        with np.errstate(all="ignore"):
            for axis in range(2):
                column = coordinates[:, axis]
                if axis == 0 and self.middle is not None:
                    column = unwrap(column, self.middle)
                np.subtract(column, self.origin[axis], out=xy[:, axis])
                xy[:, axis] *= self.metres_per_unit[axis]
        return xy

    def to_steps(self, coordinates: Floats) -> tuple[ShortInts, Bools]:
        """Return how many lattice steps each record lies from the world's corner, and which records have a place."""
        steps = np.empty(coordinates.shape, dtype=np.int32)
        good = np.ones(len(coordinates), dtype=bool)
        with np.errstate(all="ignore"):
            # By way of metres, because that brings a world across the antimeridian into one piece.
            metres = self.to_metres(coordinates)
            for axis in range(2):
                units = metres[:, axis] / self.metres_per_unit[axis]
                units += self.origin[axis]
                units *= self.steps_per_unit
                np.rint(units, out=units)
                units -= self._corner[axis]
                good &= np.abs(units) < FARTHEST
                if self.in_degrees:
                    good &= np.abs(coordinates[:, axis]) <= (180, 90)[axis]
                steps[:, axis] = units
        if not good.all():
            steps[~good] = 0
        return steps, good

    def from_steps(self, steps: ShortInts) -> Floats:
        """Return lattice steps from the world's corner as metres."""
        metres = np.empty((2, len(steps)))  # one axis after the other: what reads them mostly does so, too
        for part in blocks(len(steps)):
            for axis in range(2):
                units = metres[axis, part]
                np.add(steps[part, axis], self._corner[axis], out=units)
                units /= self.steps_per_unit
                units -= self.origin[axis]
                units *= self.metres_per_unit[axis]
        return metres.T

    def to_units(self, metres: Floats) -> Floats:
        """Return metres, (n, 2), as coordinates of the CRS; across the antimeridian in one piece."""
        return np.asarray(metres / self.metres_per_unit + self.origin, dtype=np.float64)

    @property
    def _corner(self) -> Floats:
        """The lattice point next to the world's corner, in whole steps from zero."""
        return np.asarray(np.rint(np.array(self.origin) * self.steps_per_unit), dtype=np.float64)


def unwrap(longitude: Floats, middle: float) -> Floats:
    """Return longitudes within half a turn of the middle: the cut lies opposite, so nothing near is torn apart."""
    lowest = middle - 180
    moved = longitude + np.where(longitude < lowest, 360.0, 0.0)
    return np.where(moved >= lowest + 360, moved - 360, moved)
