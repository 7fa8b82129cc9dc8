"""Divide the world into road segments, with a grid for those who are far from any (the paper's Road)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pointveil.cells import Floats, RoadCells
from pointveil.errors import InputError
from pointveil.estimate import project_to_total
from pointveil.network import road_cells
from pointveil.partition.base import Budget, partitioner
from pointveil.vault import NoisyCounts, Respondent
from pointveil.world import World

MOST_THRESHOLD = 10.0
LEAST_REACH = 1.0  # metres


@dataclass(frozen=True, eq=False)
class RoadCounts:
    """Edges and far cells, and an estimate of how many people each has."""

    cells: RoadCells  # the edges, then the far cells
    noisy: NoisyCounts  # what the vault answered
    counts: Floats  # (cells,) people: zero where the answer was hardly more than noise

    @property
    def total(self) -> int:
        """How many people there seem to be."""
        return round(float(self.counts.sum()))


@partitioner
@dataclass(frozen=True)
class RoadSegments:
    """The edges of the road network, each with all that is within reach of it, and a grid for the rest.

    A point belongs to its nearest edge, the lowest number of equals, or to one far cell: to exactly one cell in all.
    So one question counts them all, for the price of one.

    Parameters
    ----------
    reach
        How far from an edge a point may be to belong to it, in metres.
    far_side
        The side of a cell far from roads, in metres.
    noise_quantile
        The part of the noise, from 0.5 to below 1, that counts must rise above to be believed (F in the paper).

    Examples
    --------
    >>> pv.Method(pv.RoadSegments(reach=40), pv.AlongRoads(), pv.METHODS["road"].split).placement
    AlongRoads(offsets='class', far_granularity=3.0, tries=20)
    """

    reach: float = 25.0
    far_side: float = 200.0
    noise_quantile: float = 0.9
    spends: ClassVar[tuple[str, ...]] = ("count",)
    post_processing: ClassVar[tuple[str, ...]] = (
        "edges with counts that noise could explain dropped, the others rescaled to the noisy total",
    )
    needs_roads: ClassVar[bool] = True
    divides_into: ClassVar[str] = "roads"
    edition: ClassVar[int] = 2  # since the total is asked first

    def __post_init__(self) -> None:
        if not LEAST_REACH <= self.reach < math.inf:
            raise InputError(f"reach must be at least {LEAST_REACH:g} metre, not {self.reach}.")
        if not 0 < self.far_side < math.inf:
            raise InputError(f"far_side must be more than 0 metres, not {self.far_side}.")
        if not 0.5 <= self.noise_quantile < 1:
            raise InputError(f"noise_quantile must be at least 0.5 and below 1, not {self.noise_quantile}.")

    def divide(self, vault: Respondent, world: World, budget: Budget) -> RoadCounts:
        """Count every edge and every far cell in one question."""
        cells = road_cells(world, self.reach, self.far_side)
        noisy = vault.count(cells, budget["count"])
        raw = np.where(cells.habitable, noisy.values, 0).astype(np.float64)
        limit = threshold(noisy, self.noise_quantile)
        edges = len(cells.streets)
        # Edges and far cells apart: otherwise the noise of many empty far cells would draw people away from the roads.
        counts = np.concatenate([believe(raw[:edges], limit), believe(raw[edges:], limit)])
        return RoadCounts(cells, noisy, np.where(cells.habitable, counts, 0.0))


def believe(raw: Floats, limit: float) -> Floats:
    """Return the noisy counts above the limit, rescaled to the sum of all of them."""
    # The paper rescales to the true total before its threshold. The noisy total is the sum of the noisy counts
    # themselves, so that rescaling is by one. If no count is above the limit, the largest ones share the total.
    total = max(0.0, float(raw.sum()))
    above = np.where(raw > limit, raw, 0.0)
    if above.any():
        return np.asarray(above * (total / above.sum()), dtype=np.float64)
    return project_to_total(raw, total)


def threshold(noisy: NoisyCounts, noise_quantile: float) -> float:
    """Return what a count must exceed: a quantile of the noise, at most 10 for each point of a unit (the paper's θ)."""
    quantile = -math.log(2 - 2 * noise_quantile) / float(noisy.noise_epsilon)
    return min(quantile, MOST_THRESHOLD * noisy.points_per_unit)
