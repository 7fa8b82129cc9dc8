"""Clean records one by one: a bad record is dropped, and nobody is told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyproj

from pointveil.cells.arrays import Bools, Floats, ShortInts, blocks
from pointveil.cells.land import LandTest, PlainBox
from pointveil.cells.plane import Plane
from pointveil.files.crs import same_crs
from pointveil.world import World


@dataclass(frozen=True)
class Cleaner:
    """Puts each record on the public lattice, or says that it is not good.

    It looks at each record alone, never raises, never logs: NaN, infinite, unparsable, outside the boundary and
    in water are all just "not good". So adding one record changes the clean points by at most that one.

    Parameters
    ----------
    plane
        Brings records to metres and to the lattice.
    land
        Says which records lie on land, within the boundary.
    transformer
        Brings records to the world's CRS; None if they are given in it.
    """

    plane: Plane
    land: LandTest | PlainBox
    transformer: pyproj.Transformer | None = None

    @classmethod
    def of(cls, world: World, crs: str) -> Cleaner:
        """Return what cleans records in this CRS for this world."""
        return cls(world.projection.plane, world.land_test, _transformer(crs, world.projection.crs))

    def clean(self, coordinates: Floats) -> tuple[ShortInts, Bools]:
        """Return how many lattice steps each record lies from the world's corner, and which records are good."""
        steps = np.zeros((len(coordinates), 2), dtype=np.int32)
        good = np.zeros(len(coordinates), dtype=bool)
        for block in blocks(len(coordinates)):
            steps[block], good[block] = self.plane.to_steps(self._transformed(coordinates[block]))
            good[block] &= self.land.holds(self.to_metres(steps[block]))
        return steps, good

    def to_metres(self, steps: ShortInts) -> Floats:
        """Return lattice steps as metres."""
        return self.plane.from_steps(steps)

    def _transformed(self, coordinates: Floats) -> Floats:
        """Bring records to the world's CRS; what cannot be transformed becomes infinite."""
        if self.transformer is None:
            return coordinates
        return np.column_stack(self.transformer.transform(coordinates[:, 0], coordinates[:, 1], errcheck=False))


def _transformer(source: str, target: str) -> pyproj.Transformer | None:
    if same_crs(source, target):
        return None
    return pyproj.Transformer.from_crs(source, target, always_xy=True)
