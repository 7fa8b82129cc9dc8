"""Choose the facilities that customers have the least way to (Min-Dist)."""

import heapq
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from pointveil.evaluation.customers import Chosen, Customers, Misses, least_missed, ones

_SPARE = 2  # steps to know beyond those that were needed last time


def greedy_distance(customers: Customers, choose: int) -> Chosen:
    """Open, one after another, the candidate that saves most distance.

    What a candidate saves can only shrink as others open, so an old saving is a bound: only the candidate
    with the best bound is worked out again.
    """
    distances = cdist(customers.candidates, customers.places)
    nearest = customers.limits.copy()
    if np.isinf(nearest).any():
        nearest = np.minimum(nearest, distances.max(axis=0))
    bounds = [(-np.inf, number) for number in range(len(distances))]
    taken: list[int] = []
    while len(taken) < choose:
        _, number = heapq.heappop(bounds)
        saving = float(customers.weights @ np.maximum(nearest - distances[number], 0.0))
        if bounds and (-saving, number) > bounds[0]:
            heapq.heappush(bounds, (-saving, number))
            continue
        taken.append(number)
        nearest = np.minimum(nearest, distances[number])
    return np.sort(np.array(taken, dtype=np.int64))


def exact_distance(customers: Customers, choose: int) -> Chosen:
    """Find the best facilities by looking only as far down each customer's list as matters.

    A customer's distance is the distance to the nearest candidate, plus a step to the second if the nearest
    is not chosen, plus a step to the third if neither is, and so on. Cutting lists short leaves steps out and
    can only lower the total; so if the best choice for short lists needs no step that was left out, it is
    the best for whole lists. Otherwise the lists that were too short are made longer. Most of that is found
    out quickly, with candidates that may open in part.
    """
    lists = _Lists.of(customers, depth=32)
    opening = np.zeros(len(customers.candidates))
    opening[greedy_distance(customers, choose)] = 1.0
    lengths = lists.needed(opening) + _SPARE
    for in_parts in (True, False):
        while True:
            lists = lists.deep_enough(lengths)
            opening = least_missed(lists.steps(lengths), choose, in_parts=in_parts)
            short = lists.needed(opening) > lengths
            if not short.any():
                break
            lengths = np.where(short, lists.needed(opening) + _SPARE, lengths)
    return np.flatnonzero(opening)


@dataclass(frozen=True)
class _Lists:
    """Each customer's nearest candidates in order, as far as known, with their distances.

    `whole` is how many candidates are of any use to a customer: those nearer than an existing facility.
    """

    customers: Customers
    order: NDArray[np.int64]
    distances: NDArray[np.float64]
    whole: NDArray[np.int64]

    @classmethod
    def of(cls, customers: Customers, depth: int) -> "_Lists":
        depth = min(depth, len(customers.candidates))
        found = cKDTree(customers.candidates).query(customers.places, k=np.arange(1, depth + 1))
        distances, order = np.asarray(found[0]), np.asarray(found[1], dtype=np.int64)
        useful = (distances < customers.limits[:, None]).sum(axis=1)
        return cls(customers, order, distances, np.where(useful < depth, useful, len(customers.candidates)))

    def deep_enough(self, lengths: NDArray[np.int64]) -> "_Lists":
        """Return lists that know one candidate more than the longest of `lengths`, or all there are."""
        known, wanted = self.order.shape[1], int(np.minimum(lengths, self.whole).max(initial=0)) + 1
        if known >= min(wanted, len(self.customers.candidates)):
            return self
        return _Lists.of(self.customers, max(wanted, 2 * known))

    def needed(self, opening: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return how many steps of each list lie before one whole candidate is open, as far as known."""
        before = np.cumsum(opening[self.order], axis=1) < 1 - 1e-6
        return np.asarray(np.minimum(before.sum(axis=1), self.whole), dtype=np.int64)

    def steps(self, lengths: NDArray[np.int64]) -> Misses:
        """Return the sets "the k nearest", and how much farther everyone goes if none of a set is chosen.

        Customers whose k nearest are the same set are added up: exact, since only the sum matters. A set is
        missed if the set without its farthest member is missed and that member is not chosen either.
        """
        candidates, place = len(self.customers.candidates), np.arange(self.order.shape[1])
        endless = np.isinf(self.customers.limits)
        used = place < np.minimum(lengths, np.where(endless, candidates - 1, self.whole))[:, None]
        customer, depth = np.nonzero(used)
        names = self._names
        sets, first, group = np.unique(names[used], return_index=True, return_inverse=True)
        weights = np.bincount(group, self._farther[used] * self.customers.weights[customer]).astype(np.float64)
        example, size = customer[first], depth[first] + 1
        rows, shorter = np.arange(len(sets)), np.flatnonzero(size > 1)
        parents = np.searchsorted(sets, names[example[shorter], size[shorter] - 2])
        chain = sparse.eye_array(len(sets)) - ones(shorter, parents, (len(sets), len(sets)))
        members = ones(rows, self.order[example, size - 1], (len(sets), candidates))
        return Misses(members, chain, (size == 1).astype(np.float64), weights)

    @cached_property
    def _names(self) -> NDArray[np.uint64]:
        """The name of each set of the k nearest."""
        words = _random_words(len(self.customers.candidates))
        return np.bitwise_xor.accumulate(words[self.order], axis=1)

    @cached_property
    def _farther(self) -> NDArray[np.float64]:
        """How much farther it is to the next candidate, or to an existing facility."""
        after = np.column_stack([self.distances[:, 1:], np.full(len(self.order), np.inf)])
        farther: NDArray[np.float64] = np.minimum(after, self.customers.limits[:, None]) - self.distances
        return farther


def _random_words(candidates: int) -> NDArray[np.uint64]:
    """Return a random 64-bit word for each candidate; the words of a set, xored, are its name."""
    # Two of a million sets share a name with a chance of 3 in 10⁸.
    return np.random.default_rng(0).integers(0, 2**64, size=candidates, dtype=np.uint64)
