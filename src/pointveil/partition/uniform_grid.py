"""Divide the world into equal cells (the paper's UGrid)."""

from dataclasses import dataclass
from typing import ClassVar

from pointveil.cells import Grid
from pointveil.partition.base import Budget, Counted, ask_total, grid_side, partitioner, settle
from pointveil.vault import Respondent
from pointveil.world import World


@partitioner
@dataclass(frozen=True)
class UniformGrid:
    """A grid of equal cells, as fine as the noisy total allows.

    Parameters
    ----------
    granularity
        Points per cell, times epsilon (10 in the paper).

    Examples
    --------
    >>> pv.Method(pv.UniformGrid(granularity=20), pv.Uniform(), {"count": 1})
    <Method custom: UniformGrid, Uniform; count 1>
    """

    granularity: float = 10.0
    spends: ClassVar[tuple[str, ...]] = ("total", "count")
    post_processing: ClassVar[tuple[str, ...]] = ("negative counts removed, keeping the total",)

    def divide(self, vault: Respondent, world: World, budget: Budget) -> Counted:
        """Ask how many there are, lay a grid to fit, and count its cells."""
        total = ask_total(vault, budget["total"])
        # With k points per person the noise is as wide as that of a single point at epsilon / k.
        side = grid_side(total, budget["count"].epsilon / vault.points_per_unit, self.granularity)
        grid = Grid(world.bounds, side, side)
        return settle(grid, vault.count(grid, budget["count"]), world)
