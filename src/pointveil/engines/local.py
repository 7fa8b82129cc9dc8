"""Exact sums over a file or frame on this machine, batch by batch."""

import hashlib
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints, ShortInts, blocks
from pointveil.cells.coded import Codes
from pointveil.cells.side_by_side import side_by_side
from pointveil.engines.at_most import AtMost, Part
from pointveil.engines.base import VOTES, FoundBefore, Places, Tally, tried_alone
from pointveil.engines.likeness import Likeness, mix
from pointveil.engines.siphash import Numbers
from pointveil.engines.spool import Spool
from pointveil.files.memory import return_memory
from pointveil.formats import Batch, DamagedError, Layout, PointSource

KEEP_AT_MOST = 2**24
"""Points that are kept in memory; a larger file is read again for every question."""


class Records(NamedTuple):
    """Clean records: lattice steps (n, 2), and one array (n,) of codes for each kept column."""

    steps: ShortInts
    codes: Codes

    def only(self, rows: Bools) -> "Records":
        """Return some of the records."""
        steps = np.ascontiguousarray(self.steps).view(np.uint64)[
            rows[:, np.newaxis]
        ]  # both at once: three times as fast
        return Records(steps.view(np.int32).reshape(-1, 2), tuple(each[rows] for each in self.codes))


@dataclass(frozen=True, eq=False, repr=False)
class Voted:
    """Records, and the votes of each (n,), if they do not count as one each."""

    records: Records
    votes: Ints | None = None
    found: dict[Any, Codes] = field(default_factory=dict)  # what the last search found of each, held with the records

    def count(self, tally: Tally, xy: Places) -> Ints:
        """Return the counts that a tally asks for; what cells search for is searched for once for all questions."""
        search = getattr(tally.cells, "found_by", None)
        if search is None:
            return tally.count(xy, self.records.codes, self.votes)
        found = self.found.get(search)  # by this name to the end: another thread may drop what is held
        if found is None:
            found = tried_alone(lambda some, _: (search.find(some),), xy)
            self.found.clear()
            self.found[search] = found
        return replace(tally, cells=FoundBefore(tally.cells)).count(xy, found, self.votes)


class Cleaning(Protocol):
    """Turns records into points, each by itself."""

    def clean(self, coordinates: Floats) -> tuple[ShortInts, Bools]:
        """Return lattice steps, and which records are good."""
        ...

    def to_metres(self, steps: ShortInts) -> Floats:
        """Return lattice steps as metres."""
        ...


@dataclass(frozen=True)
class InMetres:
    """Lattice steps (n, 2) as metres, some at a time: together they would take twice the memory, for every thread."""

    steps: ShortInts
    cleaning: Cleaning

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, part: slice, /) -> Floats:
        return self.cleaning.to_metres(self.steps[part])


@dataclass
class LocalEngine:
    """Reads the points, cleans them one by one, bounds them per person, and sums over them.

    Parameters
    ----------
    source
        Where the records come from; may be read many times.
    cleaning
        Puts records on the public lattice and says which are good, each by itself.
    at_most
        Bounds what one person counts for, if persons are protected.
    codes
        How many codes each kept column has; a record with a higher one is dropped.
    threads
        How many batches are worked on at the same time. No answer depends on it.
    """

    gathers: ClassVar[bool] = True
    source: PointSource
    cleaning: Cleaning
    at_most: AtMost | None = None
    codes: tuple[int, ...] = ()
    threads: int = 1
    _kept: list[Voted | Part] | None = field(default=None, repr=False)
    _shared: dict[bool, list[Voted]] = field(default_factory=dict, repr=False)
    alike: tuple[bytes, ...] = field(default=(), init=False, repr=False)  # digests that copies share, once it was read
    _digest: bytes | None = field(default=None, repr=False)
    _sums: NDArray[np.uint64] | None = field(default=None, repr=False)
    _stamp: object = field(default=None, repr=False)
    _spool: Spool | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def layout(self) -> Layout:
        """The form of the input: format, column names, CRS."""
        return self.source.layout

    @property
    def reads_again(self) -> bool:
        """Whether another question means another reading: whether there are more records than are kept in memory."""
        return self._kept is None

    def sums(self, tallies: Sequence[Tally]) -> list[Ints]:
        """Return the counts that each tally asks for, all from one reading."""
        totals, adding = [np.zeros(tally.size, dtype=np.int64) for tally in tallies], threading.Lock()
        for of_kept in sorted({tally.of_kept for tally in tallies}):
            chosen = [number for number, tally in enumerate(tallies) if tally.of_kept == of_kept]

            def count(one: Voted, chosen: list[int] = chosen) -> None:
                xy = InMetres(one.records.steps, self.cleaning)
                for number in chosen:
                    part = one.count(tallies[number], xy)
                    with adding:  # at once, because counts may be long; whole numbers add up in any order
                        np.add(totals[number], part, out=totals[number])

            with closing(side_by_side(count, self._voted(of_kept=of_kept), self.threads)) as counted:
                for _ in counted:
                    pass
        return_memory()  # that batches took
        return totals

    def persons(self, ends: Sequence[int]) -> Ints:
        """Return how many persons have so many clean points: bins end at `ends`, the last holds all others."""
        found = np.zeros(len(ends), dtype=np.int64)
        with closing(self._records()) as pieces:
            for part in pieces:
                found += part.persons(ends) if isinstance(part, Part) else 0
        return found

    def use_at_most(self, points: int) -> None:
        """Let a person count as at most so many points from now on."""
        if self.at_most is not None and self.at_most.limit != points:
            self.at_most.limit = points
            self._shared.clear()

    def points(self) -> Iterator[Floats]:
        """Yield the clean points in batches; of each person those that are kept."""
        return (self.cleaning.to_metres(one.records.steps) for one in self._voted(of_kept=True))

    def _voted(self, *, of_kept: bool) -> Iterator[Voted]:
        """Yield records with their votes if persons are protected; or, of each person, the records that are kept."""
        if of_kept in self._shared:
            yield from self._shared[of_kept]
            return
        found: list[Voted] = []
        for piece in self._records():
            one = self._voted_in(piece, of_kept=of_kept) if isinstance(piece, Part) else piece
            if isinstance(piece, Part) and self._kept is not None:
                found.append(one)
            yield one
        if found:  # the persons are held in memory, so their votes may be, too
            self._shared[of_kept] = found

    def _voted_in(self, part: Part, *, of_kept: bool) -> Voted:
        """Return the records of some persons, with their votes or cut down to those that are kept."""
        assert self.at_most is not None  # noqa: S101 - persons are protected
        if part.rows is None:
            return Voted(from_words(np.zeros((1 + len(self.codes), 0), dtype=np.uint64), self.codes))
        if of_kept:
            rows = np.repeat(part.rows[2:], self.at_most.chosen(part.rows, part.counts), axis=1)
            return Voted(from_words(rows, self.codes))
        return Voted(from_words(part.rows[2:], self.codes), self.at_most.votes(part.rows, part.counts, VOTES))

    def digest(self) -> bytes:
        """Return a fingerprint of the coordinates that ignores their order and the file's format."""
        if self._digest is None:
            for _ in self._records():
                pass
        assert self._digest is not None  # noqa: S101 - set by the first reading
        return self._digest

    def forget(self) -> None:
        """Drop the points from memory, and what reading them took."""
        self._kept = None
        self._shared.clear()
        self._drop_spool()
        getattr(self.source, "close", bool)()
        return_memory()

    def _records(self) -> Generator[Voted | Part]:
        """Yield all clean records, of persons some at a time: from memory if they fit, or from a new reading."""
        with self._lock:  # the first reading is finished before another begins
            is_first = self._digest is None
            if is_first:
                yield from self._read_first()
        if not is_first:
            yield from self._read() if self._kept is None else self._kept

    def _read_first(self) -> Iterator[Voted | Part]:
        """Yield all clean records, keep them if they fit, and make the fingerprint of all that there are."""
        self._spool = Spool() if getattr(self.source, "is_stream", False) else None
        kept: list[Voted | Part] | None = []
        held = 0
        for piece in self._read():
            held += len(piece.counts if isinstance(piece, Part) else piece.records.steps)
            if held > KEEP_AT_MOST:
                kept = None
            if kept is not None:
                kept.append(piece)
            yield piece
        self._kept = kept
        if kept is not None:
            self._drop_spool()
        assert self._sums is not None  # noqa: S101 - all was read
        self._digest = hashlib.sha256(self._sums.tobytes()).digest()

    def _drop_spool(self) -> None:
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def _batches(self) -> Iterator[Batch]:
        self._check_unchanged()
        yield from self.source.batches()
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Refuse to go on with a file that changed since it was first read: each person's points were chosen then."""
        if not hasattr(self.source, "stamp"):
            return
        stamp = self.source.stamp()
        self._stamp = self._stamp or stamp
        if stamp != self._stamp:
            raise DamagedError(f"{self.source.title} changed while it was read; let nothing write to it.")

    def _read(self) -> Iterator[Voted | Part]:
        """Yield all clean records."""
        if self.at_most is not None:
            yield from self._by_person()
            return
        for rows in self._rows():
            yield Voted(from_words(rows, self.codes))

    def _rows(self) -> Iterator[Numbers]:
        """Yield the good records as words (w, n): two for the person, if persons are protected, then `as_words`."""
        if self._spool is not None and self._spool.is_whole:
            yield from self._spool
            return
        sums, likeness = np.zeros(3, dtype=np.uint64), Likeness.of(self.source.layout.crs)
        is_new = self._sums is None or getattr(self.source, "is_query", False)

        def work(batch: Batch) -> tuple[Any, Numbers]:
            place = batch.coordinates
            return (fingerprint(place), likeness.candidates(place)) if is_new else None, self._clean(batch)

        for seen, rows in side_by_side(work, self._batches(), self.threads):
            if seen is not None:
                sums += seen[0]
                likeness.merge(seen[1])
            if self._spool is not None:
                self._spool.add(rows)
            yield rows
        if is_new and not np.array_equal(sums, sums if self._sums is None else self._sums):
            raise DamagedError(f"{self.source.title} gave other records than before; let nothing change them.")
        if self._sums is None:
            self._sums, self.alike = sums, likeness.digests()
        if self._spool is not None:
            self._spool.is_whole = True

    def _clean(self, batch: Batch) -> Numbers:
        """Return the good records of a batch: each is judged by its own place, codes and person."""
        steps, good = self.cleaning.clean(batch.coordinates)
        for codes, count in zip(batch.codes, self.codes, strict=True):
            good &= codes < count
        if self.at_most is None:
            return as_words(Records(steps, batch.codes).only(good))
        person, named = self.at_most.persons(batch.person)
        good &= named
        return np.vstack([person[:, good], as_words(Records(steps, batch.codes).only(good))])

    def _by_person(self) -> Iterator[Part]:
        """Yield the records of some persons at a time, in an order that does not depend on that of the file."""
        parts = [Part()]
        while parts:
            part = parts.pop()
            for rows in self._rows():
                rest = part.observe(rows)
                parts.extend([rest] if rest else [])
            part.merge()
            yield part


def as_words(records: Records) -> NDArray[np.uint64]:
    """Return all that is read of each record (w, n): a word for its place, and one for each of its codes."""
    place = np.ascontiguousarray(records.steps).view(np.uint64).T
    return np.vstack([place, *(codes.astype(np.uint64) for codes in records.codes)]) if records.codes else place


def from_words(words: NDArray[np.uint64], codes: tuple[int, ...]) -> Records:
    """Return the records that these words stand for."""
    steps = np.ascontiguousarray(words[0])[:, np.newaxis].view(np.int32)
    return Records(
        steps, tuple(each.astype(np.min_scalar_type(count)) for each, count in zip(words[1:], codes, strict=True))
    )


def digests_of(coordinates: Floats, crs: str) -> tuple[bytes, ...]:
    """Return by which digests a ledger knows these places (n, 2): that of them all, and those that copies share."""
    likeness = Likeness.of(crs)
    likeness.merge(likeness.candidates(coordinates))
    return hashlib.sha256(fingerprint(coordinates).tobytes()).digest(), *likeness.digests()


def fingerprint(coordinates: Floats) -> NDArray[np.uint64]:
    """Return sums of mixed coordinates: equal for any order of the same records.

    The sums wrap around; they are a fingerprint for the owner's own ledger, and never leave it.
    """
    sums = np.zeros(3, dtype=np.uint64)
    for block in blocks(len(coordinates)):
        with np.errstate(all="ignore"):
            lattice = np.rint(coordinates[block] * 1e7).astype(np.int64).view(np.uint64)
        mixed = mix(lattice[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ mix(lattice[:, 1]))
        sums += np.array([len(mixed), mixed.sum(dtype=np.uint64), mix(mixed).sum(dtype=np.uint64)], dtype=np.uint64)
    return sums
