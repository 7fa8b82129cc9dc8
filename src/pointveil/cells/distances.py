"""Cells by distance to the nearest road."""

from dataclasses import dataclass

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.raster import Raster


@dataclass(frozen=True, eq=False)
class Distances:
    """Cells by distance to the nearest road, told by the pixel that holds a record.

    Parameters
    ----------
    raster
        Whose pixels they are.
    """

    raster: Raster

    def __len__(self) -> int:
        return self.raster.bins

    def locate(self, xy: Floats) -> Ints:
        """Return the one bin of each record, or -1."""
        return self.raster.bin_of(xy)
