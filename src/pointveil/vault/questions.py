"""What may be asked of a vault, and what a question must look like."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Codes
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
    """Something that answers the three questions: a vault, or a recording of one."""

    @property
    def points_per_unit(self) -> int:
        """How many points the protected unit may have (1 for "one point")."""

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in each of these cells."""

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Answer with noise how many points are in cells that hold at least so many."""

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Answer roughly where in each region the points are."""


TRIED_ALONE = 3  # points of the first batch that are also looked up by themselves, for each question


class NotOneByOneError(TypeError):
    """Cells or sites do not look at each point by itself; a fault of their code."""


class OneByOne:
    """Cells or sites that are tried on a few points alone, which must be where they were among all."""

    def __init__(self, question: Any) -> None:
        self._question = question
        self._tried = False

    def locate(self, xy: NDArray[np.float64], codes: Codes = ()) -> NDArray[np.int64]:
        """Return the cell of each point."""
        (found,) = self._tried_alone(lambda some, coded: (located(self._question, some, coded),), xy, codes)
        return found

    def locate_sites(self, xy: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the region and the site of each point."""
        region, site = self._tried_alone(lambda some, _: self._question.locate_sites(some), xy, ())
        return region, site

    def _tried_alone(
        self, locate: Callable[[Any, Codes], Any], xy: NDArray[np.float64], codes: Codes
    ) -> tuple[NDArray[np.int64], ...]:
        found = tuple(one_each(part, xy) for part in locate(xy, codes))
        for place in range(0 if self._tried else min(TRIED_ALONE, len(xy))):
            self._tried = True
            only = slice(place, place + 1)
            alone = locate(xy[only], tuple(each[only] for each in codes))
            if any(one_each(own, xy[only])[0] != part[place] for part, own in zip(found, alone, strict=True)):
                raise NotOneByOneError("locate must look at each point by itself: its neighbours changed its cell.")
        return found


def located(cells: Any, xy: NDArray[np.float64], codes: Codes) -> Any:
    """Ask cells where records are; only those that say so are handed the codes."""
    return cells.locate(xy, codes) if getattr(cells, "reads_codes", False) else cells.locate(xy)


def one_each(located: NDArray[np.int64], xy: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the cell of each point; refuse cells that would count a point twice, as one that lies on a border."""
    found = np.asarray(located)
    if found.shape != (len(xy),) or (len(xy) and found.dtype.kind not in "iu"):
        raise NotOneByOneError("locate must return exactly one cell, a whole number, for each point.")
    return found
