"""Whether busy cells stay busier than quiet ones (Kendall's τ)."""

import numpy as np
from scipy.stats import kendalltau

from pointveil.evaluation.base import XY, Place, UnmeasuredError, need_points
from pointveil.evaluation.cell_error import Counts, cell_counts, random_offsets


def kendall_tau(
    real: XY, synthetic: XY, world: Place, *, cell: float = 100.0, shifts: int = 10, seed: int = 0
) -> float:
    """Return the mean τ-b of the real and synthetic counts of the cells over random grids.

    Only cells that hold a point of either set take part: empty sea agrees with empty sea and would flatter.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    cell
        Side of a cell, in metres.
    shifts
        How many random places of the grid.
    seed
        Chooses the places.
    """
    need_points("Kendall's τ", real, "real")
    need_points("Kendall's τ", synthetic, "synthetic")
    values = [
        _tau(*cell_counts(real, synthetic, world, cell=cell, offset=offset))
        for offset in random_offsets(cell, shifts, seed)
    ]
    return float(np.clip(np.mean(values), -1.0, 1.0))


def _tau(one: Counts, other: Counts) -> float:
    """Return τ-b of two lists of counts."""
    if len(np.unique(one)) < 2 or len(np.unique(other)) < 2:
        raise UnmeasuredError("Kendall's τ needs cells that hold different numbers of points, in both sets")
    return float(kendalltau(one, other).statistic)
