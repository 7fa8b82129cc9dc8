"""Number the cells of a grid along a curve that keeps neighbours together."""

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Ints, blocks

BLOCK = 2**18  # cells at a time, so that many need little memory


def hilbert_index(column: NDArray[np.integer], row: NDArray[np.integer], order: int) -> Ints:
    """Return the place of each cell along the Hilbert curve over 2**order by 2**order cells.

    Every square of a quadtree over the cells is one unbroken run of the curve.
    """
    place = np.empty(len(column), dtype=np.int64)
    for part in blocks(len(column), BLOCK):
        place[part] = _index(column[part].astype(np.int64), row[part].astype(np.int64), order)
    return place


def _index(x: Ints, y: Ints, order: int) -> Ints:
    place = np.zeros_like(x)
    for step in (1 << k for k in reversed(range(order))):
        right, upper = (x & step) > 0, (y & step) > 0
        place += step * step * ((3 * right) ^ upper)
        flip = ~upper & right
        x, y = np.where(flip, ~x, x) & (step - 1), np.where(flip, ~y, y) & (step - 1)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
    return place
