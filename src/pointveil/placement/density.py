"""Place points as densely as people are expected, evenly spaced in likelihood."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats, Raster, blocks
from pointveil.ground import pick_in_entries
from pointveil.partition import Budget, PlaceMasses
from pointveil.placement.base import placement, shuffled
from pointveil.placement.evening import even_out
from pointveil.vault import Respondent
from pointveil.world import World

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
        points, which keeps counts close to what is expected and shows no pattern on a map.
        "independent": every point by itself, for analyses that need that; counts vary more.

    Examples
    --------
    >>> pv.Method(pv.Veil(), pv.Density(spacing="independent"), pv.METHODS["veil"].split).placement
    Density(spacing='independent')
    """

    spacing: Literal["even", "independent"] = "even"
    fills: ClassVar[str] = "places"
    post_processing: ClassVar[tuple[str, ...]] = ("points placed in proportion to the expected number of people",)
    edition: ClassVar[int] = 3

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
        at = self._parts(count, rng)
        at.sort(kind="stable")
        at *= running[-1]
        if self.spacing == "even":
            even_out(raster, mass, running, at, rng)
        last = len(mass) - 1 - int(np.argmax(mass[::-1] != 0))  # rounding may reach beyond the last place with people
        order, xy = shuffled(np.arange(count), rng), np.empty((count, 2))
        for block in blocks(count):
            here = at[block]
            first, beyond = np.searchsorted(running, [here.min(), here.max()], side="right")  # few are between them
            entry = np.searchsorted(running[first:beyond], here, side="right")
            entry += first
            np.minimum(entry, last, out=entry)
            within = np.clip(1 - (running.take(entry) - here) / np.maximum(mass.take(entry), 1e-300), 0.0, ALMOST_ONE)
            found = _pick_dry(raster, entry, within, world, rng)
            xy.view(np.complex128)[order[block]] = found.view(np.complex128)  # both of a row at once
        return xy

    def _parts(self, count: int, rng: np.random.Generator) -> Floats:
        """Return where along all the expected people each point falls, from 0 to 1."""
        if self.spacing == "independent":
            return rng.random(count)
        # Systematic sampling: one offset for all keeps every place as likely as it should be, and sums over an area
        # close to what is expected. Without the shaking, the comb's regular steps would show on a map.
        offset, parts = rng.random(), rng.random(count)
        parts *= SHAKE
        parts += np.arange(count)
        parts += offset
        parts /= count
        parts -= parts >= 1
        return parts


def _pick_dry(
    raster: Raster, entry: NDArray[np.intp], within: Floats, world: World, rng: np.random.Generator
) -> Floats:
    """Return a place in each entry, (n, 2) metres; the shore cuts through pixels, so wet ones are tried again."""
    xy = pick_in_entries(raster, entry, within, rng)
    wet = np.flatnonzero(~world.on_land(xy))
    for _ in range(TRIES if len(wet) else 0):
        xy[wet] = pick_in_entries(raster, entry[wet], rng.random(len(wet)), rng)
        wet = wet[~world.on_land(xy[wet])]
    return xy
