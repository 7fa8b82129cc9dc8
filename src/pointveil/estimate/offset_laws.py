"""How far from their road people are: one distribution for each kind of road, or for each edge."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pointveil.cells import ON_THE_ROAD, EdgeOffsets, Floats, Ints, KindOffsets
from pointveil.cells.arrays import by_group
from pointveil.estimate.consistency import project_to_total
from pointveil.estimate.road_law import fit_factors, shrink
from pointveil.vault import NoisyCounts

STANDS_OUT = 2  # how many standard deviations of the noise a bin of a single edge must have to be believed


@dataclass(frozen=True, eq=False)
class OffsetLaws:
    """Numbered laws of the offset, and which edge follows which."""

    of_edge: Ints  # the number of the law that each edge follows
    borders: Sequence[Floats]  # for each law, where its bins begin, and where the last one ends, in metres
    shares: Sequence[Floats]  # for each law, the share of people in each of its bins; they add up to one
    far: "FarLaw | None" = None  # how far the people out of reach are, if that was asked

    def draw(self, edge: Ints, rng: np.random.Generator) -> Floats:
        """Return an offset in metres for each point on these edges, drawn from the distribution of its edge."""
        # The draw is stratified: of n points with one distribution, one falls into each n-th of it.
        law = self.of_edge[edge]
        order = by_group(law)
        offset = np.zeros(len(edge))
        for own in np.split(order, np.flatnonzero(np.diff(law[order])) + 1) if len(edge) else ():
            number = law[own[0]]
            rank, within = rng.permutation(len(own)), np.empty(len(own))
            within[rank] = rng.random(len(own))
            running = np.concatenate([[0.0], np.cumsum(self.shares[number])])
            # Rising numbers are looked up four times as fast.
            rising = np.interp((np.arange(len(own)) + within) / len(own), running, self.borders[number])
            offset[own] = rising.take(rank)
        offset[offset < ON_THE_ROAD] = 0.0
        return offset


@dataclass(frozen=True, eq=False)
class FarLaw:
    """How far from roads the people out of reach are."""

    borders: Floats  # where the bins begin, in metres; the last one has no end
    noisy: Floats  # how many people there are in each, with noise
    variance: float  # of that noise
    people: float  # how many people are out of reach in all, most likely

    def factors(self, owner: Ints, distance: Floats, people: Floats) -> Floats:
        """Return a weight for each place, such that weighing the places of each owner reproduces the noisy histogram.

        A place is a choice for the `people` (owners,) of one owner, `distance` metres from the nearest road. The
        histogram is first shrunk towards what even placement would give.
        """
        bin_ = np.maximum(np.searchsorted(self.borders, distance, side="right") - 1, 0)
        choices = np.bincount(owner, minlength=len(people))
        people = np.where(choices > 0, people, 0.0)
        even = np.bincount(bin_, (people / np.maximum(choices, 1))[owner], len(self.borders)).astype(np.float64)
        scale = self.people / max(float(even.sum()), 1e-9)
        wanted = project_to_total(shrink(self.noisy, even * scale, self.variance), self.people)
        bins = len(self.borders)
        table = np.bincount(owner * bins + bin_, minlength=len(people) * bins).reshape(-1, bins)
        wanted = np.where(even > 0, wanted / scale, 0.0) if scale > 0 else even
        return fit_factors(table.astype(np.float64), people, wanted)[bin_]


def kind_laws(beside: NoisyCounts, offsets: KindOffsets, people: Floats, far_people: float) -> OffsetLaws:
    """Return the law of each kind of road, given the likely number of people at each edge and out of reach in all."""
    along, beyond = np.split(beside.values.astype(np.float64), [offsets.kinds * offsets.bins])
    noisy = along.reshape(offsets.kinds, offsets.bins)
    totals = np.bincount(offsets.cells.kind, people, offsets.kinds).astype(np.float64)
    shares = kind_shares(noisy, beside.variance, totals, np.diff(offsets.borders))
    far = FarLaw(offsets.beyond, beyond, beside.variance, far_people)
    return OffsetLaws(offsets.cells.kind, [offsets.borders] * offsets.kinds, list(shares), far)


def kind_shares(noisy: Floats, variance: float, totals: Floats, widths: Floats) -> Floats:
    """Return the share of people in each bin, (kinds, bins), from as many noisy counts; each row adds up to one.

    Each kind is shrunk towards all kinds together, so a kind with few people takes the distribution of all. If there
    is nobody at all, every offset up to the reach is equally likely: `widths` are metres.
    """
    together = project_to_total(noisy.sum(axis=0), float(totals.sum()))
    together = _shares(together if together.any() else widths)
    pulled = (shrink(row, total * together, variance) for row, total in zip(noisy, totals, strict=True))
    each = [project_to_total(row, total) for row, total in zip(pulled, totals, strict=True)]
    return np.array([_shares(row) if row.any() else together for row in each])


def edge_laws(beside: NoisyCounts, offsets: EdgeOffsets) -> OffsetLaws:
    """Return the law of each edge, from its own bins alone; where none stands out, every offset is as likely."""
    edges = np.arange(len(offsets.bins))
    believed = np.where(beside.values > STANDS_OUT * math.sqrt(beside.variance), beside.values, 0.0)
    counts = np.split(believed[: offsets.first[-1]], offsets.first[1:-1])
    borders = [offsets.borders(int(edge)) for edge in edges]
    shares = [_shares(bins if bins.any() else np.diff(at)) for bins, at in zip(counts, borders, strict=True)]
    return OffsetLaws(edges, borders, shares)


def _shares(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(), dtype=np.float64)
