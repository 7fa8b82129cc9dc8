"""Predict each leaf's count from the counts around it, leaving its own out."""

from collections.abc import Iterator

import numpy as np

from pointveil.cells import Floats, Ints, Leaves
from pointveil.ground import pooled

WIDTHS = (0.7, 1.2, 2.0, 4.0, 8.0)  # standard deviations of the neighbourhoods, in sides of the leaf
TRUNCATE = 3.0
TILE = 256
HALO = 25  # how many cells beyond a tile the widest neighbourhood reaches: TRUNCATE × 8 = 24, and one more
CAUTION = 0.02  # a pseudo-count, as a part of the mean prior: keeps ratios finite where hardly anybody is expected


def expect_from_neighbours(noisy: Floats, prior: Floats, leaves: Leaves, variance: float) -> Floats:
    """Return the count to expect in each leaf, (leaves,) people, from the other leaves near it.

    `prior` is what was expected before the leaves were counted, and `variance` that of the noise in one count.
    """
    # Seven features per leaf: five widths of neighbourhood, the prior, and the overall mean.
    features = neighbour_ratios(noisy, prior, leaves, more=2)
    features[:, -2], features[:, -1] = prior, prior.mean()
    return regress(noisy, features, variance)


def neighbour_ratios(noisy: Floats, prior: Floats, leaves: Leaves, *, more: int = 0) -> Floats:
    """Return the prior of each leaf times the ratio of counts to priors around it: (leaves, widths) people.

    With room for so many `more` columns, because a copy of all would take much memory.
    """
    # A leaf's own count is left out, so that the prediction is independent of the leaf's own noise. If it were not, the
    # regression on these features would learn to copy the noise.
    ratios = np.zeros((len(noisy), len(WIDTHS) + more))
    fields = _spread(noisy, leaves), _spread(prior, leaves)
    overall = max(noisy.sum(), 0.0) / max(prior.sum(), 1e-9)
    caution = max(CAUTION * float(prior.mean()), 1e-9)
    for level in np.unique(leaves.level):
        # Work on cells of the leaf's own size, so that a width means the same for small and large leaves.
        counts, priors = (pooled(field, int(level)) for field in fields)
        for here, column, row, window in _tiles(leaves, int(level)):
            for number, width in enumerate(WIDTHS):
                own = own_weight(width)
                count = _blurred(counts[window], width)[column, row] - own * noisy[here]
                known = np.maximum(_blurred(priors[window], width)[column, row] - own * prior[here], 0)
                ratios[here, number] = prior[here] * (count + caution * overall) / (known + caution)
    return ratios


def _tiles(leaves: Leaves, level: int) -> Iterator[tuple[Ints, Ints, Ints, tuple[slice, slice]]]:
    """Yield the leaves of a level tile by tile: their numbers, their columns and rows in a window, and the window."""
    # Tiles bound the memory that blurring takes. The window reaches as far beyond the tile as the widest neighbourhood
    # does, so that tiles do not show in the result.
    here = np.flatnonzero(leaves.level == level)
    column, row = leaves.column[here] >> level, leaves.row[here] >> level
    tile = (column // TILE) << 32 | (row // TILE)
    order = np.argsort(tile, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(tile[order])) + 1):
        low_column, low_row = (max(int(axis[part[0]]) // TILE * TILE - HALO, 0) for axis in (column, row))
        high_column, high_row = (int(axis[part[0]]) // TILE * TILE + TILE + HALO for axis in (column, row))
        window = slice(low_column, high_column), slice(low_row, high_row)
        yield here[part], column[part] - low_column, row[part] - low_row, window


def regress(noisy: Floats, features: Floats, variance: float, rounds: int = 3) -> Floats:
    """Return the weighted least-squares fit of `noisy` (n,) to `features` (n, k): the fitted values, (n,) people."""
    fit = np.maximum(features.mean(axis=1), 0.01)
    weighted = np.empty_like(features)
    for _ in range(rounds):
        # A count's variance: that of the noise, that of a Poisson count, and an overdispersion of 0.3.
        np.divide(features, (variance + fit + 0.3 * fit**2)[:, None], out=weighted)
        square = weighted.T @ features
        # The widths overlap and are nearly collinear: a little ridge keeps their slopes small.
        ridge = 1e-4 * np.diag(np.diag(square) + 1e-12)
        slopes = np.linalg.lstsq(square + ridge, weighted.T @ noisy, rcond=None)[0]
        fit = np.maximum(features @ slopes, 0.001)
    return np.asarray(fit, dtype=np.float64)


def own_weight(width: float) -> float:
    """Return the weight that a Gaussian filter gives to the middle cell itself."""
    reach = int(TRUNCATE * width + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    return float((weights[reach] / weights.sum()) ** 2)


def _spread(values: Floats, leaves: Leaves) -> Floats:
    """Return a map (columns, rows) on which each leaf's value is spread evenly over its cells."""
    return np.where(leaves.leaf_at >= 0, (values / leaves.cells)[leaves.leaf_at], 0.0)


def _blurred(field: Floats, width: float) -> Floats:
    from scipy.ndimage import gaussian_filter  # late: few methods need it, and it is slow to load

    return np.asarray(gaussian_filter(field, width, mode="constant", truncate=TRUNCATE), dtype=np.float64)
