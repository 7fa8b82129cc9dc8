"""How wrong a release will be, told from noisy counts and epsilon alone."""

import numpy as np

from pointveil.cells import Floats
from pointveil.vault import laplace_variance


def predict_cell_error(counts: Floats, size: tuple[float, float], epsilon: float, cell: float) -> float:
    """Return the NCE to expect in square cells of side `cell`, laid anywhere.

    Two things go wrong. Noise moves counts; over many regions together it averages out. And people are not spread
    evenly within a region: how unevenly is guessed from how much neighbouring regions differ, as if the city looked
    alike at all scales. Nothing here has seen a real point, so the answer is a guess and costs nothing.

    Parameters
    ----------
    counts
        The released number of points in each region of a grid, by row and column.
    size
        Width and height of a region, in metres.
    epsilon
        Of the noise in the counts.
    cell
        In metres.
    """
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    side = float(np.sqrt(size[0] * size[1]))  # metres
    noise = _noise_share(counts, epsilon) / max(1.0, cell / side)
    uneven = _unevenness(counts, epsilon) * _growth(side / cell)
    return float(min(np.hypot(noise, uneven), 2.0))


def _noise_share(counts: Floats, epsilon: float) -> float:
    """Return the noise left in the counts, per point; where nobody is, it was taken away again."""
    return float(np.minimum(counts, 1 / epsilon).sum() / counts.sum())


def _unevenness(counts: Floats, epsilon: float) -> float:
    """Return how much neighbours differ, per point, with the part that is mere noise taken off."""
    noise = 2 * laplace_variance(epsilon)
    apart = together = 0.0
    for one, other in ((counts[1:], counts[:-1]), (counts[:, 1:], counts[:, :-1])):
        apart += float(np.sqrt(np.maximum((one - other) ** 2 - noise, 0.0)).sum())
        together += float((one + other).sum())
    return apart / together if together else 0.0


def _growth(regions: float) -> float:
    """Return how unevenness adds up: over halvings within a region, or, in larger cells, only along their rim."""
    return float(np.sqrt(1 + 2 * np.log2(regions)) if regions >= 1 else regions**1.25)
