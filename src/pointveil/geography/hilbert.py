"""Number the cells of a grid along a curve that keeps neighbours together."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def hilbert_index(column: Ints, row: Ints, order: int) -> Ints:
    """Return the place of each cell along the Hilbert curve over 2**order by 2**order cells.

    Every square of a quadtree over the cells is one unbroken run of the curve.
    """
    x, y = column.astype(np.int64), row.astype(np.int64)
    place = np.zeros_like(x)
    for step in (1 << k for k in reversed(range(order))):
        right, upper = (x & step) > 0, (y & step) > 0
        place += step * step * ((3 * right) ^ upper)
        flip = ~upper & right
        x, y = np.where(flip, ~x, x) & (step - 1), np.where(flip, ~y, y) & (step - 1)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
    return place
