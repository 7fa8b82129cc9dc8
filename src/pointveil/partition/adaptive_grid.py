"""Divide the world into cells that are smaller where people are (the paper's AGrid)."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pointveil.cells import Grid, Ints, NestedGrid
from pointveil.estimate import project_parts, project_to_total, reconcile
from pointveil.ground import clip_to_land
from pointveil.partition.base import Budget, Counted, ask_total, grid_side, partitioner
from pointveil.vault import NoisyCounts, Respondent
from pointveil.world import World

LEAST_SIDE = 10
MOST_PARTS = 2**23  # no nested grid has more cells, whatever the noisy counts say


@partitioner
@dataclass(frozen=True)
class AdaptiveGrid:
    """A coarse grid, each of whose cells is cut as finely as its noisy count allows.

    Parameters
    ----------
    granularity
        Points per cell, times epsilon, of the uniform grid that the coarse one is a fourth of (10 in the paper).
    fine_granularity
        Points per fine cell, times epsilon (5 in the paper).

    Examples
    --------
    >>> pv.Method(pv.AdaptiveGrid(), pv.Uniform(), {"shape": "1/3", "count": "2/3"})
    <Method custom: AdaptiveGrid, Uniform; shape 1/3, count 2/3>
    """

    granularity: float = 10.0
    fine_granularity: float = 5.0
    spends: ClassVar[tuple[str, ...]] = ("total", "shape", "count")
    post_processing: ClassVar[tuple[str, ...]] = (
        "counts of the two levels reconciled by inverse-variance weighting",
        "negative counts removed, keeping the total",
    )

    def divide(self, vault: Respondent, world: World, budget: Budget) -> Counted:
        """Count coarsely, cut busy cells finely, and count again."""
        # With k points per person the noise of a count is k times as wide: as that of a single point at epsilon / k.
        per_point = {purpose: share.epsilon / vault.points_per_unit for purpose, share in budget.items()}
        side = coarse_side(ask_total(vault, budget["total"]), per_point["shape"], self.granularity)
        coarse = Grid(world.bounds, side, side)
        busy = vault.count(coarse, budget["shape"])
        fine = NestedGrid(coarse, fine_sides(busy.values, per_point["count"], self.fine_granularity))
        return agree(fine, busy, vault.count(fine, budget["count"]), world)


def coarse_side(total: float, epsilon: Fraction, granularity: float) -> int:
    """Return the number of cells along one side of the coarse grid (equation 6), a whole number."""
    return max(LEAST_SIDE, grid_side(total, epsilon, granularity) // 4)


def fine_sides(counts: Ints, epsilon: Fraction, granularity: float) -> Ints:
    """Return into how many parts each coarse cell's side is cut, (cells,) (equation 7); at most MOST_PARTS in all."""
    sides = np.ceil(np.sqrt(np.maximum(counts, 0) * (float(epsilon) / granularity)))
    sides = np.maximum(sides, 1.0)
    excess = float(np.square(sides).sum()) / MOST_PARTS
    if excess > 1:
        sides = np.maximum(np.floor(sides / np.sqrt(excess)), 1.0)
    return sides.astype(np.int64)


def agree(fine: NestedGrid, busy: NoisyCounts, noisy: NoisyCounts, world: World) -> Counted:
    """Return non-negative counts of the fine cells, such that both levels agree."""
    # Negative counts are removed first among the coarse cells, then within each; the total is kept both times. That
    # nobody is in a cell without land is public knowledge, so its noise is left out of every sum.
    land = clip_to_land(fine, world)
    habitable = land.area > 0
    owner, parts = fine.owner[habitable], noisy.values[habitable].astype(np.float64)
    wholes = reconcile(busy.values.astype(np.float64), busy.variance, parts, noisy.variance, owner)
    wholes[np.bincount(owner, minlength=len(wholes)) == 0] = 0.0
    counts = np.zeros(len(fine))
    counts[habitable] = project_parts(parts, owner, project_to_total(wholes, float(wholes.sum())))
    return Counted(fine, counts, land)
