"""What a partitioner is, and what all of them share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Everywhere, Regions
from pointveil.estimate import project_to_total
from pointveil.ground import LandOf, clip_to_land
from pointveil.vault import NoisyCounts, Respondent, Share
from pointveil.world import World

MOST_SIDE = 4096
"""No grid has more cells along a side, whatever the noisy total says."""

Budget = Mapping[str, Share]


@dataclass(frozen=True)
class Counted:
    """A divided world, and how many people each region most likely has.

    Parameters
    ----------
    regions
        Public, or made from noisy answers alone.
    counts
        Non-negative, not whole; their sum is the best guess of the total.
    land
        The land of each region: where its people may be.
    """

    regions: Regions
    counts: NDArray[np.float64]
    land: LandOf

    @property
    def total(self) -> int:
        """How many people there seem to be."""
        return round(float(self.counts.sum()))


class Divided(Protocol):
    """What every divided world can say, whatever its regions are."""

    @property
    def total(self) -> int:
        """How many people there seem to be."""
        ...


class Partitioner(Protocol):
    """Divides the world and counts each region."""

    spends: ClassVar[tuple[str, ...]]
    post_processing: ClassVar[tuple[str, ...]]
    needs_roads: ClassVar[bool]
    divides_into: ClassVar[str]

    def divide(self, vault: Respondent, world: World, budget: Budget) -> Divided:
        """Ask the vault, paying from `budget`, and return regions with counts."""
        ...


def ask_total(vault: Respondent, share: Share) -> int:
    """Ask how many points there are, with noise; at least one, so that sizes can be worked out."""
    return max(1, int(vault.count(Everywhere(), share).values[0]))


def grid_side(total: float, epsilon: Fraction, granularity: float) -> int:
    """Return the number of cells along one side of a grid (equation 5).

    Parameters
    ----------
    total
        A noisy count: negative means none.
    epsilon
        Of the noise that the cells will get.
    granularity
        How many points a cell should have for each unit of noise.
    """
    side = math.ceil(math.sqrt(max(total, 0.0) * float(epsilon) / granularity))
    return min(max(side, 1), MOST_SIDE)


def settle(regions: Regions, noisy: NoisyCounts, world: World) -> Counted:
    """Return non-negative counts on the regions that have land, with the noisy total kept."""
    land = clip_to_land(regions, world)
    habitable = land.area > 0
    counts = np.zeros(len(regions))
    counts[habitable] = project_to_total(noisy.values[habitable].astype(np.float64), noisy.values[habitable].sum())
    return Counted(regions, counts, land)
