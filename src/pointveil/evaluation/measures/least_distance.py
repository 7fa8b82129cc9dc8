"""Whether a business that wants short ways would open in the same places (Min-Dist)."""

from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.facilities import Chosen, Customers, least_distance
from pointveil.evaluation.measures.agreement import agreement
from pointveil.evaluation.registry import measure


@measure(
    "least_distance_greedy",
    title="Min-Dist, greedy",
    better="higher",
    reading="The same when crossings are picked one by one, the best next.",
    options={"solver": "greedy"},
)
@measure(
    "least_distance",
    title="Min-Dist",
    better="higher",
    reading="Of the 20 crossings, out of 100, to which people have the shortest way, how many are the same with "
    "synthetic points: 1 is all, 0 none.",
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

    def answer(customers: Customers) -> Chosen:
        return least_distance(customers, choose=choose, solver=solver)

    return agreement(comparison.customers(candidates, existing), choose, answer)
