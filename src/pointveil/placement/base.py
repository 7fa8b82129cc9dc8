"""What a placement is, and what all of them share."""

from typing import Any, Protocol, TypeVar

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.estimate import members_of_total
from pointveil.partition import Budget
from pointveil.plugins import Parts
from pointveil.vault import Respondent
from pointveil.world import World


class Placement(Protocol):
    """Places points within regions: `ask` has the vault, `draw` has not.

    It may also have `spends` (the purposes that it pays for; none if left out), `fills` ("regions" if left out) and
    `post_processing`, as a partitioner has, and `gathers` (that it asks to scatter points, which a cluster refuses).
    """

    def ask(self, vault: Respondent, world: World, counted: Any, budget: Budget) -> Any:
        """Ask the vault what drawing needs, paying from `budget`; None if it needs nothing.

        The result must follow from the vault's answers and the public world alone: a saved survey calls this again.
        """

    def draw(self, world: World, counted: Any, answers: Any, count: int, rng: np.random.Generator) -> Floats:
        """Return `count` points on land, (count, 2) metres, in random order."""


PLACEMENTS = Parts(
    "placement",
    methods={"ask": "vault, world, counted, budget", "draw": "world, counted, answers, count, rng"},
    attributes={},
)
"""Every placement by the name of its class."""

Kind = TypeVar("Kind", bound=type[Placement])


def placement(kind: Kind) -> Kind:
    """Register a class as a placement, so that a saved survey can find it again; a decorator."""
    return PLACEMENTS.register(kind)


def shuffled_regions(counts: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Return the region of every point, in an order that tells nothing; each has its share of `count`, rounded."""
    return shuffled(members_of_total(counts, count, rng), rng)


def shuffled(numbers: Ints, rng: np.random.Generator) -> Ints:
    """Return whole numbers in random order."""
    order = numbers.copy()
    rng.shuffle(order)
    return order
