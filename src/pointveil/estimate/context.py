"""Predict each leaf's count from the counts around it, leaving its own out."""

import numpy as np

from pointveil.cells import Floats, Leaves
from pointveil.estimate.tiles import Filtered, gaussian, tiles_of
from pointveil.ground import pooled

WIDTHS = (0.7, 1.2, 2.0, 4.0)  # standard deviations of the neighbourhoods, in sides of the leaf
WIDER = 1  # neighbourhood more: as wide as the widest of these, in squares twice as wide as the leaf
TRUNCATE = 3.0
MOST_FITTED = 2**18  # leaves that slopes are fitted to: more would hardly tell more
CAUTION = 0.02  # a pseudo-count, as a part of the mean prior: keeps ratios finite where hardly anybody is expected


def expect_from_neighbours(noisy: Floats, prior: Floats, leaves: Leaves, variance: float) -> Floats:
    """Return the count to expect in each leaf, (leaves,) people, from the other leaves near it.

    `prior` is what was expected before the leaves were counted, and `variance` that of the noise in one count.
    """
    # Seven features per leaf: five widths of neighbourhood, the prior, and the overall mean.
    features = neighbour_ratios(noisy, prior, leaves, more=2)
    features[-2], features[-1] = prior, prior.mean()
    return regress(noisy, features, variance)


def neighbour_ratios(noisy: Floats, prior: Floats, leaves: Leaves, *, more: int = 0) -> Floats:
    """Return the prior of each leaf times the ratio of counts to priors around it: (neighbourhoods, leaves) people.

    With room for so many `more` rows, because a copy of all would take much memory.
    """
    # A leaf's own count is left out, so that the prediction is independent of the leaf's own noise. If it were not, the
    # regression on these features would learn to copy the noise.
    ratios = np.zeros((len(WIDTHS) + WIDER + more, len(noisy)))
    overall = max(noisy.sum(), 0.0) / max(prior.sum(), 1e-9)
    caution = max(CAUTION * float(prior.mean()), 1e-9)
    lowest, highest = (int(end) for end in (leaves.level.min(initial=99), leaves.level.max(initial=0)))
    fields = [_spread(values, leaves, min(lowest, highest)) for values in (noisy, prior)]
    # Work on squares of the leaf's own size, or some levels above: a width means the same for small and large leaves.
    for scale in range(lowest, highest + WIDER + 1):
        wider = [pooled(np.pad(field, [(0, size % 2) for size in field.shape]), 1) for field in fields]
        blurred = [Filtered.by(fields.pop(0), *(gaussian(width, TRUNCATE) for width in WIDTHS)) for _ in range(2)]
        for above in range(WIDER + 1):
            first = len(WIDTHS) - 1 if above else 0
            least = caution * 4.0**above
            found = np.flatnonzero(leaves.level == scale - above)
            for tiles in tiles_of(leaves.column[found] >> scale, leaves.row[found] >> scale):
                here = found[tiles.here]
                mine, before = noisy[here], prior[here]
                for number, width in enumerate(WIDTHS[first:], first):
                    count, known = (tiles.of(field[number]) for field in blurred)
                    count -= own_weight(width) * mine
                    known = np.maximum(known - own_weight(width) * before, 0)
                    ratios[number + above, here] = before * (count + least * overall) / (known + least)
        fields = wider
    return ratios


def regress(noisy: Floats, features: Floats, variance: float, rounds: int = 3) -> Floats:
    """Return the weighted least-squares fit of `noisy` (n,) to `features` (k, n): the fitted values, (n,) people."""
    some = slice(None, None, len(noisy) // MOST_FITTED | 1)  # odd, or all would be the same one of four siblings
    counts, known = noisy[some], np.ascontiguousarray(features[:, some])
    fit, slopes = np.maximum(known.mean(axis=0), 0.01), np.zeros(len(features))
    for _ in range(rounds):
        # A count's variance: that of the noise, that of a Poisson count, and an overdispersion of 0.3.
        weighted = known / (variance + fit + 0.3 * fit**2)
        square = weighted @ known.T
        # The widths overlap and are nearly collinear: a little ridge keeps their slopes small.
        ridge = 1e-4 * np.diag(np.diag(square) + 1e-12)
        slopes = np.linalg.lstsq(square + ridge, weighted @ counts, rcond=None)[0]
        fit = np.maximum(slopes @ known, 0.001)
    return np.asarray(np.maximum(slopes @ features, 0.001), dtype=np.float64)


def own_weight(width: float) -> float:
    """Return the weight that a Gaussian filter gives to the middle cell itself."""
    return max(gaussian(width, TRUNCATE)) ** 2


def _spread(values: Floats, leaves: Leaves, scale: int) -> Floats:
    """Return a map (columns, rows) of squares of this level, on which each leaf's value is spread evenly over its own.

    No leaf is smaller than they are.
    """
    at = leaves.leaf_at[:: 1 << scale, :: 1 << scale]
    return np.append(values * 4.0**scale / leaves.cells, 0.0)[at]  # where there is no land, the last
