"""What regions are: cells that can also say what they look like."""

from typing import Any, Protocol

from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints


class Regions(Protocol):
    """Numbered regions that can say which of them holds a record, and what they look like."""

    def __len__(self) -> int: ...

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the one region that holds each record, or -1 for nowhere."""

    def polygons(self, which: Ints) -> NDArray[Any]:
        """Return the outlines of these regions, not clipped to land."""

    def rectangles(self, which: NDArray[Any] | None = None) -> Floats | None:
        """Return west, south, east, north of every region, or of these, if all are rectangles; else None."""
