"""Regions of all places that are nearest to the same centre."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import NOWHERE, Bounds, Floats, Ints, blocks, within
from pointveil.cells.outlines import voronoi_outlines
from pointveil.errors import InputError

ALMOST = 1 + 1e-9  # centres that seem no farther are compared by the same sums everywhere: more than any rounding
TIED = 1 << 10  # places at a time: each may be as near to very many centres


@dataclass(frozen=True, eq=False)
class Voronoi:
    """One region around each centre, within a box; a place as near to two centres belongs to the first of them.

    A region holds its part of the box's west and south edges only.
    """

    bounds: Bounds  # metres
    centres: Floats  # (regions, 2) metres: no two alike, all within the bounds

    def __post_init__(self) -> None:
        if not len(self.centres) or len(np.unique(self.centres, axis=0)) != len(self.centres):
            raise InputError("Voronoi regions need at least one centre, and no two in the same place.")

    def __len__(self) -> int:
        return len(self.centres)

    def locate(self, xy: Floats) -> Ints:
        """Return the number of the region that holds each record, and -1 for a record outside the bounds."""
        xy = np.asarray(xy, dtype=np.float64)
        found = np.full(len(xy), NOWHERE, dtype=np.int64)
        inside = np.flatnonzero(within(self.bounds, xy[:, 0], xy[:, 1]))
        found[inside] = _nearest(self._tree, xy[inside])
        return found

    def rectangles(self, which: NDArray[Any] | None = None) -> None:  # noqa: ARG002 - as all regions
        """Say that these regions are no rectangles."""
        return

    def polygons(self, which: Ints) -> NDArray[Any]:
        """Return the outlines of these regions."""
        return self._outlines[which]

    @cached_property
    def _tree(self) -> Any:
        return _tree(self.centres)

    @cached_property
    def _outlines(self) -> NDArray[Any]:
        return voronoi_outlines(self.centres, self.bounds)


def nearest_of(centres: Floats, xy: Floats) -> Ints:
    """Return the number of the centre nearest to each place; of several as near, the lowest number."""
    return _nearest(_tree(centres), xy)


def _tree(centres: Floats) -> Any:
    from scipy import spatial  # late: few methods need it, and it is slow to load

    return spatial.cKDTree(centres)


def _nearest(tree: Any, xy: Floats) -> Ints:
    """Ask the tree for the two nearest centres of each place, and look closer where both are almost as near."""
    about, number = tree.query(xy, k=[1, 2])
    found = np.asarray(number[:, 0], dtype=np.int64)
    tied = np.flatnonzero(about[:, 1] <= about[:, 0] * ALMOST)
    for block in blocks(len(tied), TIED):
        found[tied[block]] = _first_of_equals(tree, xy[tied[block]])
    return found


def _first_of_equals(tree: Any, xy: Floats) -> Ints:
    """Ask for more and more centres, until the last is surely not as near as the first."""
    found = np.zeros(len(xy), dtype=np.int64)
    left, count = np.arange(len(xy)), 2
    while len(left):
        count = min(4 * count, tree.n)
        about, number = tree.query(xy[left], k=np.arange(1, count + 1))
        # The tree's own distances may be off by a rounding; these depend on the place and the centre alone.
        distance = np.sqrt(np.square(tree.data[number] - xy[left, None]).sum(axis=2))
        nearest = distance == distance.min(axis=1, keepdims=True)
        found[left] = np.where(nearest, number, tree.n).min(axis=1)
        left = left[(about[:, -1] <= about[:, 0] * ALMOST) & (count < tree.n)]
    return found
