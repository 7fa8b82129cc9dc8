"""What the vault asks of an engine: exact counts, several of them in one reading of the records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pointveil.cells.arrays import Floats, Ints
from pointveil.cells.coded import Codes
from pointveil.formats import Layout

TRIED_ALONE = 3  # records of each batch that are also looked up by themselves, for each question


class NotOneByOneError(TypeError):
    """Cells or sites do not look at each point by itself; a fault of their code."""


@dataclass(frozen=True, eq=False)
class Tally:
    """A question to all records: how many are in each of these cells.

    It holds nothing but public cells and can be pickled, so that it can go where the records are. Answers of parts of
    the records add up to that of all of them, in any order.
    """

    cells: Any  # of the vault's `Cells`
    size: int  # of the answer: as many cells as there are

    def count(self, xy: Floats, codes: Codes = ()) -> Ints:
        """Return how many of these records, (n, 2) metres, are in each cell, (size,)."""
        return tally_cells(self.cells, xy, self.size, codes)


class Engine(Protocol):
    """Reads, cleans and bounds real records wherever they are; what it returns is exact, for the vault alone.

    It answers from all records or raises, and never from a part of them; the same records give the same answers
    whatever their order is, and however the work is divided or repeated.
    """

    @property
    def layout(self) -> Layout:
        """The form of the input: format, column names, CRS. Nothing about its records."""

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for, all from one reading."""

    def digest(self) -> bytes:
        """Return a fingerprint of all coordinates, as the first reading found them; read now if there was none."""

    def points(self) -> Iterator[Floats]:
        """Yield the clean, bounded points in batches (n, 2), in metres."""

    def forget(self) -> None:
        """Drop all that is held of the records."""


def tally_cells(cells: Any, xy: Floats, size: int, codes: Codes = ()) -> Ints:
    """Return the exact number of points in each cell; a point with no cell of its own is counted nowhere."""
    (found,) = tried_alone(lambda some, coded: (located(cells, some, coded),), xy, codes)
    nowhere = (found < 0) | (found >= size)
    return np.bincount(np.where(nowhere, size, found), minlength=size + 1)[:size]


def tried_alone(locate: Callable[[Floats, Codes], Sequence[Any]], xy: Floats, codes: Codes = ()) -> tuple[Ints, ...]:
    """Return what `locate` says of all records; a few, looked up by themselves, must be where they were among all."""
    found = tuple(one_each(part, xy) for part in locate(xy, codes))
    for place in range(min(TRIED_ALONE, len(xy))):
        only = slice(place, place + 1)
        alone = locate(xy[only], tuple(each[only] for each in codes))
        if any(one_each(own, xy[only])[0] != part[place] for part, own in zip(found, alone, strict=True)):
            raise NotOneByOneError("locate must look at each point by itself: its neighbours changed its cell.")
    return found


def located(cells: Any, xy: Floats, codes: Codes) -> Any:
    """Ask cells where records are; only those that say so are handed the codes."""
    return cells.locate(xy, codes) if getattr(cells, "reads_codes", False) else cells.locate(xy)


def one_each(cells: Any, xy: Floats) -> Ints:
    """Return the cell of each point; refuse cells that would count a point twice, as one that lies on a border."""
    found: Ints = np.asarray(cells)
    if found.shape != (len(xy),) or (len(xy) and found.dtype.kind not in "iu"):
        raise NotOneByOneError("locate must return exactly one cell, a whole number, for each point.")
    return found
