"""Let each person count as at most k records, in a stream; `vault/bounding.md` has the proofs."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pointveil.cells.arrays import Ints
from pointveil.engines.siphash import Numbers, siphash

SHORT_NUMBER = "^(0|-?[1-9][0-9]{0,17})$"
SHORT = 10**18
"""Whole numbers nearer to zero are persons by themselves; every other name is hashed."""
MERGE_AT_LEAST = 2**20
HELD_AT_MOST = 2**23
"""Different records that are held; with more, some persons are put off to another reading of the file."""
MOST_PARTS = 2**16


def fresh_key() -> bytes:
    """Return a key of 16 bytes that nobody knows."""
    return os.urandom(16)


@dataclass
class AtMost:
    """Lets each person count as at most `limit` records, by that person's own records alone.

    Either that many are kept, or all of them share that many votes. Every record has a ticket: a keyed pseudo-random
    function of its person, of what is read of it, and of its rank among this person's equal records. A person's lowest
    tickets are kept, or get the votes that are left over. Neither the place of a record in the file nor another
    person's records count, so any order, batch and engine makes the same choice.

    Memory: a person and a count for each different record of the persons whose turn it is (`part`).
    """

    limit: int | None = None  # None until it is known: then nothing but persons can be counted
    key: bytes = field(default_factory=fresh_key, repr=False)

    def persons(self, names: pa.Array) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return two words (2, n) for the person of each record, and which records name one."""
        named = np.asarray(pc.is_valid(names))
        if pa.types.is_integer(names.type):
            is_short = pc.and_(pc.greater(names, -SHORT), pc.less(names, SHORT))
        else:
            is_short = pc.match_substring_regex(names, SHORT_NUMBER)
        short = np.asarray(pc.fill_null(is_short, False))
        words = np.zeros((2, len(names)), dtype=np.uint64)
        numbers = names.filter(pa.array(short))
        words[1, short] = np.asarray(_as(pa.int64(), numbers)).view(np.uint64)
        others = named & ~short
        coded = _as(pa.binary(), names.filter(pa.array(others))).dictionary_encode()
        words[:, others] = self._hashed(coded.dictionary.to_pylist())[:, np.asarray(coded.indices)]
        return words, named

    def _hashed(self, names: list[bytes]) -> Numbers:
        """Return two words (2, n) for each name, which are never those of a short number."""
        digests = b"".join(hashlib.blake2b(name, digest_size=16, key=self.key).digest() for name in names)
        words = np.frombuffer(digests, dtype="<u8").reshape(-1, 2).T.astype(np.uint64)
        words[0] |= np.uint64(1)
        return words

    def chosen(self, rows: Numbers, counts: Ints) -> Ints:
        """Return how many of each row's equal records are kept.

        Parameters
        ----------
        rows
            Different records (w, n), in order: two words for the person, then what is read of the record.
        counts
            How many records are equal to each.
        """
        crowded = _sizes(rows, counts) > self._known_limit
        lowest = self._lowest(rows, counts, np.where(crowded, self._known_limit, 0))
        return np.where(crowded[_owners(rows)], lowest, counts)

    def votes(self, rows: Numbers, counts: Ints, per_record: int) -> Ints:
        """Return how many votes each row's equal records have together; for `rows` and `counts` see `chosen`.

        A person has `per_record` votes for each record, and for no more than `limit` of them. All of that person's
        records share them as evenly as whole numbers allow: the lowest tickets get one more where some are left over.
        """
        sizes, owner = _sizes(rows, counts), _owners(rows)
        each, left = np.divmod(per_record * np.minimum(sizes, self._known_limit), np.maximum(sizes, 1))
        return counts * each[owner] + self._lowest(rows, counts, left)

    @property
    def _known_limit(self) -> int:
        if self.limit is None:
            raise ValueError("It is not known yet how many records of one person are used.")
        return self.limit

    def _lowest(self, rows: Numbers, counts: Ints, wanted: Ints) -> Ints:
        """Return how many of each row's records are among those of their person with the lowest tickets.

        `wanted`, (persons,), is how many of them each person may have; who wants none is not looked at.
        """
        person = _owners(rows)
        crowded = np.flatnonzero((wanted > 0)[person])
        # One entry a record from here on, of the persons that matter.
        entry = np.repeat(crowded, counts[crowded])
        rank = _places(counts[crowded])
        tickets = np.concatenate([
            siphash(self.key, np.vstack([rows[:, entry[part]], rank[np.newaxis, part].astype(np.uint64)]))
            for part in _slices(len(entry))
        ])  # fmt: skip
        # Stable, so that equal tickets, if there ever are any, are told apart by the rows' own order.
        entry = entry[np.lexsort((tickets, person[entry]))]
        low = _places(np.bincount(person[entry])[np.unique(person[entry])]) < wanted[person[entry]]
        return np.bincount(entry[low], minlength=len(counts))


@dataclass
class Part:
    """The different records of some of the persons, and how often each occurs.

    Parameters
    ----------
    divisor, remainder
        Which persons: those whose mixed number leaves this remainder.
    """

    divisor: int = 1
    remainder: int = 0
    rows: Numbers | None = field(default=None, repr=False)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    _waiting: list[Numbers] = field(default_factory=list, repr=False)

    def observe(self, rows: Numbers) -> "Part | None":
        """Take records (w, n) into account; return the persons that are put off, if they became too many."""
        self._waiting.append(rows[:, self._mine(rows)])
        if sum(each.shape[1] for each in self._waiting) < max(MERGE_AT_LEAST, len(self.counts) // 2):
            return None
        self.merge()
        if len(self.counts) <= HELD_AT_MOST or self.divisor >= MOST_PARTS:
            return None
        rest = Part(2 * self.divisor, self.remainder + self.divisor)
        self.divisor *= 2
        assert self.rows is not None  # noqa: S101 - merged
        mine = self._mine(self.rows)
        self.rows, self.counts = self.rows[:, mine], self.counts[mine]
        return rest

    def merge(self) -> None:
        """Sort what waits into what is held."""
        if not self._waiting:
            return
        held = [] if self.rows is None else [self.rows]
        rows = np.concatenate([*held, *self._waiting], axis=1)
        counts = np.concatenate([self.counts, np.ones(rows.shape[1] - len(self.counts), dtype=np.int64)])
        self._waiting.clear()
        order = np.lexsort(rows[::-1])
        rows, counts = rows[:, order], counts[order]
        first = np.flatnonzero(np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))[: len(counts)])
        self.rows, self.counts = rows[:, first], np.add.reduceat(counts, first) if len(first) else counts

    def persons(self, ends: Sequence[int]) -> Ints:
        """Return how many of the persons have so many records: bins end at `ends`, the last holds all others."""
        found = np.zeros(0) if self.rows is None else np.minimum(_sizes(self.rows, self.counts), ends[-1])
        return np.bincount(np.searchsorted(ends, found), minlength=len(ends))

    def _mine(self, rows: Numbers) -> NDArray[np.bool_]:
        mixed = (rows[0] ^ rows[1]) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)
        return np.asarray(mixed & np.uint64(self.divisor - 1) == np.uint64(self.remainder))


def _owners(rows: Numbers) -> Ints:
    """Return the number of the person of each row; rows are in order."""
    return np.cumsum(np.append([0][: rows.shape[1]], (rows[:2, 1:] != rows[:2, :-1]).any(axis=0)), dtype=np.int64)


def _sizes(rows: Numbers, counts: Ints) -> Ints:
    """Return how many records each person has, (persons,); `rows` are in order, and each stands for so many records."""
    return np.bincount(_owners(rows), weights=counts).astype(np.int64)


def _as(kind: pa.DataType, names: pa.Array) -> pa.Array:
    """Return names as numbers or as bytes, with their decimals in between."""
    return names if names.type == kind else names.cast(pa.string()).cast(kind)


def _places(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, 2 … for each run of these lengths."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _slices(count: int) -> list[slice]:
    return [slice(first, first + MERGE_AT_LEAST) for first in range(0, max(count, 1), MERGE_AT_LEAST)]
