"""Make noisy counts non-negative, consistent and whole, without losing or inventing people."""

from collections.abc import Iterator

import numpy as np

from pointveil.cells import Floats, Ints, blocks


def project_to_total(counts: Floats, total: float) -> Floats:
    """Return the non-negative numbers nearest to `counts` (n,) that add up to `total` people."""
    # The same amount is taken from every count, and what would fall below zero becomes zero. Clipping at zero alone
    # would keep all the upward noise and none of the downward, and so invent people.
    if total <= 0 or not len(counts):
        return np.zeros(len(counts))
    ordered, stay, reached = np.sort(counts.astype(np.float64, copy=False))[::-1], 0, 0.0
    for block in blocks(len(ordered)):  # some at a time: there may be many
        excess = ordered[block].copy()
        excess[0] += reached
        reached = np.cumsum(excess, out=excess)[-1]
        # What each count must give up if it and all larger ones were the only ones above zero.
        excess -= total
        excess /= np.arange(block.start + 1, block.stop + 1)
        stay += int(np.count_nonzero(ordered[block] > excess))
        ordered[block] = excess
    # The counts that stay above zero are the first few; at least one does, even if a tiny total is lost in rounding.
    left = counts - ordered[max(stay, 1) - 1]
    return np.asarray(np.maximum(left, 0.0, out=left), dtype=np.float64)


def reconcile(wholes: Floats, whole_variance: float, parts: Floats, part_variance: float, owner: Ints) -> Floats:
    """Combine each whole's own count with the sum of its parts' counts (inverse-variance weighting).

    Counts are people, variances those of the noise in one count; `owner` is the whole of each part. A whole without
    parts keeps its count.
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


def round_to_total(expected: Floats, total: int, rng: np.random.Generator) -> Ints:
    """Return whole counts (n,) that add up to `total`, each within one of its share (systematic sampling)."""
    whole, before = np.zeros(len(expected), dtype=np.int64), 0
    for block, marks in _marks(expected, total, rng):
        whole[block] = np.diff(marks, prepend=before)
        before = marks[-1]
    return whole


def members_of_total(expected: Floats, total: int, rng: np.random.Generator) -> Ints:
    """Return the number of the count that each of `total` people belongs to, (total,), in order.

    This is `round_to_total` written out, without an array of all counts, of which there may be many.
    """
    owner, before = np.empty(max(total, 0), dtype=np.int64), 0
    for block, marks in _marks(expected, total, rng):
        ends = marks.astype(np.int64)
        ends -= before
        here = owner[before : before + ends[-1]]
        # How many counts end with each person or before; who comes next belongs to the one after these.
        np.cumsum(np.bincount(ends)[: len(here)], out=here)
        here += block.start
        before += len(here)
    return owner[:before]


def _marks(expected: Floats, total: int, rng: np.random.Generator) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of counts, with how many people there are up to the end of each; nothing if there are none."""
    # One random offset slides a comb of whole numbers along the running sum. So each count is right on average, and
    # neighbouring counts make up for each other's rounding: sums over an area are within one person, too.
    mass = float(expected.sum())
    if total <= 0 or mass <= 0:
        return
    offset, reached = rng.random(), 0.0
    for block in blocks(len(expected)):
        marks = expected[block].astype(np.float64)
        marks[0] += reached
        reached = float(np.cumsum(marks, out=marks)[-1])
        marks *= total / mass
        np.minimum(marks, total, out=marks)
        marks += offset
        np.floor(marks, out=marks)
        np.minimum(marks, total, out=marks)
        if block.stop == len(expected):
            marks[-1] = total  # the sum of many floats may miss it by a rounding
        yield block, marks
