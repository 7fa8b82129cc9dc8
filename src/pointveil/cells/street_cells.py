"""Cells along roads, and cells for everyone who is far from all of them: each record is in exactly one."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pointveil.cells.arrays import NOWHERE, Bools, Floats, Ints, ShortInts
from pointveil.cells.grid import Grid
from pointveil.cells.nested_grid import NestedGrid
from pointveil.cells.streets import Nearest, Streets


@dataclass(frozen=True, eq=False)
class RoadCells:
    """Every edge with all that is within reach of it, then the cells of a grid with all that is not.

    A record out of reach, but not in an open cell, belongs to its edge all the same.
    """

    streets: Streets
    kind: Ints  # (edges,): a common class of road, or all others together
    reach: float  # metres from an edge within which a record belongs to it
    far: Grid  # for records out of reach
    open_far: Bools  # which of its cells have land out of reach
    dry: Bools  # which edges have land: all but bridges that are wholly over water

    def __len__(self) -> int:
        return len(self.streets) + len(self.far)

    @property
    def found_by(self) -> Streets:
        """What finds something of each record that other questions need, too."""
        return self.streets

    def locate(self, xy: Floats, found: ShortInts | None = None) -> Ints:
        """Return the one cell that holds each record: its nearest edge, or the far cell it is in."""
        return self.find(xy, found)[0]

    def find(self, xy: Floats, found: ShortInts | None = None) -> tuple[Ints, Nearest]:
        """Return the cell of each record, and where it lies from its nearest edge, which the search may have found."""
        near = self.streets.nearest(xy, found)
        cell = near.edge.copy()
        beyond = np.flatnonzero(near.offset > self.reach)
        far = self.far.locate(np.asarray(xy)[beyond])
        is_open = (far != NOWHERE) & self.open_far[far]
        cell[beyond[is_open]] = far[is_open] + len(self.streets)
        return cell, near

    @property
    def habitable(self) -> Bools:
        """Which cells can have people: edges on land, and open far cells."""
        return np.concatenate([self.dry, self.open_far])


@dataclass(frozen=True, eq=False)
class RoadBins:
    """Each edge cut along its length, and each far cell cut along both sides."""

    cells: RoadCells
    bins: Ints  # (edges,): parts of equal length; 0 leaves the edge out
    far: NestedGrid  # the far cells with their parts
    beside: tuple[Any, ...] = ()  # other cells, to count in the same reading if they would mean another one

    def __len__(self) -> int:
        return int(self.first[-1]) + len(self.far)

    @cached_property
    def first(self) -> Ints:
        """The number of the first part of each edge, and the number of all edges' parts."""
        return np.concatenate([[0], np.cumsum(self.bins)])

    @cached_property
    def owner(self) -> Ints:
        """The edge or far cell that each part belongs to, as the road cells number them."""
        edges = np.repeat(np.arange(len(self.bins)), self.bins)
        return np.concatenate([edges, self.far.owner + len(self.bins)])

    @property
    def found_by(self) -> Streets:
        """As of the cells."""
        return self.cells.streets

    def locate(self, xy: Floats, found: ShortInts | None = None) -> Ints:
        """Return the one part that holds each record, or -1 on an edge that is left out."""
        cell, near = self.cells.find(xy, found)
        bins = self.bins.take(near.edge)
        part = near.along
        part /= self.cells.streets.lengths.take(near.edge)
        part *= bins
        number = part.astype(np.int64)  # never below zero
        np.minimum(number, np.maximum(bins - 1, 0), out=number)
        number += self.first.take(near.edge)
        number[(cell == NOWHERE) | (bins == 0)] = NOWHERE
        beyond = np.flatnonzero(cell >= len(self.bins))
        number[beyond] = self.far.locate(np.asarray(xy)[beyond]) + self.first[-1]
        return number
