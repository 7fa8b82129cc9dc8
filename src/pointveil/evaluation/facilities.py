"""Whether a business would open its shops in the same places (facility location)."""

from collections.abc import Callable

import numpy as np
from scipy.spatial import cKDTree

from pointveil.errors import InputError
from pointveil.evaluation.base import XY, Place, UnmeasuredError, dice, need_points
from pointveil.evaluation.customers import Chosen, Customers
from pointveil.evaluation.least_distance import exact_distance, greedy_distance
from pointveil.evaluation.most_influential import attracting_sets, exact_sets, greedy_sets
from pointveil.evaluation.range_queries import choose_centres

SOLVERS = ("exact", "greedy")


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
    sets, weights = attracting_sets(customers, reach)
    return {"exact": exact_sets, "greedy": greedy_sets}[solver](sets, weights, choose)


def least_distance(xy: XY, candidates: XY, *, choose: int, existing: XY | None = None, solver: str = "exact") -> Chosen:
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
    return {"exact": exact_distance, "greedy": greedy_distance}[solver](customers, choose)


def total_distance(xy: XY, facilities: XY) -> float:
    """Return the total distance from the customers to their nearest facility, in metres."""
    return float(np.sum(cKDTree(facilities).query(xy)[0]))


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
