"""Keep at most k points of each person, chosen evenly, in a stream."""

import os
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]
INDEX_BITS = np.uint64(34)


@dataclass
class AtMost:
    """Chooses at most `limit` records of each person, by fresh randomness within that person alone.

    Every record has a ticket: 30 random bits, then its place in the file, so no two tickets are equal. A person's
    records with the lowest tickets are kept. Adding or removing one person therefore changes the kept records by
    at most `limit`, and leaves every other person's as they were: only the order of a person's own places matters.
    """

    limit: int
    _key: int = field(default_factory=lambda: int.from_bytes(os.urandom(16)), repr=False)
    _known: dict[bytes, int] = field(default_factory=dict, repr=False)
    _person: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.uint64), repr=False)
    _ticket: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.uint64), repr=False)
    _highest: tuple[Numbers, Numbers] | None = field(default=None, repr=False)

    def tickets(self, first: int, count: int) -> Numbers:
        """Return the tickets of `count` records that start at place `first`; the same whenever asked."""
        bits = np.random.Philox(key=self._key, counter=[0, 0, first, 0]).random_raw(count)
        places = np.arange(first, first + count, dtype=np.uint64)
        return (bits >> INDEX_BITS << INDEX_BITS) | places

    def persons(self, column: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return a number for each person, and which records name one; never two persons with one number."""
        named = np.asarray(pc.is_valid(column))
        if pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
            return np.asarray(pc.fill_null(column, 0).cast(pa.int64())).view(np.uint64), named
        coded = pc.fill_null(column.cast(pa.string()).cast(pa.binary()), b"").dictionary_encode()
        numbers = [self._known.setdefault(name, len(self._known)) for name in coded.dictionary.to_pylist()]
        return np.array([*numbers, 0], dtype=np.uint64)[np.asarray(coded.indices)], named

    def observe(self, person: Numbers, ticket: Numbers) -> None:
        """Take these records into account."""
        person = np.concatenate([self._person, person])
        ticket = np.concatenate([self._ticket, ticket])
        order = np.lexsort((ticket, person))
        person, ticket = person[order], ticket[order]
        first = np.searchsorted(person, person)
        low = np.arange(len(person)) - first < self.limit
        self._person, self._ticket = person[low], ticket[low]

    def finish(self) -> None:
        """Settle each person's highest ticket, once every record was seen."""
        last = np.append(self._person[1:] != self._person[:-1], values=True)[: len(self._person)]
        self._highest = self._person[last], self._ticket[last]
        self._person = self._ticket = np.zeros(0, dtype=np.uint64)

    def keeps(self, person: Numbers, ticket: Numbers) -> NDArray[np.bool_]:
        """Return which of these records are kept."""
        assert self._highest is not None  # noqa: S101 - finish() comes first
        known, highest = self._highest
        if not len(known):
            return np.zeros(len(person), dtype=bool)
        place = np.minimum(np.searchsorted(known, person), len(known) - 1)
        return np.asarray((known[place] == person) & (ticket <= highest[place]))
