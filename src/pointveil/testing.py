"""A vault that holds no points: answers from a script, so that methods can be tested without data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from pointveil.cells import Ints, numbered
from pointveil.columns import Column
from pointveil.formats import Layout
from pointveil.statement import Spend, Statement
from pointveil.vault import Cells, NoisyCounts, NoisyPoints, Share, Sites
from pointveil.world import World


@dataclass
class ScriptedVault:
    """Answers every count from a script, and every scatter evenly."""

    world: World  # the public one
    everywhere: int = 10  # the count of every cell, unless there is a script
    script: Callable[[Cells, Share], Ints] | None = None  # from cells and share to counts
    epsilon: Fraction = Fraction(1)  # what may be spent; what is asked beyond it is refused
    points_per_unit: int = 1
    kept_per_unit: int = 1
    by_person: bool = False
    max_points: int | None = None
    asked: list[Spend] = field(default_factory=list)
    layout: Layout = field(default_factory=lambda: Layout("csv", x="lon", y="lat"))
    keep: tuple[Column, ...] = ()  # columns that are kept beside the place
    rehearsal: bool = True
    gathers: bool = True  # it scatters, too

    @property
    def crs(self) -> str:
        """The CRS of the file that it stands for."""
        return self.layout.crs

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.epsilon - sum((spend.epsilon for spend in self.asked), Fraction(0))

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Answer from the script."""
        self._spend(Spend(share.purpose, share.epsilon, "count", len(cells), self.points_per_unit))
        values = np.full(len(cells), self.everywhere) if self.script is None else self.script(cells, share)
        return NoisyCounts(np.asarray(values, dtype=np.int64), share.purpose, share.epsilon, self.points_per_unit)

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Answer with the sum of the script's counts that are crowds; without a script, nobody is in one."""
        self._spend(Spend(share.purpose, share.epsilon, "crowding", len(cells), self.points_per_unit * least))
        counts = np.zeros(1) if self.script is None else self.script(cells, share)
        value = np.array([counts[counts >= least].sum()], dtype=np.int64)
        return NoisyCounts(value, share.purpose, share.epsilon, self.points_per_unit * least)

    def scatter(self, regions: Sites, wanted: Ints, share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Answer with the sites of each region in turn."""
        del max_uses
        counts = regions.site_counts()
        self._spend(Spend(share.purpose, share.epsilon, "scatter", len(counts), self.points_per_unit))
        wanted = np.where(counts > 0, np.maximum(wanted, 0), 0)
        region, number = numbered(wanted)
        return NoisyPoints(region, number % counts[region], share.purpose, share.epsilon, self.points_per_unit)

    @property
    def statement(self) -> Statement:
        """A statement about nothing: there were no real points."""
        from pointveil.vault import scripted_statement

        statement = scripted_statement(self.world, self.asked, self.points_per_unit)
        return statement.model_copy(update={"columns": tuple(column.to_dict() for column in self.keep)})

    def _spend(self, spend: Spend) -> None:
        if spend.epsilon > self.left:
            raise ValueError(f"'{spend.purpose}' asks for more than is left")
        self.asked.append(spend)
