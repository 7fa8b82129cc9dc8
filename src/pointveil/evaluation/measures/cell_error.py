"""How many points stand in the wrong cell (NCE): as in the paper, and wherever the grid lies."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS, Comparison, Counts
from pointveil.evaluation.registry import Sizes, measure

CELL_SIZES = (25, 50, 100, 200, 500)
CELLS = Sizes("cell", CELL_SIZES, "{} m", "square")


@measure(
    "nce",
    title="NCE",
    better="lower",
    reading="Surplus and missing points over all {} cells, per real point: 0 is perfect, 2 means that everyone is in "
    "the wrong cell. The grid starts at the corner of the map, as in the paper.",
    sizes=CELLS,
    synthetic=0,
)
def normalized_cell_error(comparison: Comparison, *, cell: float = 100.0) -> float:
    """Return the sum over cells of side `cell` metres of |real − synthetic|, over the real total (equation 3)."""
    return _error(*comparison.cell_counts(cell))


@measure(
    "nce_shifted",
    title="NCE on random grids",
    better="lower",
    reading="Surplus and missing points over all {} cells, per real point, on random grids: 0 is perfect, 2 means "
    "that everyone is in the wrong cell. The fair version: no method gains from its own grid.",
    sizes=CELLS,
    synthetic=0,
)
def shifted_cell_error(comparison: Comparison, *, cell: float = 100.0, shifts: int = SHIFTS) -> float:
    """Return the mean NCE in cells of side `cell` metres over random places of the grid."""
    # A method whose own cells lie on the evaluation grid looks far better than it is; a shifted grid is fair.
    return float(np.mean([_error(*counts) for counts in comparison.shifted_cell_counts(cell, shifts)]))


def _error(real: Counts, synthetic: Counts) -> float:
    return float(np.abs(real - synthetic).sum() / real.sum())
