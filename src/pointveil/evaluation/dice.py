"""How much two sets have in common (Sørensen–Dice)."""

import numpy as np
from numpy.typing import NDArray


def dice(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the Sørensen–Dice coefficient of two sets given as masks (equation 15); two empty sets agree."""
    together = int(one.sum()) + int(other.sum())
    return 2.0 * int((one & other).sum()) / together if together else 1.0
