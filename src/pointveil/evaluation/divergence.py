"""How far apart the two spreads over cells are (Jensen–Shannon)."""

import numpy as np
from scipy.special import rel_entr

from pointveil.evaluation.base import XY, Place, need_points
from pointveil.evaluation.cell_error import Counts, cell_counts, random_offsets


def divergence_of_counts(one: Counts, other: Counts) -> float:
    """Return the Jensen–Shannon divergence of two histograms, in bits: 0 the same, 1 nothing in common."""
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2
    nats = (rel_entr(p, middle).sum() + rel_entr(q, middle).sum()) / 2
    return float(np.clip(nats / np.log(2), 0.0, 1.0))


def jensen_shannon(
    real: XY, synthetic: XY, world: Place, *, cell: float = 100.0, shifts: int = 10, seed: int = 0
) -> float:
    """Return the mean Jensen–Shannon divergence of the shares of the cells over random grids.

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
    need_points("Jensen–Shannon divergence", real, "real")
    need_points("Jensen–Shannon divergence", synthetic, "synthetic")
    values = [
        divergence_of_counts(*cell_counts(real, synthetic, world, cell=cell, offset=offset))
        for offset in random_offsets(cell, shifts, seed)
    ]
    return float(np.mean(values))
