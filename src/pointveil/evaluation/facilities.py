"""Where to open facilities, so that customers come or have a short way (Max-Inf and Min-Dist)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from pointveil.cells import Floats, Ints
from pointveil.errors import InputError, UnmeasuredError

Chosen = Ints  # numbers of the chosen candidates, rising

STARTS, CELLS = 24, 120  # random starts of the search for short ways; cells along the longer side of the map in it
SECONDS = 60.0  # the longest that one exact solution may take


@dataclass(frozen=True, eq=False)
class Customers:
    """Customers at distinct places, and the candidates they choose among."""

    places: Floats  # where customers are, (k, 2) metres
    weights: Floats  # how many customers are at each place, (k,)
    candidates: Floats  # where a facility may open, (c, 2) metres
    limits: Floats  # from each place to the nearest existing facility, (k,) metres; a candidate must be nearer

    @classmethod
    def of(cls, places: Floats, weights: Floats, candidates: Floats, existing: Floats | None = None) -> "Customers":
        """Give customers their limits; without existing facilities there are none."""
        limits = np.full(len(places), np.inf)
        if existing is not None and len(existing):
            limits = np.asarray(cKDTree(existing).query(places)[0], dtype=np.float64)
        return cls(places, weights, candidates, limits)

    @cached_property
    def distances(self) -> Floats:
        """Metres from each candidate to each place, `(c, k)`."""
        return np.asarray(cdist(self.candidates, self.places), dtype=np.float64)

    @cached_property
    def fallback(self) -> Floats:
        """Metres that each place has to go while no candidate is open, `(k,)`: to an existing facility or the worst."""
        return np.asarray(np.minimum(self.limits, self.distances.max(axis=0)), dtype=np.float64)

    def total(self, chosen: Chosen) -> float:
        """Return the metres from all customers to the nearest open facility, new or existing."""
        return float((np.minimum(self.fallback, self.distances[chosen].min(axis=0)) * self.weights).sum())

    def gathered(self) -> "Customers":
        """Return about the same customers at fewer places: one for each of small cells."""
        west, south = self.places.min(axis=0)
        column, row = np.floor((self.places - (west, south)) * (CELLS / max(np.ptp(self.places, axis=0).max(), 1.0))).T
        _, cell = np.unique(column * (CELLS + 1) + row, return_inverse=True)
        weights = np.bincount(cell, self.weights).astype(np.float64)
        x, y, limits = (np.bincount(cell, v * self.weights) / weights for v in (*self.places.T, self.limits))
        return Customers(np.column_stack([x, y]), weights, self.candidates, limits)


def most_influential(customers: Customers, *, choose: int, reach: float = 500.0, solver: str = "exact") -> Chosen:
    """Choose the facilities that attract most customers together (Max-Inf).

    A facility attracts a customer who is at most `reach` metres away and nearer to it than to any existing
    facility. A customer counts once, however many chosen facilities attract them.
    """
    solve = _solver(customers, choose, solver, {"exact": _exact, "greedy": _greedy})
    return solve(*_attracting_sets(customers, reach), choose)


def least_distance(customers: Customers, *, choose: int, solver: str = "swaps") -> Chosen:
    """Choose the facilities that make the total distance to the nearest facility least (Min-Dist).

    "greedy" opens the best next one; "swaps" exchanges open for closed ones as long as that helps.
    """
    solve = _solver(customers, choose, solver, {"swaps": _swapped, "greedy": _shortest_next})
    return solve(customers, choose)


def _solver(
    customers: Customers, choose: int, name: str, solvers: dict[str, Callable[..., Chosen]]
) -> Callable[..., Chosen]:
    """Return the solver of that name; refuse to open no facility, or more than there are candidates."""
    most = len(customers.candidates)
    if not 1 <= choose <= most:
        raise InputError(f"choose must be from 1 to {most}, the number of candidates, not {choose}.")
    if name not in solvers:
        raise InputError(f"solver must be one of {', '.join(solvers)}, not {name!r}.")
    return solvers[name]


def _attracting_sets(customers: Customers, reach: float) -> tuple[sparse.csr_array, Floats]:
    """Return the distinct sets of candidates that attract somebody, `(sets, c)`, and the customers of each set."""
    # Customers attracted by the same candidates are interchangeable, so gathering them is exact.
    attracts = (customers.distances <= reach) & (customers.distances < customers.limits)
    packed = np.ascontiguousarray(np.packbits(attracts, axis=0).T)
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    weights = np.bincount(group, customers.weights, minlength=len(first)).astype(np.float64)
    return sparse.csr_array(attracts[:, first].T.astype(np.float64)), weights


def _greedy(sets: sparse.csr_array, weights: Floats, choose: int) -> Chosen:
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


def _exact(sets: sparse.csr_array, weights: Floats, choose: int) -> Chosen:
    """Open the candidates that attract most customers together (HiGHS, with no gap allowed)."""
    # Each set is missed (1) or not (0), and it is missed unless one of its candidates is open.
    count, candidates = sets.shape
    if not weights.any():
        return np.arange(choose)
    is_candidate = np.repeat([1.0, 0.0], [candidates, count])
    found = milp(
        np.concatenate([np.zeros(candidates), weights * (1e6 / weights.sum())]),
        integrality=is_candidate,
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sparse.hstack([sets, sparse.eye_array(count)], format="csr"), np.ones(count), np.inf),
            LinearConstraint(sparse.csr_array(is_candidate[None, :]), choose, choose),
        ],
        options={"mip_rel_gap": 0.0, "time_limit": SECONDS},
    )
    if found.status != 0:
        raise UnmeasuredError(f"no exact answer to the facility question within {SECONDS:g} s; use solver='greedy'")
    return np.flatnonzero(np.rint(found.x[:candidates]))


def _shortest_next(customers: Customers, choose: int) -> Chosen:
    """Open, one after another, the candidate that saves most distance."""
    nearest, weights = customers.fallback, customers.weights
    taken: list[int] = []
    for _ in range(choose):
        # Sums, not matrix products: threads of the linear algebra library cost more here than they save.
        saves = np.array([(np.maximum(nearest - row, 0.0) * weights).sum() for row in customers.distances])
        saves[taken] = -1.0
        taken.append(int(np.argmax(saves)))
        nearest = np.minimum(nearest, customers.distances[taken[-1]])
    return np.sort(np.array(taken, dtype=np.int64))


def _swapped(customers: Customers, choose: int) -> Chosen:
    """Swap one facility for another until no swap shortens the total (Teitz and Bart), from several starts."""
    # Which start leads farthest is found out with customers gathered in small cells; all of them have the last word.
    gathered, rng = customers.gathered(), np.random.default_rng(0)
    starts = [rng.choice(len(customers.candidates), choose, replace=False) for _ in range(STARTS)]
    ends = [_improved(gathered, start) for start in [_shortest_next(gathered, choose), *starts]]
    return np.sort(_improved(customers, min(ends, key=gathered.total)))


def _improved(customers: Customers, chosen: Chosen) -> Chosen:
    """Make the best swap, again and again, until none is left."""
    # Less than a nanometre per customer is rounding, and would be swapped to and fro.
    best, least = chosen.copy(), 1e-9 * customers.weights.sum()
    while True:
        closed = np.setdiff1d(np.arange(len(customers.candidates)), best)
        saved = _saved_by_swaps(customers, best, closed)
        if saved.max(initial=0.0) <= least:
            return best
        opened, out = np.unravel_index(np.argmax(saved), saved.shape)
        best[out] = closed[opened]


def _saved_by_swaps(customers: Customers, chosen: Chosen, closed: Chosen) -> Floats:
    """Return the metres saved by opening each closed candidate and closing each chosen one, `(closed, chosen)`."""
    rows = np.vstack([customers.distances[chosen], customers.fallback])
    owner, (nearest, second) = rows.argmin(axis=0), np.partition(rows, 1, axis=0)[:2]
    closing = np.bincount(owner, customers.weights * (second - nearest), minlength=len(rows))
    saved = np.empty((len(closed), len(rows)))
    for row, candidate in zip(saved, closed, strict=True):
        distance = customers.distances[candidate]
        near = np.flatnonzero(distance < second)  # only these ever go to the candidate
        distance, first, weights = distance[near], nearest[near], customers.weights[near]
        opening = (weights * np.maximum(first - distance, 0.0)).sum()
        spared = weights * (second[near] - np.maximum(distance, first))
        row[:] = opening - closing + np.bincount(owner[near], spared, minlength=len(rows))
    return saved[:, :-1]
