"""How many points stand in the wrong cell, wherever the grid lies."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS, Comparison
from pointveil.evaluation.measures.normalized_cell_error import CELLS, cell_error
from pointveil.evaluation.registry import measure


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
    return float(np.mean([cell_error(*counts) for counts in comparison.shifted_cell_counts(cell, shifts)]))
