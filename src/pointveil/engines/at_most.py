"""Keep at most k points of each person, chosen evenly, in a stream."""

import os
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
INDEX_BITS = np.uint64(34)
WORDS_PER_BLOCK = 4
"""Random words that the generator makes at once."""
BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
MERGE_AT_LEAST = 2**20
"""Records that wait before they are sorted in; or as many as are held, if those are more."""


def _none() -> Numbers:
    return np.zeros(0, dtype=np.uint64)


@dataclass
class AtMost:
    """Chooses at most `limit` records of each person, by fresh randomness within that person alone.

    Every record has a ticket: 30 random bits, then its place in the file, so no two tickets are equal. A person's
    records with the lowest tickets are kept. Adding or removing one person therefore changes the kept records by
    at most `limit`, and leaves the law of every other person's as it was: places shift, but only the order of a
    person's own places matters, and all tickets are equally random.

    A ticket depends on the place alone and not on how the file was cut into batches, so reading twice gives the same
    choice. Memory: one ticket for each kept record, and as much again while records wait.
    """

    limit: int
    _key: int = field(default_factory=lambda: int.from_bytes(os.urandom(16)), repr=False)
    _type: pa.DataType | None = field(default=None, repr=False)
    _known: dict[bytes, int] = field(default_factory=dict, repr=False)
    _person: Numbers = field(default_factory=_none, repr=False)
    _ticket: Numbers = field(default_factory=_none, repr=False)
    _waiting: list[tuple[Numbers, Numbers]] = field(default_factory=list, repr=False)
    _highest: tuple[Numbers, Numbers] | None = field(default=None, repr=False)

    def tickets(self, first: int, count: int) -> Numbers:
        """Return the tickets of `count` records that start at place `first`; the same whenever asked."""
        block, skipped = divmod(first, WORDS_PER_BLOCK)
        words = np.random.Philox(key=self._key, counter=block).random_raw(skipped + count)[skipped:]
        places = np.arange(first, first + count, dtype=np.uint64)
        return (words >> INDEX_BITS << INDEX_BITS) | places

    def persons(self, column: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return a number for each person, and which records name one; never two persons with one number."""
        self._type = self._type or column.type
        if column.type != self._type:
            raise TypeError("one column has one type, or numbers of persons would not agree")
        named = np.asarray(pc.is_valid(column))
        if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
            return np.asarray(pc.fill_null(column, 0).cast(pa.int64())).view(np.uint64), named
        coded = pc.fill_null(_names(column), b"").dictionary_encode()
        names, index = coded.dictionary.to_pylist(), np.asarray(coded.indices)
        numbers = np.array([*(self._known.setdefault(name, len(self._known)) for name in names), 0], dtype=np.uint64)
        # A blank name is no name: else all who have none would be one person, and compete for one person's places.
        named &= np.array([*(bool(name.strip()) for name in names), False])[index]
        return numbers[index], named

    def observe(self, person: Numbers, ticket: Numbers) -> None:
        """Take these records into account."""
        self._waiting.append((person, ticket))
        if sum(len(each) for each, _ in self._waiting) >= max(MERGE_AT_LEAST, len(self._person)):
            self._merge()

    def finish(self) -> None:
        """Settle each person's highest ticket, once every record was seen; none was kept above it."""
        self._merge()
        last = np.append(self._person[1:] != self._person[:-1], values=True)[: len(self._person)]
        self._highest = self._person[last], self._ticket[last]
        self._person, self._ticket = _none(), _none()

    def keeps(self, person: Numbers, ticket: Numbers) -> NDArray[np.bool_]:
        """Return which of these records are kept."""
        assert self._highest is not None  # noqa: S101 - finish() comes first
        known, highest = self._highest
        if not len(known):
            return np.zeros(len(person), dtype=bool)
        place = np.minimum(np.searchsorted(known, person), len(known) - 1)
        return np.asarray((known[place] == person) & (ticket <= highest[place]))

    def _merge(self) -> None:
        """Sort what waits into what is held, and hold only the lowest tickets of each person."""
        person = np.concatenate([self._person, *(each for each, _ in self._waiting)])
        ticket = np.concatenate([self._ticket, *(each for _, each in self._waiting)])
        self._waiting.clear()
        order = np.lexsort((ticket, person))
        person, ticket = person[order], ticket[order]
        start = np.append([0], np.flatnonzero(person[1:] != person[:-1]) + 1) if len(person) else np.zeros(0, int)
        rank = np.arange(len(person)) - np.repeat(start, np.diff(np.append(start, len(person))))
        low = rank < self.limit
        self._person, self._ticket = person[low], ticket[low]


def _names(column: pa.Array) -> pa.Array:
    """Return what each record calls its person, as bytes: no value can make this fail, whatever its bytes are."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if any(is_bytes(column.type) for is_bytes in BYTES):
        return column.cast(pa.binary())
    return column.cast(pa.string()).cast(pa.binary())
