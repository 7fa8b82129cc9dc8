"""Place points as densely as people are expected, evenly spaced in likelihood."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats, Raster, blocks
from pointveil.ground import pick_in_entries
from pointveil.partition import Budget, PlaceMasses
from pointveil.placement.base import placement
from pointveil.placement.evening import even_out
from pointveil.vault import Respondent
from pointveil.world import World

BLOCK = 2**18  # points at a time, so that many need little memory
TRIES = 20
SHAKE = 0.5
ALMOST_ONE = 1 - 2.0**-53


@placement
@dataclass(frozen=True)
class Density:
    """One point in each equal part of the expected people, along a curve that keeps neighbours together.

    Parameters
    ----------
    spacing
        "even": one point in each part, shaken by half a part and moved by up to one to where squares of 100 m lack
        points, which keeps counts close to what is expected and shows no pattern on a map. "independent": every point
        by itself, for analyses that need that; counts vary more.

    Examples
    --------
    >>> pv.Method(pv.Veil(), pv.Density(spacing="independent"), pv.METHODS["veil"].split).placement
    Density(spacing='independent')
    """

    spacing: Literal["even", "independent"] = "even"
    fills: ClassVar[str] = "places"
    post_processing: ClassVar[tuple[str, ...]] = ("points placed in proportion to the expected number of people",)
    edition: ClassVar[int] = 2

    def ask(self, vault: Respondent, world: World, counted: PlaceMasses, budget: Budget) -> None:
        """Ask nothing: the expected people of every place are known."""
        return

    def draw(self, world: World, counted: PlaceMasses, answers: None, count: int, rng: np.random.Generator) -> Floats:
        """Return points in random order."""
        raster = counted.raster
        mass = counted.mass if counted.mass.any() else raster.entry_area.astype(np.float64)
        running = counted.running
        if count <= 0:
            return np.zeros((0, 2))
        # In order, so that neighbours are looked up together. Evenly spaced they are nearly so, which the sort uses.
        at = np.sort(self._parts(count, rng), kind="stable") * running[-1]
        if self.spacing == "even":
            at = even_out(raster, mass, running, at, rng)
        last = len(mass) - 1 - int(np.argmax(mass[::-1] != 0))  # rounding may reach beyond the last place with people
        xy = np.empty((count, 2))
        for block in blocks(count, BLOCK):
            entry = np.minimum(np.searchsorted(running, at[block], side="right"), last)
            within = np.clip(
                1 - (running.take(entry) - at[block]) / np.maximum(mass.take(entry), 1e-300), 0.0, ALMOST_ONE
            )
            xy[block] = _pick_dry(raster, entry, within, world, rng)
        return np.take(xy.view(np.complex128), rng.permutation(count), axis=0).view(np.float64)  # both of a row at once

    def _parts(self, count: int, rng: np.random.Generator) -> Floats:
        """Return where along all the expected people each point falls, from 0 to 1."""
        if self.spacing == "independent":
            return rng.random(count)
        # Systematic sampling: one offset for all keeps every place as likely as it should be, and sums over an area
        # close to what is expected. Without the shaking, the comb's regular steps would show on a map.
        return np.asarray((np.arange(count) + rng.random() + SHAKE * rng.random(count)) / count % 1.0)


def _pick_dry(
    raster: Raster, entry: NDArray[np.intp], within: Floats, world: World, rng: np.random.Generator
) -> Floats:
    """Return a place in each entry, (n, 2) metres; the shore cuts through pixels, so wet ones are tried again."""
    xy = pick_in_entries(raster, entry, within, rng)
    wet = np.flatnonzero(~world.on_land(xy))
    for _ in range(TRIES):
        xy[wet] = pick_in_entries(raster, entry[wet], rng.random(len(wet)), rng)
        wet = wet[~world.on_land(xy[wet])]
    return xy
