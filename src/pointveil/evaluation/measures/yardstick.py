"""How good a release is beside real samples, where the real points are themselves a sample of many more."""

import numpy as np

from pointveil.evaluation.comparison import SHIFTS, XY, Comparison
from pointveil.evaluation.measures.cell_error import shifted_cell_error
from pointveil.evaluation.registry import measure

CELL = 100.0  # metres


@measure(
    "another_sample",
    title="Another real sample",
    better="nearer",
    reading="What another real sample of the same size would have as NCE in cells of 100 m on random grids. A release "
    "whose own is lower is closer to the real points than that.",
    synthetic=0,
    population=True,
)
def another_sample_error(comparison: Comparison) -> float:
    """Return the mean NCE on random grids of a sample of the population, as large as the real points."""
    return shifted_cell_error(comparison.against(_sample(comparison, len(comparison.real))), cell=CELL)


@measure(
    "effective_sample_size",
    title="Effective sample size",
    better="higher",
    reading="How many records of a real sample are worth as much as one of the release, for counts in cells of 100 m "
    "on random grids, by their error against the population: 1 is as good as a real sample of its size.",
    population=True,
)
def effective_sample_size(comparison: Comparison) -> float:
    """Return the squared error of a real sample of the release's size, over that of the release."""
    # The error of a sample falls with the root of its size, so that squares are in proportion to sizes.
    size = min(len(comparison.synthetic), len(comparison.everybody))
    sampled = population_error(comparison, _sample(comparison, size))
    return (sampled / population_error(comparison, comparison.synthetic)) ** 2


def population_error(comparison: Comparison, points: XY, shifts: int = SHIFTS) -> float:
    """Return the mean NCE of points on random grids against the population, scaled to as many."""
    pair = Comparison(comparison.everybody, points, comparison.world, comparison.seed)
    scale = len(points) / len(pair.real)
    counts = pair.shifted_cell_counts(CELL, shifts)
    return float(np.mean([np.abs(scale * real - some).sum() / len(points) for real, some in counts]))


def _sample(comparison: Comparison, size: int) -> XY:
    everybody = comparison.everybody
    chosen = np.random.default_rng(comparison.seed).choice(len(everybody), min(size, len(everybody)), replace=False)
    return everybody[chosen]
