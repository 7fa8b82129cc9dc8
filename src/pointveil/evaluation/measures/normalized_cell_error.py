"""How many points stand in the wrong cell, as in the paper (NCE)."""

import numpy as np

from pointveil.evaluation.comparison import Comparison, Counts
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
    return cell_error(*comparison.cell_counts(cell))


def cell_error(real: Counts, synthetic: Counts) -> float:
    """Return the error of counts in the same cells."""
    return float(np.abs(real - synthetic).sum() / real.sum())
