"""What may be asked of a vault, and what a question must look like."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pointveil.vault.answers import NoisyCounts, NoisyPoints


@dataclass(frozen=True)
class Share:
    """A part of the budget, set aside for one purpose."""

    purpose: str  # a word a person can read, such as "count" or "total"
    epsilon: Fraction  # what the question may cost, exactly

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"The share for '{self.purpose}' must be a positive Fraction, not {self.epsilon!r}.")


class Cells(Protocol):
    """Public cells that say, for each point by itself, which one holds it.

    `locate` must look at each row alone: the cell of one point may not depend on any other point. Cells that also
    look at what the kept columns of a record say have `reads_codes = True`, and take the codes as a second argument.
    Cells that are made of finer ones may say so: `base` are those cells, and `of_base` (len(base),) says in which one
    each lies, or -1. The finer ones are then counted once for all questions that are made of them. `key`, if there is
    one, is the same for cells that are the same, and `beside` of base cells are others to count in the same reading.
    `found_by`, if there is one, is shared by several cells: its `find` says something of each point by itself, a whole
    number, which is found once for all their questions, and which `locate` takes as a second argument.
    """

    def __len__(self) -> int: ...

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the one cell that holds each point, or -1 for nowhere."""


class Sites(Protocol):
    """Public regions, each with numbered sites in which points may be scattered.

    Neighbouring numbers within a region should be neighbouring places: the blur works on numbers.
    """

    def site_counts(self) -> NDArray[np.int64]:
        """Return how many sites each region has; none for a region wholly in water."""

    def locate_sites(self, xy: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the region of each point (-1 for nowhere) and the number of its site there."""


class Respondent(Protocol):
    """Something that answers the questions of a method: a vault, or a recording of one."""

    @property
    def points_per_unit(self) -> int:
        """How many times as wide noise is as if one point were protected: 1, as answers come to a method."""

    @property
    def kept_per_unit(self) -> int:
        """How many points of a unit `crowding` and `scatter` look at: 1, or as many as a person may count for."""

    @property
    def crs(self) -> str:
        """The CRS of the file that holds the records: public."""

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in each of these cells."""

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in cells that hold at least so many."""

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Answer roughly where in each region the points are."""
