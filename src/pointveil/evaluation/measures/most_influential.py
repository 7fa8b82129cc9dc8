"""Whether a business that wants to attract people would open in the same places (Max-Inf)."""

from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.facilities import most_influential
from pointveil.evaluation.measures.agreement import agreement
from pointveil.evaluation.registry import measure


@measure(
    "most_influential_greedy",
    title="Max-Inf, greedy",
    better="higher",
    reading="The same, with crossings chosen greedily, one at a time.",
    options={"solver": "greedy"},
)
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
    return agreement(both, choose, lambda side: most_influential(side, choose=choose, reach=reach, solver=solver))
