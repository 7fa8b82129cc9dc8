"""Make noisy counts non-negative without adding people."""

import numpy as np

from pointveil.cells import Floats


def project_to_total(counts: Floats, total: float) -> Floats:
    """Return the non-negative numbers nearest to `counts` (n,) that add up to `total` people.

    The same amount is taken from every count, and what would fall below zero becomes zero. Clipping at zero alone
    would keep all the upward noise and none of the downward, and so invent people.
    """
    if total <= 0 or not len(counts):
        return np.zeros(len(counts))
    ordered = np.sort(counts)[::-1].astype(np.float64)
    # What each count must give up if it and all larger ones were the only ones above zero.
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    # The counts that stay above zero are the first few; at least one does, even if a tiny total is lost in rounding.
    taken = excess[max(int(np.count_nonzero(ordered > excess)), 1) - 1]
    return np.asarray(np.maximum(counts - taken, 0.0), dtype=np.float64)
