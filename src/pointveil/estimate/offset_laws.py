"""How far from their road people most likely are: a law for each class of road, or for each edge."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointveil.geography.road_offsets import ON_THE_ROAD, ClassOffsets, EdgeOffsets
from pointveil.vault import NoisyCounts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIOR = 20
"""How many bins' worth of noise a class must outweigh to have an offset law of its own."""
STANDS_OUT = 2
"""How many standard deviations of the noise a bin of offsets must have to be believed."""


@dataclass(frozen=True, eq=False)
class OffsetLaws:
    """Numbered laws of the offset, and which edge follows which.

    Parameters
    ----------
    of_edge
        The number of the law that each edge follows.
    borders
        For each law, where its bins begin, and where the last one ends, in metres.
    shares
        For each law, the share of people in each of its bins; they add up to one.
    """

    of_edge: Ints
    borders: Sequence[Floats]
    shares: Sequence[Floats]

    def draw(self, edge: Ints, rng: np.random.Generator) -> Floats:
        """Return an offset for each point on these edges, as their laws say, as evenly as can be."""
        law = self.of_edge[edge]
        order = np.argsort(law, kind="stable")
        offset = np.zeros(len(edge))
        for own in np.split(order, np.flatnonzero(np.diff(law[order])) + 1) if len(edge) else ():
            number = law[own[0]]
            quantile = (rng.permutation(len(own)) + rng.random(len(own))) / len(own)
            running = np.concatenate([[0.0], np.cumsum(self.shares[number])])
            offset[own] = np.interp(quantile, running, self.borders[number])
        return np.where(offset < ON_THE_ROAD, 0.0, offset)


def class_laws(beside: NoisyCounts, offsets: ClassOffsets) -> OffsetLaws:
    """Return the law of each class of road.

    A class with few people borrows from all classes together, so that its law is not mere noise; if all of them are
    lost in the noise, every offset up to the reach is as likely.
    """
    shares = class_shares(beside, np.diff(offsets.borders))
    return OffsetLaws(offsets.cells.network.edges.road_class, [offsets.borders] * len(shares), list(shares))


def class_shares(beside: NoisyCounts, widths: Floats) -> Floats:
    """Return the share of people in each bin, a row for each class.

    Parameters
    ----------
    beside
        What the vault answered.
    widths
        How wide each bin is.
    """
    noisy = beside.values.reshape(-1, len(widths)).astype(np.float64)
    noise = math.sqrt(beside.variance)
    together = _believe(noisy.sum(axis=0), noise * math.sqrt(len(noisy)))
    together = together if together.any() else widths
    each = np.array([_believe(row, noise) for row in noisy])
    mixed = each + PRIOR * noise * together / together.sum()
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True), dtype=np.float64)


def edge_laws(beside: NoisyCounts, offsets: EdgeOffsets) -> OffsetLaws:
    """Return the law of each edge, from its own bins alone; where none stands out, every offset is as likely."""
    edges = np.arange(len(offsets.bins))
    believed = _believe(beside.values.astype(np.float64), math.sqrt(beside.variance))
    counts = np.split(believed[: offsets.first[-1]], offsets.first[1:-1])
    borders = [offsets.borders(int(edge)) for edge in edges]
    shares = [_shares(bins if bins.any() else np.diff(at)) for bins, at in zip(counts, borders, strict=True)]
    return OffsetLaws(edges, borders, shares)


def _shares(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _believe(counts: Floats, noise: float) -> Floats:
    """Return the counts that stand out of noise of this standard deviation, and zero for the others."""
    return np.where(counts > STANDS_OUT * noise, counts, 0.0)
