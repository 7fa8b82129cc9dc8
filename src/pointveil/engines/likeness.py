"""Find copies of the same places: in another CRS, rounded to centimetres, or with a few rows more or less."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyproj
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, blocks
from pointveil.errors import InputError
from pointveil.files.crs import DEGREES, same_crs

Words = NDArray[np.uint64]

PER_DEGREE = 1e5  # places are compared by cells of about 1 m
# Where cells meet, in parts of a cell: far from all short decimals, so that rounded degrees never lie on a border.
BORDER = 0.3686
CLASSES = 16  # of cells, by their hash: a border that is crossed spoils one class, and the others still agree
SAMPLE = 16  # cells of one class; fewer could agree by chance


@dataclass
class Likeness:
    """A small sample of the cells that have records, with how many each has; the same for any order of the records.

    The sample has the cells whose hash is smallest, so two files with the same places have the same sample, whatever
    else is in them. It stays in memory: the ledger is given digests of it, each of `SAMPLE` cells at once.

    Parameters
    ----------
    transformer
        Brings records to EPSG:4326, longitude first; None if they are given in it.
    """

    transformer: pyproj.Transformer | None
    _cells: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64), repr=False)  # sorted
    _counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)

    @classmethod
    def of(cls, crs: str) -> "Likeness":
        """Return an empty sample for records in this CRS."""
        return cls(None if same_crs(crs, DEGREES) else pyproj.Transformer.from_crs(crs, DEGREES, always_xy=True))

    def candidates(self, coordinates: Floats) -> Words:
        """Return the hashed cells of those of some records (n, 2) that may enter the sample; changes nothing."""
        found, largest = [self._cells[:0]], self._largest()
        for block in blocks(len(coordinates)):
            cells = self._hashed(coordinates[block])
            found.append(cells[cells <= largest])
            if block.start == 0:  # most records are too many to be sorted; those that come first rule out most others
                first = Likeness(None)  # of cells alone: another thread may be about to exchange their counts
                first.merge(np.append(self._cells, found[-1]))
                largest = first._largest()
        return np.concatenate(found)

    def digests(self) -> tuple[bytes, ...]:
        """Return a digest for each class that has enough cells, and one for all classes together."""
        return tuple(self._digests())

    def _digests(self) -> Iterator[bytes]:
        of_class = self._cells % CLASSES
        for chosen in (np.ones(len(of_class), dtype=bool), *(of_class == number for number in range(CLASSES))):
            cells, counts = self._cells[chosen][:SAMPLE], self._counts[chosen][:SAMPLE]
            if len(cells) == SAMPLE:
                yield hashlib.sha256(b"likeness" + cells.tobytes() + counts.tobytes()).digest()

    def _hashed(self, coordinates: Floats) -> Words:
        if self.transformer is not None:
            across, up = self.transformer.transform(coordinates[:, 0], coordinates[:, 1], errcheck=False)
        else:
            across, up = coordinates.T
        with np.errstate(all="ignore"):
            cells = [np.floor(axis * PER_DEGREE + BORDER) for axis in (across, up)]
            known = np.logical_and(*(np.abs(axis) <= 360 * PER_DEGREE for axis in cells))  # and not NaN
        which = slice(None) if known.all() else known
        across, up = (axis[which].astype(np.int64).view(np.uint64) for axis in cells)
        return mix(across * np.uint64(0x9E3779B97F4A7C15) ^ mix(up))

    @property
    def sample(self) -> tuple[Words, Ints]:
        """The cells, and how many records each has."""
        return self._cells, self._counts

    def merge(self, cells: Words, counts: Ints | None = None) -> None:
        """Add candidates to the sample, or another sample with its counts.

        One that belongs there was never dropped before, so counts are exact.
        """
        added = np.ones(len(cells)) if counts is None else counts
        found, where = np.unique(np.concatenate([self._cells, cells]), return_inverse=True)
        sums = np.bincount(where, np.concatenate([self._counts, added]), len(found)).astype(np.int64)
        first = np.zeros(len(found), dtype=bool)
        for number in range(CLASSES):
            first[np.flatnonzero(found % CLASSES == number)[:SAMPLE]] = True
        self._cells, self._counts = found[first], sums[first]

    def _largest(self) -> np.uint64:
        """Return the largest hash that may still enter the sample."""
        full = len(self._cells) == CLASSES * SAMPLE
        return self._cells[-1] if full else np.uint64(np.iinfo(np.uint64).max)


def mix(values: Words) -> Words:
    """Return each 64-bit word scrambled (a bijection: no two words give the same)."""
    values = values ^ (values >> np.uint64(30))
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def refuse_copy(prior: Any, digests: Iterable[bytes | None]) -> None:
    """Raise if a prior is a copy of private points with these digests; a ledger, if there is one, does so itself."""
    if {digest.hex() for digest in digests if digest is not None} & {*prior.content}:
        raise InputError(f"{prior.source['name']}, the prior, holds private data: the same points. It must be public.")
