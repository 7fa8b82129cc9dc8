"""Whether both sets of customers get the same facilities."""

from collections.abc import Callable

import numpy as np

from pointveil.evaluation.dice import dice
from pointveil.evaluation.errors import UnmeasuredError
from pointveil.evaluation.facilities import Chosen, Customers


def agreement(customers: tuple[Customers, Customers], choose: int, answer: Callable[[Customers], Chosen]) -> float:
    """Ask the same question of both sets of customers and compare the answers."""
    candidates = len(customers[0].candidates)
    if candidates <= choose:
        raise UnmeasuredError(f"facility location needs more than {choose} candidates; there are {candidates}")
    marks = np.zeros((2, candidates), dtype=np.bool_)
    for mark, side in zip(marks, customers, strict=True):
        mark[answer(side)] = True
    return dice(*marks)
