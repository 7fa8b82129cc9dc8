"""What a partitioner is, and what all of them share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np

from pointveil.cells import Everywhere, Floats, Regions
from pointveil.estimate import project_to_total
from pointveil.ground import LandOf, clip_to_land
from pointveil.plugins import Parts
from pointveil.vault import NoisyCounts, Respondent, Share
from pointveil.world import World

MOST_SIDE = 4096  # no grid has more cells along a side, however large the noisy total: a bound on memory

Budget = Mapping[str, Share]


@dataclass(frozen=True)
class Counted:
    """A divided world, and an estimate of how many people each region has."""

    regions: Regions  # public, or made from noisy answers alone
    counts: Floats  # (regions,) people: non-negative, not whole; their sum estimates the total
    land: LandOf  # the land of each region: where its people may be

    @property
    def total(self) -> int:
        """How many people there seem to be."""
        return round(float(self.counts.sum()))


class Divided(Protocol):
    """What every divided world can say, whatever its regions are."""

    @property
    def total(self) -> int:
        """How many people there seem to be."""


class Partitioner(Protocol):
    """Divides the world and counts each region.

    Every release asks for the "total" first, before `divide`; who asks for it again gets the same answer. A partitioner
    may say in which cells that is counted, with `total_cells(world, epsilon, crs)`; epsilon is that of one point, in
    all, and the CRS that of the file. It may also have `post_processing` (what it does to noisy answers, in words, for
    the statement), `needs_roads` (False if left out) and `divides_into` ("regions" if left out; a placement `fills` the
    same).
    """

    @property
    def spends(self) -> tuple[str, ...]:
        """The purposes that it pays for, in the order in which it asks."""

    def divide(self, vault: Respondent, world: World, budget: Budget) -> Divided:
        """Ask the vault, paying from `budget`, and return regions with counts.

        The result must follow from the vault's answers and the public world alone: a saved survey calls this again.
        """


PARTITIONERS = Parts(
    "partitioner",
    methods={"divide": "vault, world, budget"},
    attributes={"spends": "the purposes it pays for, such as ('total', 'count')"},
)
"""Every partitioner by the name of its class."""

Kind = TypeVar("Kind", bound=type[Partitioner])


def partitioner(kind: Kind) -> Kind:
    """Register a class as a partitioner, so that a saved survey can find it again; a decorator."""
    return PARTITIONERS.register(kind)


def ask_total(vault: Respondent, share: Share) -> int:
    """Return the noisy number of points, which a release has asked first; at least one, so that grids can be sized."""
    return max(1, int(vault.count(Everywhere(), share).values[0]))


def grid_side(total: float, epsilon: Fraction, granularity: float) -> int:
    """Return the number of cells along one side of a grid (equation 5), from a noisy total that may be negative.

    Granularity is points per cell, times epsilon, so that a cell's count stands out of its noise.
    """
    side = math.ceil(math.sqrt(max(total, 0.0) * float(epsilon) / granularity))
    return min(max(side, 1), MOST_SIDE)


def settle(regions: Regions, noisy: NoisyCounts, world: World) -> Counted:
    """Return non-negative counts with the noisy total kept; none where a region has no land."""
    # That nobody is in water is public knowledge, so the noise that fell there is thrown away.
    land = clip_to_land(regions, world)
    habitable = land.area > 0
    counts = np.zeros(len(regions))
    total = noisy.values.sum(where=habitable)
    counts[habitable] = project_to_total(noisy.values[habitable].astype(np.float64), total)
    return Counted(regions, counts, land)
