"""Give every synthetic point a bin, so that every patch gets nearly the right mix."""

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.ground.quadtree import hilbert_index

GOLDEN = (5**0.5 - 1) / 2
ORDER = 16
"""The curve passes through 2**ORDER by 2**ORDER squares."""


def walk(xy: Floats) -> Ints:
    """Return the points in the order of a space-filling curve over them: neighbours in it are neighbours on the map."""
    if not len(xy):
        return np.zeros(0, dtype=np.int64)
    corner = xy.min(axis=0)
    side = max(float(np.ptp(xy, axis=0).max()), 1e-9)
    square = np.minimum((xy - corner) * (2**ORDER / side), 2**ORDER - 1).astype(np.int64)
    return np.argsort(hilbert_index(square[:, 0], square[:, 1], ORDER), kind="stable")


def assign(order: Ints, group: Ints, laws: Floats, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return the bin of each point, and where in its bin it lies, from 0 to 1.

    The points of a group are met in turn, in the `order` (n,) of `walk`, and its law is read at steps of the golden
    ratio from a random one on: any run of neighbours gets nearly the right mix, and nearly even places inside each bin.
    `group` (n,) says whose law each point follows: that of its region, or of its region and the bins that it has
    already. Laws (groups, bins) need not add up to one; a group without people takes all bins alike.
    """
    met = order[np.argsort(group[order], kind="stable")]
    groups = group[met]
    turn = np.arange(len(met)) - np.searchsorted(groups, np.arange(len(laws)))[groups]
    read = (rng.random(len(laws))[groups] + GOLDEN * turn) % 1.0
    bins, place = np.empty(len(met), dtype=np.int64), np.empty(len(met))
    bins[met], place[met] = _look_up(laws, groups, read)
    return bins, place


def _look_up(laws: Floats, groups: Ints, read: Floats) -> tuple[Ints, Floats]:
    """Return the bin of each group's cumulative law that holds the value read, and how far into it that is."""
    laws = np.where(laws.sum(axis=1, keepdims=True) > 0, laws, 1.0)
    shares = laws / laws.sum(axis=1, keepdims=True)
    # All laws in one sorted list, law g from g to g + 1: one search finds the bins of all points.
    ends = np.arange(len(laws))[:, None] + np.minimum(np.cumsum(shares, axis=1), 1.0)
    ends[:, -1] = np.arange(len(laws)) + 1.0
    found = np.searchsorted(ends.ravel(), groups + read, side="right")
    bins = np.clip(found - groups * laws.shape[1], 0, laws.shape[1] - 1)
    share = shares[groups, bins]
    start = ends[groups, bins] - share
    return bins, np.clip((groups + read - start) / np.maximum(share, 1e-12), 0.0, np.nextafter(1.0, 0.0))
