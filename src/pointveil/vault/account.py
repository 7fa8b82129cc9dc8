"""The exact account of one vault's epsilon, in memory."""

from dataclasses import dataclass, field
from fractions import Fraction

from pointveil.errors import BudgetError
from pointveil.files.exact import MOST_EPSILON, exact_number

LEAST_EPSILON = Fraction(1, 10**6)


@dataclass(frozen=True)
class Spend:
    """One question that was paid for.

    Parameters
    ----------
    purpose, epsilon
        What it was for, and what it cost.
    question
        "count" or "scatter".
    cells
        How many cells or regions it asked about: a public or noisy fact.
    """

    purpose: str
    epsilon: Fraction
    question: str
    cells: int


@dataclass
class Account:
    """What may be spent, and what has been; refuses to overspend and never refunds."""

    epsilon: Fraction
    spends: list[Spend] = field(default_factory=list)
    closed: bool = False

    @property
    def spent(self) -> Fraction:
        """The sum of all that was paid."""
        return sum((spend.epsilon for spend in self.spends), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.epsilon - self.spent

    def close(self) -> None:
        """Let nothing more be spent."""
        self.closed = True

    def spend(self, spend: Spend) -> None:
        """Write the price down, or raise before anything is asked."""
        if self.closed:
            raise BudgetError("This vault is closed: no question can be asked any more.")
        if spend.epsilon > self.left:
            raise BudgetError(
                f"The question '{spend.purpose}' costs epsilon {spend.epsilon}, but only {self.left} of "
                f"{self.epsilon} is left in this vault."
            )
        self.spends.append(spend)


def exact_epsilon(value: object) -> Fraction:
    """Return epsilon as an exact fraction, from a number or a text such as "0.5" or "1/3"."""
    return exact_number(value, "epsilon", LEAST_EPSILON, MOST_EPSILON)
