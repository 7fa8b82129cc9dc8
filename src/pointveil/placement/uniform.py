"""Place points evenly within each region."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pointveil.cells import Floats
from pointveil.partition import Budget, Counted
from pointveil.placement.base import placement, shuffled_regions
from pointveil.vault import Respondent
from pointveil.world import World


@placement
@dataclass(frozen=True)
class Uniform:
    """Points anywhere on the land of their region, all places alike.

    Examples
    --------
    >>> pv.Method(pv.UniformGrid(), pv.Uniform(), {"count": 1}).purposes
    ('total', 'count')
    """

    post_processing: ClassVar[tuple[str, ...]] = (
        "counts rounded, keeping the total",
        "points spread uniformly over land",
    )

    def ask(self, vault: Respondent, world: World, counted: Counted, budget: Budget) -> None:
        """Ask nothing: even placement needs no more than the counts."""
        return

    def draw(self, world: World, counted: Counted, answers: None, count: int, rng: np.random.Generator) -> Floats:
        """Return points picked evenly from the land of each region."""
        return counted.land.pick(shuffled_regions(counted.counts, count, rng), rng)
