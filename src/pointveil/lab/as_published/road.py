"""The paper's Road, word for word. NOT PRIVATE: true total, ranges taken from the data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pointveil.cells import Floats, Ints, Nearest
from pointveil.network import Network, places_along
from pointveil.vault import Rehearsal
from pointveil.world import World

Shares = Mapping[str, float]

NOISE_QUANTILE = 0.9
MOST_THRESHOLD = 10.0
EMPTY_REACH = 10.0  # metres: where the paper puts people beside an edge that has none
MOST_TRIES = 100


Edges = tuple[Ints, Nearest]  # how many points to make on each edge, and what the real ones look like from there


def count_edges(vault: Rehearsal, world: World, shares: Shares, rng: np.random.Generator) -> Edges:
    """Count the points that are nearest to each edge, with noise, and rescale to the true total. Not private."""
    network = Network.of(world)
    near = network.nearest(vault.exact_points())
    true = np.bincount(near.edge, minlength=len(network))
    return noisy_counts(true, shares["count"], rng), near


def place(vault: Rehearsal, world: World, counted: Edges, shares: Shares, rng: np.random.Generator) -> Floats:
    """Place points along and beside edges by noisy histograms with the range of the real points. Not private."""
    del vault
    network, (counts, near) = Network.of(world), counted
    bins = np.maximum(1, np.rint(np.sqrt(counts)).astype(np.int64))
    along = Histograms.of(near.edge, near.along, bins, network.lengths, shares["along"], rng)
    beside = np.full(len(network), EMPTY_REACH)
    offset = Histograms.of(near.edge, near.offset, bins, beside, shares["offset"], rng)
    # Draw place, offset and side of every point, again and again for those in water.
    edge = np.repeat(np.arange(len(counts)), counts)
    xy = np.zeros((len(edge), 2))
    wet = np.arange(len(edge))
    for _ in range(MOST_TRIES):
        foot, direction = places_along(network.streets.segments, edge[wet], along.draw(edge[wet], rng))
        away = offset.draw(edge[wet], rng) * rng.choice([-1.0, 1.0], len(wet))
        xy[wet] = foot + np.column_stack([-direction[:, 1], direction[:, 0]]) * away[:, None]
        wet = wet[~world.on_land(xy[wet])]
        if not len(wet):
            break
    return np.delete(xy, wet, axis=0)


def noisy_counts(true: Ints, epsilon: float, rng: np.random.Generator) -> Ints:
    """Return the number of points to make on each edge: noisy, rescaled to the true total, small ones dropped."""
    raw = true + rng.laplace(0, 1 / epsilon, len(true))
    rescaled = true.sum() * raw / raw.sum() if raw.sum() > 0 else raw
    threshold = min(-math.log(2 - 2 * NOISE_QUANTILE) / epsilon, MOST_THRESHOLD)
    return np.where(rescaled > threshold, np.rint(rescaled), 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Histograms:
    """One histogram of a value for each edge, with noise in its bins."""

    first: Ints  # where the bins of each edge begin, and where the last ones end
    lower: Floats  # where the first bin of each edge begins
    width: Floats  # of its bins
    running: Floats  # the sum of all weights up to each bin, this one included

    @classmethod
    def of(
        cls, edge: Ints, values: Floats, bins: Ints, empty: Floats, epsilon: float, rng: np.random.Generator
    ) -> "Histograms":
        """Count values by edge and bin, from the least value to the largest; an empty edge reaches to `empty`."""
        lower, upper = np.full(len(bins), np.inf), np.full(len(bins), -np.inf)
        np.minimum.at(lower, edge, values)
        np.maximum.at(upper, edge, values)
        nobody = upper < lower
        lower[nobody], upper[nobody] = 0.0, empty[nobody]
        width = (upper - lower) / bins
        first = np.concatenate([[0], np.cumsum(bins)])
        part = np.divide(values - lower[edge], width[edge], out=np.zeros(len(values)), where=width[edge] > 0)
        cell = first[edge] + np.minimum(part.astype(np.int64), bins[edge] - 1)
        noisy = np.bincount(cell, minlength=first[-1]) + rng.laplace(0, 1 / epsilon, first[-1])
        weights = np.maximum(noisy, 0)
        owner = np.repeat(np.arange(len(bins)), bins)
        hopeless = np.bincount(owner, weights=weights, minlength=len(bins)) <= 0
        weights[hopeless[owner]] = 1.0
        return cls(first, lower, width, np.cumsum(weights))

    def draw(self, edge: Ints, rng: np.random.Generator) -> Floats:
        """Return a value for each edge given: a bin by its weight, and anywhere in it."""
        before = np.concatenate([[0.0], self.running])
        low, high = before[self.first[edge]], before[self.first[edge + 1]]
        cell = np.searchsorted(self.running, low + rng.random(len(edge)) * (high - low), side="right")
        cell = np.clip(cell, self.first[edge], self.first[edge + 1] - 1)
        value = self.lower[edge] + (cell - self.first[edge] + rng.random(len(edge))) * self.width[edge]
        return np.asarray(value, dtype=np.float64)
