"""How wrong a release will be, told from noisy counts and epsilon alone."""

import numpy as np

from pointveil.cells import Floats
from pointveil.vault import laplace_variance


def predict_cell_error(counts: Floats, size: tuple[float, float], epsilon: float, cell: float) -> float:
    """Return the NCE to expect in square cells of side `cell`, laid anywhere.

    `counts` are those released in a grid, by row and column; `size` is width and height of a region, in metres.

    Two things go wrong. Noise moves counts; over many regions together it averages out. And people are not spread
    evenly within a region: how unevenly is guessed from how much neighbouring regions differ, as if the city looked
    alike at all scales. Nothing here has seen a real point, so the answer is a guess and costs nothing.
    """
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    side = float(np.sqrt(size[0] * size[1]))  # metres
    # Where nobody is, the noise was taken away again.
    noise = float(np.minimum(counts, 1 / epsilon).sum() / total) / max(1.0, cell / side)
    # Unevenness adds up over halvings within a region, or, in larger cells, only along their rim.
    growth = float(np.sqrt(1 + 2 * np.log2(side / cell)) if side >= cell else (side / cell) ** 1.25)
    return float(min(np.hypot(noise, _unevenness(counts, epsilon) * growth), 2.0))


def _unevenness(counts: Floats, epsilon: float) -> float:
    """Return how much neighbours differ, per point, with the part that is mere noise taken off."""
    noise = 2 * laplace_variance(epsilon)
    apart = together = 0.0
    for one, other in ((counts[1:], counts[:-1]), (counts[:, 1:], counts[:, :-1])):
        apart += float(np.sqrt(np.maximum((one - other) ** 2 - noise, 0.0)).sum())
        together += float((one + other).sum())
    return apart / together if together else 0.0
