"""Place points near blurred real ones (the paper's KDE, with a kernel that is proved)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pointveil.cells import Floats, Ints
from pointveil.errors import InputError
from pointveil.estimate import round_to_total
from pointveil.ground import SitePlaces
from pointveil.partition import Budget, Counted
from pointveil.placement.base import placement
from pointveil.vault import NoisyPoints, Respondent
from pointveil.world import World

MOST_BLURRED = 2**24  # how many blurred points are asked for at most; a larger drawing uses them again
SIDES = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Blurred:
    """Where the sites of regions are, and the blurred points on them."""

    places: SitePlaces
    points: NoisyPoints


@placement
@dataclass(frozen=True)
class KernelDensity:
    """Blur the real points of each region, within it.

    Parameters
    ----------
    max_uses
        How often a real point may be used. Each use must be blurred more: 1 tells most (the paper's λ was 2).
    side
        How many sites lie along a side of a region: a power of two.

    Examples
    --------
    >>> pv.Method(pv.UniformGrid(), pv.KernelDensity(side=4), {"count": "3/5", "place": "2/5"}).purposes
    ('total', 'count', 'place')
    """

    max_uses: int = 1
    side: int = 8
    spends: ClassVar[tuple[str, ...]] = ("place",)
    gathers: ClassVar[bool] = True
    post_processing: ClassVar[tuple[str, ...]] = (
        "counts rounded, keeping the total",
        "blurred points spread uniformly over the land of their sites",
    )

    def __post_init__(self) -> None:
        if self.max_uses < 1 or self.side not in SIDES:
            raise InputError(f"max_uses must be at least 1, and side one of {SIDES}.")

    def ask(self, vault: Respondent, world: World, counted: Counted, budget: Budget) -> Blurred:
        """Ask roughly where the points of each region are."""
        places = SitePlaces.of(counted.regions, counted.land, world, self.side)
        wanted = np.where(places.sites.counts > 0, counted.counts, 0.0)
        # A fixed seed: what is asked must follow from noisy answers alone, or a saved survey could not repeat it.
        whole = round_to_total(wanted, min(counted.total, MOST_BLURRED), np.random.default_rng(0))
        return Blurred(places, vault.scatter(places.sites, whole, budget["place"], max_uses=self.max_uses))

    def draw(self, world: World, counted: Counted, answers: Blurred, count: int, rng: np.random.Generator) -> Floats:
        """Return a place for each blurred point; some twice or not at all if another number is wanted."""
        points = answers.points
        chosen = choose_points(len(points.region), count, rng)
        return answers.places.pick(points.region[chosen], points.site[chosen], rng)


def choose_points(available: int, count: int, rng: np.random.Generator) -> Ints:
    """Return `count` of the numbers below `available`, in random order, each as often as any other or once more."""
    if not available:
        return np.zeros(0, dtype=np.int64)
    rounds, rest = divmod(count, available)
    chosen = np.concatenate([np.tile(np.arange(available), rounds), rng.permutation(available)[:rest]])
    rng.shuffle(chosen)
    return np.asarray(chosen, dtype=np.int64)
