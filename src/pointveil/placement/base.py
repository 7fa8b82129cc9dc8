"""What a placement is, and what all of them share."""

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pointveil.partition import Budget
from pointveil.vault import Respondent
from pointveil.world import World


class Placement(Protocol):
    """Places points within regions: `ask` has the vault, `draw` has not."""

    spends: ClassVar[tuple[str, ...]]
    fills: ClassVar[str]
    post_processing: ClassVar[tuple[str, ...]]

    def ask(self, vault: Respondent, world: World, counted: Any, budget: Budget) -> Any:
        """Ask the vault what drawing needs, paying from `budget`; None if it needs nothing."""
        ...

    def draw(
        self, world: World, counted: Any, answers: Any, count: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return `count` points on land, in metres, in random order."""
        ...


def shuffled_regions(whole: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the region of every point, in an order that tells nothing."""
    region = np.repeat(np.arange(len(whole), dtype=np.int32), whole)
    rng.shuffle(region)
    return region
