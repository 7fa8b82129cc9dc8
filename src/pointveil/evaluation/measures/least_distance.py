"""Whether a business that wants short ways would open in the same places (Min-Dist)."""

from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.facilities import least_distance
from pointveil.evaluation.measures.agreement import agreement
from pointveil.evaluation.registry import measure


@measure(
    "least_distance_greedy",
    title="Min-Dist, greedy",
    better="higher",
    reading="The same, with crossings chosen greedily, one at a time.",
    options={"solver": "greedy"},
)
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
    """Return the Sørensen–Dice coefficient of the facilities chosen for real and for synthetic customers.

    Parameters as of `most_influential_agreement`; `solver` is "swaps" or "greedy".
    """
    both = comparison.customers(candidates, existing)
    return agreement(both, choose, lambda customers: least_distance(customers, choose=choose, solver=solver))
