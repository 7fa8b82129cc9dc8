"""What the vault asks of an engine: exact counts, several of them in one reading of the records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from pointveil.cells.arrays import Floats, Ints, blocks
from pointveil.cells.coded import Codes
from pointveil.formats import Layout

VOTES = 64
"""What a point of a person counts for, so that votes can be shared in whole numbers."""
BLOCK = 1 << 16  # records at a time that cells are handed: the work stays in the processor's cache
TRIED_ALONE = 3  # records of each batch that are also looked up by themselves, for each question


class Places(Protocol):
    """Records in metres, (n, 2): an array, or what makes a part of one when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Floats: ...


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
    of_kept: bool = False  # whether, of persons, the points that are kept are counted, and not the votes

    def count(self, xy: Places, codes: Codes = (), votes: Ints | None = None) -> Ints:
        """Return how many of these records, (n, 2) metres, are in each cell, (size,); or how many votes they have."""
        return tally_cells(self.cells, xy, self.size, codes, votes)


class Engine(Protocol):
    """Reads, cleans and bounds real records wherever they are; what it returns is exact, for the vault alone.

    It answers from all records or raises, and never from a part of them; the same records give the same answers
    whatever their order is, and however the work is divided or repeated.
    """

    @property
    def gathers(self) -> bool:
        """Whether `points` may be asked for."""

    @property
    def layout(self) -> Layout:
        """The form of the input: format, column names, CRS. Nothing about its records."""

    @property
    def reads_again(self) -> bool:
        """Whether another question means another reading, so that several are best asked at once."""

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for, all from one reading.

        Where persons are protected, these are counts of votes: a person has VOTES for each point, and for no more than
        the points that one person may have; all of that person's points share them (`AtMost.votes`).
        """

    def persons(self, ends: Sequence[int]) -> Ints:
        """Return how many persons have so many clean points: bins end at `ends`, the last holds all others."""

    def use_at_most(self, points: int) -> None:
        """Let a person count as at most so many points from now on."""

    def digest(self) -> bytes:
        """Return a fingerprint of all coordinates, as the first reading found them; read now if there was none."""

    @property
    def alike(self) -> tuple[bytes, ...]:
        """Digests that copies of these places share, from that reading: in any CRS, with a few rows more or less."""

    def points(self) -> Iterator[Floats]:
        """Yield the clean points in batches (n, 2), in metres; of each person those that are kept."""

    def forget(self) -> None:
        """Drop all that is held of the records."""


@dataclass(frozen=True, eq=False)
class FoundBefore:
    """Cells that are handed, instead of codes, what was found of each record for an earlier question."""

    reads_codes: ClassVar[bool] = True
    cells: Any  # that have `found_by`

    def locate(self, xy: Floats, found: Codes) -> Any:
        """Return the cell of each record."""
        return self.cells.locate(xy, *found)


def tally_cells(cells: Any, xy: Places, size: int, codes: Codes = (), votes: Ints | None = None) -> Ints:
    """Return the exact number of points, or votes, in each cell; a point with no cell of its own counts nowhere."""
    if not getattr(cells, "reads_places", True):
        xy = np.broadcast_to(0.0, (len(xy), 2))  # as `Everywhere` says

    def known(some: Floats, coded: Codes) -> tuple[Ints]:
        found = one_each(located(cells, some, coded), len(some))
        # As a number without a sign, what is below zero is beyond all cells.
        return (np.minimum(found.astype(np.uint64, copy=False), size).view(np.int64),)

    (cell,) = tried_alone(known, xy, codes)
    counts = np.bincount(cell, votes, minlength=size + 1)[:size]
    return counts.astype(np.int64, copy=False)  # sums of votes are floats, and exact below 2^53


def tried_alone(locate: Callable[[Floats, Codes], Sequence[Any]], xy: Places, codes: Codes = ()) -> tuple[Ints, ...]:
    """Return what `locate` says of all records; a few, looked up by themselves, must be where they were among all."""

    def told(part: slice) -> Sequence[Ints]:
        return [
            one_each(each, part.stop - part.start) for each in locate(xy[part], tuple(each[part] for each in codes))
        ]

    found: list[Ints] = []
    for part in blocks(len(xy), BLOCK) if len(xy) else [slice(0, 0)]:
        here = told(part)
        found = found or [np.empty(len(xy), each.dtype) for each in here]  # of one size: memory is used again
        for number, some in enumerate(here):
            if some.dtype != found[number].dtype:  # what the type of one block cannot hold must not change another's
                found[number] = found[number].astype(np.int64)
            found[number][part] = some
    for place in range(min(TRIED_ALONE, len(xy))):
        alone = slice(place, place + 1)
        if any((one != all_[alone]).any() for one, all_ in zip(told(alone), found, strict=True)):
            raise NotOneByOneError("locate must look at each point by itself: its neighbours changed its cell.")
    return tuple(found)


def located(cells: Any, xy: Floats, codes: Codes) -> Any:
    """Ask cells where records are; only those that say so are handed the codes."""
    return cells.locate(xy, codes) if getattr(cells, "reads_codes", False) else cells.locate(xy)


def one_each(cells: Any, count: int) -> Ints:
    """Return the cell of each point; refuse cells that would count a point twice, as one that lies on a border."""
    found: Ints = np.asarray(cells)
    if found.shape != (count,) or (count and found.dtype.kind not in "iu"):
        raise NotOneByOneError("locate must return exactly one cell, a whole number, for each point.")
    return found


def locate_sites(engine: Engine, regions: Any, counts: Ints) -> tuple[Ints, Ints]:
    """Return the region and the site of every point that has one; exact, so it must not leave."""
    found = [tried_alone(lambda some, _: regions.locate_sites(some), xy) for xy in engine.points()]
    region = np.concatenate([np.zeros(0, dtype=np.int64), *(pair[0] for pair in found)])
    site = np.concatenate([np.zeros(0, dtype=np.int64), *(pair[1] for pair in found)])
    known = (region >= 0) & (region < len(counts))
    known[known] = (site[known] >= 0) & (site[known] < counts[region[known]])
    return region[known], site[known]
