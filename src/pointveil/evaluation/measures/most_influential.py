"""Whether a business that wants to attract people would open in the same places (Max-Inf)."""

from pointveil.evaluation.comparison import XY, Comparison
from pointveil.evaluation.facilities import Chosen, Customers, most_influential
from pointveil.evaluation.measures.agreement import agreement
from pointveil.evaluation.registry import measure


@measure(
    "most_influential_greedy",
    title="Max-Inf, greedy",
    better="higher",
    reading="The same when crossings are picked one by one, the best next.",
    options={"solver": "greedy"},
)
@measure(
    "most_influential",
    title="Max-Inf",
    better="higher",
    reading="Of the 20 crossings, out of 100, that attract most people within 500 m, how many are the same with "
    "synthetic points: 1 is all, 0 none.",
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

    Parameters
    ----------
    comparison
        Its points are the customers.
    choose
        How many facilities to open.
    reach
        How far a customer goes, in metres.
    candidates, existing
        Where a facility may open (default: the centres), and where there is one already; in metres.
    solver
        "exact" or "greedy".
    """

    def answer(customers: Customers) -> Chosen:
        return most_influential(customers, choose=choose, reach=reach, solver=solver)

    return agreement(comparison.customers(candidates, existing), choose, answer)
