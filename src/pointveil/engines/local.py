"""Exact sums over a file or frame on this machine, batch by batch."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints, ShortInts, blocks
from pointveil.engines.at_most import AtMost, Part
from pointveil.formats import Batch, PointSource

KEEP_AT_MOST = 2**24
"""Points that are kept in memory; a larger file is read again for every question."""


class Cleaning(Protocol):
    """Turns records into points, each by itself."""

    def clean(self, coordinates: Floats) -> tuple[ShortInts, Bools]:
        """Return lattice steps, and which records are good."""
        ...

    def to_metres(self, steps: ShortInts) -> Floats:
        """Return lattice steps as metres."""
        ...


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
        How many points of one person are kept, if persons are protected.
    """

    source: PointSource
    cleaning: Cleaning
    at_most: AtMost | None = None
    _kept: list[ShortInts] | None = field(default=None, repr=False)
    _digest: bytes | None = field(default=None, repr=False)
    _stamp: tuple[int, int, int] | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def sum(self, tally: Callable[[Floats], Ints], size: int) -> Ints:
        """Return the sum of `tally` over all batches of points."""
        total = np.zeros(size, dtype=np.int64)
        for xy in self.points():
            total += tally(xy)
        return total

    def points(self) -> Iterator[Floats]:
        """Yield the clean, bounded points in batches, from memory if they fit."""
        self._prepare()
        for steps in self._read() if self._kept is None else self._kept:
            yield self.cleaning.to_metres(steps)

    def digest(self) -> bytes:
        """Return a fingerprint of the coordinates that ignores their order and the file's format."""
        self._prepare()
        assert self._digest is not None  # noqa: S101 - set by _prepare
        return self._digest

    def forget(self) -> None:
        """Drop the points from memory, and what reading them took."""
        self._kept = None
        pa.default_memory_pool().release_unused()

    def _prepare(self) -> None:
        """Read everything once: to choose each person's points, and to keep all points that fit."""
        with self._lock:
            if self._digest is None:
                self._read_once()

    def _read_once(self) -> None:
        sums = np.zeros(3, dtype=np.uint64)
        kept: list[ShortInts] | None = []
        held = 0
        for steps in self._read(sums):
            held += len(steps)
            if held > KEEP_AT_MOST:
                kept = None
            if kept is not None:
                kept.append(steps)
        self._kept = kept
        self._digest = hashlib.sha256(sums.tobytes()).digest()

    def _batches(self) -> Iterator[Batch]:
        self._check_unchanged()
        yield from self.source.batches()
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        """Refuse to go on with a file that changed since it was first read: each person's points were chosen then."""
        path = getattr(self.source, "path", None)
        if path is None:
            return
        status = Path(path).stat()
        stamp = status.st_size, status.st_mtime_ns, status.st_ino
        self._stamp = self._stamp or stamp
        if stamp != self._stamp:
            raise OSError("the file changed while it was read")

    def _read(self, sums: NDArray[np.uint64] | None = None) -> Iterator[ShortInts]:
        """Yield the steps of all records that count, and add up the fingerprint of those in the file."""
        if self.at_most is not None:
            yield from self._bounded(self.at_most, sums)
            return
        for batch in self._batches():
            if sums is not None:
                sums += fingerprint(batch.coordinates)
            steps, good = self.cleaning.clean(batch.coordinates)
            yield steps[good]

    def _bounded(self, at_most: AtMost, sums: NDArray[np.uint64] | None) -> Iterator[ShortInts]:
        """Yield the steps of the records that are kept, in an order that does not depend on that of the file."""
        parts = [Part()]
        while parts:
            part = parts.pop()
            for batch in self._batches():
                if sums is not None:
                    sums += fingerprint(batch.coordinates)
                steps, good = self.cleaning.clean(batch.coordinates)
                person, named = at_most.persons(batch.person)
                rows = np.vstack([person, np.ascontiguousarray(steps).view(np.uint64).T])
                rest = part.observe(rows[:, good & named])
                parts.extend([rest] if rest else [])
            sums = None
            part.merge()
            if part.rows is not None:
                place = np.repeat(part.rows[2], at_most.chosen(part.rows, part.counts))
                yield place[:, np.newaxis].view(np.int32)


def fingerprint(coordinates: Floats) -> NDArray[np.uint64]:
    """Return sums of mixed coordinates: equal for any order of the same records.

    The sums wrap around; they are a fingerprint for the owner's own ledger, and never leave it.
    """
    sums = np.zeros(3, dtype=np.uint64)
    for block in blocks(len(coordinates)):
        with np.errstate(all="ignore"):
            lattice = np.rint(coordinates[block] * 1e7).astype(np.int64).view(np.uint64)
        mixed = _mix(lattice[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ _mix(lattice[:, 1]))
        sums += np.array([len(mixed), mixed.sum(dtype=np.uint64), _mix(mixed).sum(dtype=np.uint64)], dtype=np.uint64)
    return sums


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return each 64-bit word scrambled (a bijection: no two words give the same)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
