"""Regions of equal people: halves of halves, found by descending a tree of cuts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import NOWHERE, Floats, Ints, blocks


@dataclass(frozen=True, eq=False)
class PeopleRegions:
    """The leaves of a full binary tree of cuts, numbered from left to right; every finite place is in exactly one.

    A cut is half-open: what lies on it belongs to the upper side. The cuts must come from public facts or from noisy
    answers that have been paid for; the class looks at nothing else.
    """

    axis: NDArray[
        np.int8
    ]  # (regions - 1,): what each cut compares, 0 for x, 1 for y; below i are cuts 2i + 1 and 2i + 2
    at: Floats  # (regions - 1,) metres: where each cut lies

    def __post_init__(self) -> None:
        if self.axis.shape != self.at.shape or self.axis.ndim != 1 or len(self) & (len(self) - 1):
            raise ValueError(f"A full tree has 2**levels - 1 cuts; these are {self.axis.shape} and {self.at.shape}.")

    def __len__(self) -> int:
        return len(self.at) + 1

    @property
    def levels(self) -> int:
        """How many cuts lie between the whole and a region."""
        return len(self).bit_length() - 1

    def locate(self, xy: Floats) -> Ints:
        """Return the region of each point, or -1 if a coordinate is not finite."""
        xy = np.asarray(xy, dtype=np.float64)
        found = np.empty(len(xy), dtype=np.int64)
        for block in blocks(len(xy)):
            found[block] = self._descend(xy[block])
        return found

    def _descend(self, xy: Floats) -> Ints:
        node = np.zeros(len(xy), dtype=np.int64)
        for _ in range(self.levels):
            value = np.where(self.axis[node] == 0, xy[:, 0], xy[:, 1])
            node = 2 * node + 1 + (value >= self.at[node])
        return np.where(np.isfinite(xy).all(axis=1), node - len(self.at), NOWHERE)
