"""How much two answers have in common."""

from collections.abc import Callable

import numpy as np

from pointveil.cells import Bools
from pointveil.errors import UnmeasuredError
from pointveil.evaluation.facilities import Chosen, Customers


def dice(one: Bools, other: Bools) -> float:
    """Return the Sørensen–Dice coefficient of two sets given as masks (equation 15); two empty sets agree."""
    together = int(one.sum()) + int(other.sum())
    return 2.0 * int((one & other).sum()) / together if together else 1.0


def agreement(customers: tuple[Customers, Customers], choose: int, answer: Callable[[Customers], Chosen]) -> float:
    """Ask the same question of both sets of customers and compare the answers."""
    candidates = len(customers[0].candidates)
    if candidates <= choose:
        raise UnmeasuredError(f"facility location needs more than {choose} candidates; there are {candidates}")
    marks = np.zeros((2, candidates), dtype=np.bool_)
    for mark, side in zip(marks, customers, strict=True):
        mark[answer(side)] = True
    return dice(*marks)
