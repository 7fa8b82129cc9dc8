"""Place more points in the part of a region that faces busy neighbours (the paper's WUD)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pointveil.cells import Floats
from pointveil.errors import InputError
from pointveil.ground import Fans, Triangulation, cut_into_fans
from pointveil.partition import Budget, Counted
from pointveil.placement.base import placement, shuffled_regions
from pointveil.vault import Respondent
from pointveil.world import World


@dataclass(frozen=True)
class Weighted:
    """Sub-regions and how many people each most likely has."""

    land: Triangulation
    counts: Floats


@placement
@dataclass(frozen=True)
class WeightedUniform:
    """Weigh each side of a region by its area and by who lives across it.

    Parameters
    ----------
    area_weight
        How much area matters, from 0 (only neighbours) to 1 (only area).

    Examples
    --------
    >>> pv.Method(pv.UniformGrid(), pv.WeightedUniform(area_weight=0.8), {"count": 1}).placement
    WeightedUniform(area_weight=0.8)
    """

    area_weight: float = 0.5
    post_processing: ClassVar[tuple[str, ...]] = (
        "each region's count divided among its sides by area and by the noisy counts across them",
        "counts rounded, keeping the total",
        "points spread uniformly over the land of each side",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.area_weight <= 1:
            raise InputError(f"area_weight must be between 0 and 1, not {self.area_weight}.")

    def ask(self, vault: Respondent, world: World, counted: Counted, budget: Budget) -> Weighted:
        """Ask nothing; divide each region's people among its sides."""
        occupied = np.flatnonzero((counted.counts > 0) & (counted.land.area > 0))
        fans = cut_into_fans(counted.regions, counted.land, world, occupied)
        across = counted.regions.locate(fans.beyond)
        facing = np.where(across >= 0, counted.counts[across], 0.0)
        shares = side_shares(fans, facing, len(counted.counts), self.area_weight)
        return Weighted(fans.land, counted.counts[fans.region] * shares)

    def draw(self, world: World, counted: Counted, answers: Weighted, count: int, rng: np.random.Generator) -> Floats:
        """Return points picked evenly from the land of each side."""
        return answers.land.pick(shuffled_regions(answers.counts, count, rng), rng)


def side_shares(fans: Fans, facing: Floats, regions: int, area_weight: float) -> Floats:
    """Return each side's share of its region's people, (sides,) (equation 8); they add up to one in each region.

    `facing` is the count of the region across each side, in people. Where nobody lives across any side, the equation
    says 0/0, and the sides share by area alone.
    """
    area_share = fans.area / np.bincount(fans.region, fans.area, regions)[fans.region]
    around = np.bincount(fans.region, facing, regions)[fans.region]
    facing_share = np.divide(facing, around, out=area_share.copy(), where=around > 0)
    return np.asarray(area_weight * area_share + (1 - area_weight) * facing_share)
