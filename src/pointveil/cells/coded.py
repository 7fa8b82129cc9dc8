"""Cells of places and codes: where a record is, and what its kept columns say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints

Codes = Sequence[Any]  # one (n,) array of whole numbers for each kept column


@dataclass(frozen=True, eq=False)
class CodedCells:
    """Every pair of a place and of the bins that a record's codes stand for; a record is in exactly one, or in none."""

    places: Any  # cells that look at the place alone
    looked_up: tuple[tuple[int, Ints], ...]  # the number of a kept column, and (codes,) the bin of each of its codes
    reads_codes: ClassVar[bool] = True

    def __len__(self) -> int:
        return int(len(self.places) * np.prod([bins.max() + 1 for _, bins in self.looked_up], dtype=np.int64))

    def locate(self, xy: Floats, codes: Codes = ()) -> Ints:
        """Return the cell of each record, or -1 if its place has none or one of its codes does not exist."""
        found = np.asarray(self.places.locate(xy), dtype=np.int64)
        for column, bins in self.looked_up:
            code = np.asarray(codes[column], dtype=np.int64)
            exists = (code >= 0) & (code < len(bins))
            looked = bins[np.where(exists, code, 0)]
            found = np.where(exists & (found >= 0), found * (int(bins.max()) + 1) + looked, NOWHERE)
        return found
