"""Bins of how far from their edge the records within reach are: one set for each kind of road, or for each edge."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pointveil.cells.arrays import NOWHERE, Floats, Ints, ShortInts, reached
from pointveil.cells.street_cells import RoadCells
from pointveil.cells.streets import Streets

ON_THE_ROAD = 0.1  # metres: nearer than this, a record is taken to be on the road itself
WIDER = np.array([0.5, 1, 1.5, 2, 3, 4, 5, 6.5, 8, 10, 12.5, 16, 20, 25, 32, 40, 50, 65, 80, 100, 150, 200, 500])


@dataclass(frozen=True, eq=False)
class KindOffsets:
    """How far from their edge the records within reach are, for each kind of road; then how far the others are."""

    cells: RoadCells

    def __len__(self) -> int:
        return self.kinds * self.bins + len(self.beyond)

    @property
    def kinds(self) -> int:
        """How many kinds there are."""
        return int(self.cells.kind.max()) + 1

    @cached_property
    def borders(self) -> Floats:
        """Where the bins of the offset begin, and where the last one ends, in metres; the same for all kinds."""
        return offset_borders(self.cells.reach)

    @cached_property
    def beyond(self) -> Floats:
        """Where the bins of records in far cells begin, in metres; the last one has no end."""
        return np.concatenate([[self.cells.reach], WIDER[self.cells.reach < WIDER]])

    @property
    def bins(self) -> int:
        """How many bins each kind has."""
        return len(self.borders) - 1

    @property
    def found_by(self) -> Streets:
        """As of the cells."""
        return self.cells.streets

    @property
    def key(self) -> Hashable:
        """What tells them from other cells."""
        return KindOffsets, self.cells

    def locate(self, xy: Floats, found: ShortInts | None = None) -> Ints:
        """Return the bin of each record's offset, in the kind of its edge or among the far ones."""
        cell, near = self.cells.find(xy, found)
        number = (self.cells.kind * self.bins).take(near.edge)
        number += reached(self.borders[1:-1], near.offset)
        far = np.flatnonzero(cell >= len(self.cells.streets))
        number[far] = self.kinds * self.bins + reached(self.beyond[1:], near.offset[far])
        number[cell == NOWHERE] = NOWHERE
        return number


@dataclass(frozen=True, eq=False)
class EdgeOffsets:
    """How far from their edge the records within reach are, for each edge by itself, as in the paper.

    The first bin of an edge is the road; the others are equally wide, and end at the reach, whoever is there. One
    more bin, the last of all, holds everyone else, so that there is one even if all edges are left out.
    """

    cells: RoadCells
    wide: Ints  # (edges,): bins beside the road; 0 leaves the edge out

    def __len__(self) -> int:
        return int(self.first[-1]) + 1

    @cached_property
    def bins(self) -> Ints:
        """How many bins each edge has, with that of the road."""
        return np.where(self.wide > 0, self.wide + 1, 0)

    @cached_property
    def first(self) -> Ints:
        """The number of the first bin of each edge, and of the bin for everyone else."""
        return np.concatenate([[0], np.cumsum(self.bins)])

    @property
    def found_by(self) -> Streets:
        """As of the cells."""
        return self.cells.streets

    def locate(self, xy: Floats, found: ShortInts | None = None) -> Ints:
        """Return the bin of each record's offset at its edge, or the last one; -1 for non-finite coordinates."""
        cell, near = self.cells.find(xy, found)
        along_road = (cell >= 0) & (cell < len(self.cells.streets))
        edge = np.where(along_road, cell, 0)
        wide, reach = self.wide[edge], self.cells.reach - ON_THE_ROAD
        beside = np.where(along_road, near.offset - ON_THE_ROAD, 0.0)
        number = np.clip(np.floor(beside / reach * wide).astype(np.int64), -1, wide - 1) + 1
        place = np.where(along_road & (wide > 0), self.first[edge] + number, self.first[-1])
        return np.where(cell == NOWHERE, NOWHERE, place)

    def borders(self, edge: int) -> Floats:
        """Return where the bins of an edge begin, and where the last one ends, in metres."""
        return np.concatenate([[0.0], np.linspace(ON_THE_ROAD, self.cells.reach, int(self.wide[edge]) + 1)])


def offset_borders(reach: float) -> Floats:
    """Return where bins of the offset begin: the road itself, then ever wider ones up to the reach."""
    return np.concatenate([[0.0, ON_THE_ROAD], WIDER[reach > WIDER], [reach]])
