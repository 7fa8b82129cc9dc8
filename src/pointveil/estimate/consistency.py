"""Make counts of parts and of the wholes they belong to agree."""

import numpy as np

from pointveil.cells import Floats, Ints


def reconcile(wholes: Floats, whole_variance: float, parts: Floats, part_variance: float, owner: Ints) -> Floats:
    """Return the best guess of each whole from its own count and from the sum of its parts' counts.

    Each of the two is weighted by the inverse of its variance. A whole without parts keeps its count.

    Parameters
    ----------
    wholes, parts
        Noisy counts.
    whole_variance, part_variance
        Variance of the noise in one of them.
    owner
        The whole that each part belongs to.
    """
    sums = np.bincount(owner, weights=parts, minlength=len(wholes))
    sizes = np.bincount(owner, minlength=len(wholes))
    weight = whole_variance / (whole_variance + sizes * part_variance)  # of the sum
    weight = np.where(sizes > 0, weight, 0.0)
    return np.asarray(weight * sums + (1 - weight) * wholes, dtype=np.float64)


def project_parts(parts: Floats, owner: Ints, totals: Floats) -> Floats:
    """Return the non-negative numbers nearest to `parts` whose sums by owner are `totals`.

    Within each whole the same amount is added to every part or taken from it, and what would fall below zero stops
    there; `project_to_total` does this for a single whole. A total that is not above zero makes all its parts zero.
    """
    if not len(parts):
        return np.zeros(0)
    order = np.lexsort((-parts, owner))
    whole, ordered = owner[order], parts[order]
    first = np.searchsorted(whole, np.arange(len(totals)))[whole]
    rank = np.arange(1, len(parts) + 1) - first
    running = np.cumsum(ordered)
    before = np.where(first > 0, running[first - 1], 0.0)
    excess = (running - before - totals[whole]) / rank
    # The parts that stay above zero are the first few of each whole; the last such fixes what is taken.
    last = np.bincount(whole, weights=ordered > excess, minlength=len(totals)).astype(np.int64)
    place = np.minimum(np.searchsorted(whole, np.arange(len(totals))) + np.maximum(last, 1) - 1, len(parts) - 1)
    taken = excess[place]
    projected = np.maximum(parts - taken[owner], 0.0)
    return np.where(totals[owner] > 0, projected, 0.0)
