"""Clean records one by one: a bad record is dropped, and nobody is told."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.files.crs import transform
from pointveil.world import World

BLOCK = 2**16  # records at a time: the work stays in the processor's cache
FARTHEST = 2**31 - 1

Coordinates = NDArray[np.float64]
Steps = NDArray[np.int32]


@dataclass(frozen=True)
class Cleaner:
    """Puts each record on the public lattice, or says that it is not good.

    It looks at each record alone, never raises, never logs: NaN, infinite, unparsable, outside the boundary and
    in water are all just "not good". So adding one record changes the clean points by at most that one.

    Parameters
    ----------
    world
        The boundary and the water.
    crs
        The coordinate system of the records.
    """

    world: World
    crs: str

    def clean(self, coordinates: Coordinates) -> tuple[Steps, NDArray[np.bool_]]:
        """Return how many lattice steps each record lies from the world's corner, and which records are good."""
        to_world = transform(self.crs, self.world.projection.crs)
        steps = np.zeros((len(coordinates), 2), dtype=np.int32)
        good = np.zeros(len(coordinates), dtype=bool)
        for start in range(0, len(coordinates), BLOCK):
            block = slice(start, start + BLOCK)
            steps[block], good[block] = self._clean_block(to_world(coordinates[block]))
        return steps, good

    def to_metres(self, steps: Steps) -> Coordinates:
        """Return lattice steps as metres."""
        units = (steps + self._corner) / self._per_unit
        return np.asarray((units - self._origin) * self._metres, dtype=np.float64)

    def _clean_block(self, outside: Coordinates) -> tuple[Steps, NDArray[np.bool_]]:
        with np.errstate(all="ignore"):
            # By way of metres, because that brings a world across the antimeridian into one piece.
            steps = self.world.projection.to_metres(outside) / self._metres + self._origin
            steps = np.rint(steps * self._per_unit) - self._corner
            good = (np.abs(steps[:, 0]) < FARTHEST) & (np.abs(steps[:, 1]) < FARTHEST)
            if self.world.projection.is_geographic:
                good &= (np.abs(outside[:, 0]) <= 180) & (np.abs(outside[:, 1]) <= 90)
            steps[~good] = 0
            whole = steps.astype(np.int32)
            good &= self.world.on_land(self.to_metres(whole))
        return whole, good

    @property
    def _per_unit(self) -> int:
        return self.world.projection.steps_per_unit

    @property
    def _origin(self) -> Coordinates:
        return np.array(self.world.projection.origin)

    @property
    def _metres(self) -> Coordinates:
        return np.array(self.world.projection.metres_per_unit)

    @property
    def _corner(self) -> Coordinates:
        """The lattice point next to the world's corner, in whole steps from zero."""
        return np.rint(self._origin * self._per_unit)
