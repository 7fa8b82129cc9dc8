"""Round expected counts to whole people, without losing or inventing any."""

import numpy as np

from pointveil.cells import Floats, Ints


def round_to_total(expected: Floats, total: int, rng: np.random.Generator) -> Ints:
    """Return whole counts (n,) that add up to `total`, each within one of its share (systematic sampling).

    One random offset slides a comb of whole numbers along the running sum. So each count is right on average, and
    neighbouring counts make up for each other's rounding: sums over an area are within one person, too.
    """
    mass = float(expected.sum())
    if total <= 0 or mass <= 0:
        return np.zeros(len(expected), dtype=np.int64)
    running = np.cumsum(expected) * (total / mass)
    running[-1] = total  # the sum of many floats may miss it by a rounding
    marks = np.floor(np.minimum(running, total) + rng.random()).astype(np.int64)
    marks[-1] = total
    return np.diff(np.minimum(marks, total), prepend=0)
