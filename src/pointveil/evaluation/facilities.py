"""Whether a business would open its shops in the same places (facility location)."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from pointveil.errors import InputError
from pointveil.evaluation.base import XY, Place, UnmeasuredError, dice, need_points
from pointveil.evaluation.range_queries import choose_centres

Chosen = NDArray[np.int64]
"""Numbers of the chosen candidates, rising."""

_SECONDS = 60.0  # the longest that one exact solution may take


@dataclass(frozen=True)
class Customers:
    """Customers at distinct places, and the candidates they choose among.

    Parameters
    ----------
    places
        Where customers are, in metres.
    weights
        How many customers are at each place.
    candidates
        Where a facility may open, in metres.
    limits
        A candidate at this distance or farther is of no use to the customer: an existing facility is nearer.
    """

    places: XY
    weights: NDArray[np.float64]
    candidates: XY
    limits: NDArray[np.float64]

    @classmethod
    def of(cls, xy: XY, candidates: XY, existing: XY | None) -> "Customers":
        """Gather customers who stand on the same spot: exact, since they have the same distances."""
        spots, weights = np.unique(xy[:, 0] + 1j * xy[:, 1], return_counts=True)
        places = np.column_stack([spots.real, spots.imag])
        limits = np.full(len(places), np.inf)
        if existing is not None and len(existing):
            limits = cKDTree(existing).query(places)[0]
        return cls(places, weights.astype(np.float64), candidates, limits)


# --- Max-Inf -----------------------------------------------------------------------------------------------


def most_influential(
    xy: XY,
    candidates: XY,
    *,
    choose: int,
    reach: float = 500.0,
    existing: XY | None = None,
    solver: str = "exact",
) -> Chosen:
    """Choose the facilities that attract most customers together (Max-Inf).

    A facility attracts a customer who is at most `reach` metres away and nearer to it than to any existing
    facility. A customer counts once, however many chosen facilities attract them.

    Parameters
    ----------
    xy
        The customers, in metres.
    candidates
        Where a facility may open, in metres.
    choose
        How many to open.
    reach
        How far a customer goes, in metres.
    existing
        Facilities that are there already, in metres.
    solver
        "exact" or "greedy".
    """
    _check(candidates, choose, solver)
    customers = Customers.of(xy, candidates, existing)
    sets, weights = _attracting_sets(customers, reach)
    if solver == "greedy":
        return _greedy_sets(sets, weights, choose)
    return _least_missed(sets, weights, choose)


def _attracting_sets(customers: Customers, reach: float) -> tuple[sparse.csr_array, NDArray[np.float64]]:
    """Return the distinct sets of candidates that attract somebody, and how many customers each set has.

    Customers attracted by the same candidates are interchangeable, so gathering them is exact.
    """
    distances = cdist(customers.places, customers.candidates)
    attracts = (distances <= reach) & (distances < customers.limits[:, None])
    packed = np.packbits(attracts, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    weights = np.bincount(group, customers.weights, minlength=len(first))
    return sparse.csr_array(attracts[first].astype(np.float64)), weights


def _greedy_sets(sets: sparse.csr_array, weights: NDArray[np.float64], choose: int) -> Chosen:
    """Open, one after another, the candidate that attracts most customers whom nobody attracts yet."""
    open_weights = weights.copy()
    taken: list[int] = []
    for _ in range(choose):
        gains = sets.T @ open_weights
        gains[taken] = -1.0
        best = int(np.argmax(gains))
        taken.append(best)
        open_weights[sets[:, [best]].toarray().ravel() > 0] = 0.0
    return np.sort(np.array(taken, dtype=np.int64))


# --- Min-Dist ----------------------------------------------------------------------------------------------


def least_distance(
    xy: XY, candidates: XY, *, choose: int, existing: XY | None = None, solver: str = "exact"
) -> Chosen:
    """Choose the facilities that make the total distance to the nearest facility least (Min-Dist).

    Parameters
    ----------
    xy
        The customers, in metres.
    candidates
        Where a facility may open, in metres.
    choose
        How many to open.
    existing
        Facilities that are there already, in metres; customers may go there too.
    solver
        "exact" or "greedy".
    """
    _check(candidates, choose, solver)
    customers = Customers.of(xy, candidates, existing)
    greedy = _greedy_distance(customers, choose)
    return greedy if solver == "greedy" else _exact_distance(customers, choose, greedy)


def total_distance(xy: XY, facilities: XY) -> float:
    """Return the total distance from the customers to their nearest facility, in metres."""
    return float(cKDTree(facilities).query(xy)[0].sum())


def _greedy_distance(customers: Customers, choose: int) -> Chosen:
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


def _exact_distance(customers: Customers, choose: int, start: Chosen) -> Chosen:
    """Find the best facilities by looking only as far down each customer's list as matters.

    A customer's distance is the distance to the nearest candidate, plus a step to the second if the nearest
    is not chosen, plus a step to the third if neither is, and so on. Cutting lists short leaves steps out and
    can only lower the total; so if the best choice for short lists needs no step that was left out, it is
    the best for whole lists. Otherwise the lists that were too short are made longer.
    """
    lists = _Lists.of(customers, depth=32)
    lengths = lists.first_of(start) + 1
    while True:
        lists = lists.deep_enough(lengths)
        lengths = np.minimum(lengths, lists.whole)
        sets, steps = lists.steps(lengths)
        chosen = _least_missed(sets, steps, choose)
        lists = lists.reaching(chosen)
        needed = np.minimum(lists.first_of(chosen) - 1, lists.whole)
        if not (needed > lengths).any():
            return chosen
        lengths = np.maximum(lengths, needed + 1)


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

    def reaching(self, chosen: Chosen) -> "_Lists":
        """Return lists in which every customer finds a chosen candidate, or the end."""
        lists = self
        while lists.order.shape[1] < len(self.customers.candidates):
            missing = lists.first_of(chosen) > lists.order.shape[1]
            if not (missing & (lists.whole > lists.order.shape[1])).any():
                break
            lists = _Lists.of(self.customers, 2 * lists.order.shape[1])
        return lists

    def first_of(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return at which place of each list, from 1, the first chosen candidate stands; past the end if none."""
        is_chosen = np.zeros(len(self.customers.candidates), dtype=np.bool_)
        is_chosen[chosen] = True
        hits = is_chosen[self.order]
        return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1, self.order.shape[1] + 1)

    def steps(self, lengths: NDArray[np.int64]) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Return the sets "the k nearest", and how much farther everyone goes if none of a set is chosen.

        Customers whose k nearest are the same set are added up: exact, since only the sum matters.
        """
        candidates, known = len(self.customers.candidates), self.order.shape[1]
        farther = np.column_stack([self.distances[:, 1:], np.full(len(self.order), np.inf)])
        farther = np.minimum(farther, self.customers.limits[:, None])
        place = np.arange(known)
        last = (place + 1 == candidates) & np.isinf(self.customers.limits)[:, None]
        used = (place < lengths[:, None]) & ~last
        weighted = (farther[used] - np.broadcast_to(self.distances, used.shape)[used]) * np.repeat(
            self.customers.weights, used.sum(axis=1)
        )
        keys = np.bitwise_xor.accumulate(_random_keys(candidates)[self.order], axis=1)[used]
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        customer, depth = (index[first] for index in np.nonzero(used))
        member = place < (depth + 1)[:, None]
        rows = np.repeat(np.arange(len(first)), depth + 1)
        columns = self.order[customer][member]
        shape = (len(first), candidates)
        sets = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        return sets, np.bincount(group, weighted, minlength=len(first))


def _random_keys(candidates: int) -> NDArray[np.uint64]:
    """Return a random 64-bit word for each candidate; the words of a set, xored, are its name."""
    # Two of a million sets share a name with a chance of 3 in 10⁸.
    return np.random.default_rng(0).integers(0, 2**64, size=candidates, dtype=np.uint64)


# --- both --------------------------------------------------------------------------------------------------


def _least_missed(sets: sparse.csr_array, weights: NDArray[np.float64], choose: int) -> Chosen:
    """Choose candidates so that the weight of the sets with no chosen member is least (HiGHS)."""
    worth = np.flatnonzero(weights > 0)
    sets, weights = sets[worth], weights[worth]
    rows, candidates = sets.shape
    if not rows:
        return np.arange(choose)
    missed = np.concatenate([np.zeros(candidates), weights * (1e6 / weights.sum())])
    kind = np.concatenate([np.ones(candidates), np.zeros(rows)])
    hit_or_missed = LinearConstraint(sparse.hstack([sets, sparse.eye_array(rows)], format="csr"), 1, np.inf)
    as_many = LinearConstraint(sparse.csr_array(kind[None, :]), choose, choose)
    found = milp(
        missed,
        integrality=kind,
        bounds=Bounds(0, 1),
        constraints=[hit_or_missed, as_many],
        options={"mip_rel_gap": 0.0, "time_limit": _SECONDS},
    )
    if found.status != 0:
        raise UnmeasuredError(
            f"no exact answer to the facility question within {_SECONDS:g} s; ask for solver='greedy'"
        )
    return np.sort(np.argsort(-found.x[:candidates], kind="stable")[:choose])


SOLVERS = ("exact", "greedy")


def _check(candidates: XY, choose: int, solver: str) -> None:
    """Refuse a question that has no answer."""
    if solver not in SOLVERS:
        raise InputError(f"solver is {solver!r}; say one of {', '.join(SOLVERS)}.")
    if not 1 <= choose <= len(candidates):
        raise InputError(f"choose is {choose}, with {len(candidates)} candidates; say 1 to {len(candidates)}.")


def most_influential_agreement(
    real: XY,
    synthetic: XY,
    world: Place,
    *,
    choose: int = 20,
    reach: float = 500.0,
    candidates: XY | None = None,
    existing: XY | None = None,
    solver: str = "exact",
    seed: int = 0,
) -> float:
    """Return the Sørensen–Dice coefficient of the Max-Inf choices from real and from synthetic points.

    Parameters
    ----------
    real, synthetic
        The customers, in metres.
    world
        Where they are.
    choose
        How many facilities to open.
    reach
        How far a customer goes, in metres.
    candidates
        Where a facility may open, in metres; 100 road nodes if not given.
    existing
        Facilities that are there already, in metres.
    solver
        "exact" or "greedy".
    seed
        Chooses the candidates if they are not given.
    """

    def answer(xy: XY, places: XY) -> Chosen:
        return most_influential(xy, places, choose=choose, reach=reach, existing=existing, solver=solver)

    return _agreement(real, synthetic, world, answer, choose=choose, candidates=candidates, seed=seed)


def least_distance_agreement(
    real: XY,
    synthetic: XY,
    world: Place,
    *,
    choose: int = 20,
    candidates: XY | None = None,
    existing: XY | None = None,
    solver: str = "exact",
    seed: int = 0,
) -> float:
    """Return the Sørensen–Dice coefficient of the Min-Dist choices from real and from synthetic points.

    Parameters
    ----------
    real, synthetic
        The customers, in metres.
    world
        Where they are.
    choose
        How many facilities to open.
    candidates
        Where a facility may open, in metres; 100 road nodes if not given.
    existing
        Facilities that are there already, in metres.
    solver
        "exact" or "greedy".
    seed
        Chooses the candidates if they are not given.
    """

    def answer(xy: XY, places: XY) -> Chosen:
        return least_distance(xy, places, choose=choose, existing=existing, solver=solver)

    return _agreement(real, synthetic, world, answer, choose=choose, candidates=candidates, seed=seed)


def _agreement(
    real: XY,
    synthetic: XY,
    world: Place,
    answer: Callable[[XY, XY], Chosen],
    *,
    choose: int,
    candidates: XY | None,
    seed: int,
) -> float:
    """Ask the same question of both sets of customers and compare the answers."""
    need_points("facility location", real, "real")
    need_points("facility location", synthetic, "synthetic")
    places = choose_centres(world, seed=seed) if candidates is None else np.asarray(candidates, np.float64)
    if len(places) <= choose:
        raise UnmeasuredError(f"facility location needs more than {choose} candidates; there are {len(places)}")
    marks = np.zeros((2, len(places)), dtype=np.bool_)
    for mark, xy in zip(marks, (real, synthetic), strict=True):
        mark[answer(xy, places)] = True
    return dice(*marks)
