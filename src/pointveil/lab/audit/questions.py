"""The vault's two questions as subjects of their own: one grid counted, one grid scattered."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pointveil.cells import Floats, Grid, Ints
from pointveil.lab.audit.subjects import CLAIM, MAX_POINTS, Subject
from pointveil.vault import Share
from pointveil.world import World

CELL = 50.0
SITES_PER_SIDE = 6
MANY_USES = 12


@dataclass(frozen=True)
class Squares:
    """Square regions, each with numbered sites along a winding way."""

    grid: Grid

    def site_counts(self) -> Ints:
        """Return the same number for every region."""
        return np.full(len(self.grid), SITES_PER_SIDE**2)

    def locate_sites(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return the region and the site of each point."""
        region = np.asarray(self.grid.locate(xy))
        within = (xy - self.grid.lower_corners()[np.maximum(region, 0)]) / np.array(self.grid.cell_size)
        column, row = np.clip(np.nan_to_num(within * SITES_PER_SIDE), 0, SITES_PER_SIDE - 1).astype(np.int64).T
        return region, row * SITES_PER_SIDE + np.where(row % 2 == 0, column, SITES_PER_SIDE - 1 - column)


def squares(world: World) -> Grid:
    """Return cells of 50 m."""
    return Grid(world.bounds, *(round(side / CELL) for side in world.size))


def ask_count(vault: Any) -> tuple[Floats, str]:
    """Ask how many are in each square."""
    vault.count(squares(vault.world), Share("count", vault.left))
    return np.zeros((0, 2)), ""


def ask_scatter(uses: int) -> Any:
    """Return the question where in its square each is, each point used so often."""

    def ask(vault: Any) -> tuple[Floats, str]:
        grid = squares(vault.world)
        vault.scatter(
            Squares(grid),
            np.full(len(grid), uses * vault.points_per_unit),
            Share("place", Fraction(vault.left)),
            max_uses=uses,
        )
        return np.zeros((0, 2)), ""

    return ask


QUESTIONS: dict[str, Subject] = {
    subject.name: subject
    for subject in (
        Subject("vault.count", ask_count, quick=True),
        Subject("vault.count, ε = 1/4", ask_count, Fraction(1, 4)),
        Subject("vault.count, ε = 4", ask_count, Fraction(4)),
        Subject("vault.count, person", ask_count, CLAIM, MAX_POINTS, quick=True),
        Subject("vault.count, person with 2 points", ask_count, CLAIM, 2),
        Subject("vault.scatter", ask_scatter(1)),
        Subject(f"vault.scatter, {MANY_USES} uses", ask_scatter(MANY_USES)),
        Subject("vault.scatter, person", ask_scatter(1), CLAIM, MAX_POINTS),
    )
}
