"""Whether a business would open in the same places: Max-Inf attracts most people, Min-Dist makes ways short."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pointveil.errors import UnmeasuredError
from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.facilities import Chosen, Customers, least_distance, most_influential
from pointveil.evaluation.measures.hotspot_agreement import dice
from pointveil.evaluation.registry import measure

BY_ONE = "The same, with crossings chosen greedily, one at a time."
GREEDY: dict[str, Any] = {"better": "higher", "reading": BY_ONE, "options": {"solver": "greedy"}}


@measure("most_influential_greedy", title="Max-Inf, greedy", **GREEDY)
@measure(
    "most_influential",
    title="Max-Inf",
    better="higher",
    reading="Of the 20 crossings (out of 100) that attract most people within 500 m, the share also chosen with "
    "synthetic points: 1 is all, 0 is none.",
)
def most_influential_agreement(
    comparison: Comparison,
    *,
    choose: int = 20,
    reach: float = 500.0,
    candidates: XY | None = None,
    existing: XY | None = None,
    solver: str = "exact",
) -> float:
    """Return the Sørensen–Dice coefficient of the facilities chosen for real and for synthetic customers.

    Of the candidates (default: the centres), beside the existing ones, `choose` are opened by the solver "exact" or
    "greedy". A customer goes `reach` metres at most.
    """
    both = comparison.customers(candidates, existing)
    return _agreement(both, choose, lambda side: most_influential(side, choose=choose, reach=reach, solver=solver))


@measure("least_distance_greedy", title="Min-Dist, greedy", **GREEDY)
@measure(
    "least_distance",
    title="Min-Dist",
    better="higher",
    reading="Of the 20 crossings (out of 100) that are nearest to people overall, the share also chosen with "
    "synthetic points: 1 is all, 0 is none.",
)
def least_distance_agreement(
    comparison: Comparison,
    *,
    choose: int = 20,
    candidates: XY | None = None,
    existing: XY | None = None,
    solver: str = "swaps",
) -> float:
    """Return the coefficient as above; the solver is "swaps" or "greedy"."""
    both = comparison.customers(candidates, existing)
    return _agreement(both, choose, lambda side: least_distance(side, choose=choose, solver=solver))


def _agreement(both: tuple[Customers, Customers], choose: int, answer: Callable[[Customers], Chosen]) -> float:
    """Ask the same question of both sets of customers and compare the answers."""
    count = len(both[0].candidates)
    if count <= choose:
        raise UnmeasuredError(f"facility location needs more than {choose} candidates; there are {count}")
    chosen = (np.isin(np.arange(count), answer(side)) for side in both)
    return dice(*chosen)
