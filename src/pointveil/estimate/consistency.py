"""Make the counts of parts agree with the counts of the wholes they belong to."""

import numpy as np

from pointveil.cells import Floats, Ints


def reconcile(wholes: Floats, whole_variance: float, parts: Floats, part_variance: float, owner: Ints) -> Floats:
    """Combine each whole's own count with the sum of its parts' counts (inverse-variance weighting).

    A whole without parts keeps its count.

    Parameters
    ----------
    wholes, parts
        Noisy counts: (wholes,) and (parts,) people.
    whole_variance, part_variance
        Variance of the noise in one count of each.
    owner
        (parts,) number of the whole that each part belongs to.
    """
    sums = np.bincount(owner, weights=parts, minlength=len(wholes))
    sizes = np.bincount(owner, minlength=len(wholes))
    # The sum of k parts has k times the variance of one, so the more parts, the less their sum is trusted.
    weight = whole_variance / (whole_variance + sizes * part_variance)
    weight = np.where(sizes > 0, weight, 0.0)
    return np.asarray(weight * sums + (1 - weight) * wholes, dtype=np.float64)


def project_parts(parts: Floats, owner: Ints, totals: Floats) -> Floats:
    """Return the non-negative numbers nearest to `parts` (parts,) whose sums by owner are `totals` (wholes,).

    This is `project_to_total` for every whole at once: within a whole the same amount is taken from every part, and
    what would fall below zero becomes zero. A total of zero or less makes all its parts zero.
    """
    if not len(parts):
        return np.zeros(0)
    # Sort by whole, largest part first; then the parts that stay above zero are the first few of each whole.
    order = np.lexsort((-parts, owner))
    whole, ordered = owner[order], parts[order]
    first = np.searchsorted(whole, np.arange(len(totals)))[whole]
    rank = np.arange(1, len(parts) + 1) - first
    running = np.cumsum(ordered)
    before = np.where(first > 0, running[first - 1], 0.0)
    # What each part must give up if it and all larger ones of its whole were the only ones above zero.
    excess = (running - before - totals[whole]) / rank
    # The last part that is larger than its own excess fixes the amount for the whole.
    last = np.bincount(whole, weights=ordered > excess, minlength=len(totals)).astype(np.int64)
    place = np.minimum(np.searchsorted(whole, np.arange(len(totals))) + np.maximum(last, 1) - 1, len(parts) - 1)
    taken = excess[place]
    projected = np.maximum(parts - taken[owner], 0.0)
    return np.where(totals[owner] > 0, projected, 0.0)
