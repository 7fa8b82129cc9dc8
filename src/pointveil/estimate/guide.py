"""How much of a prior to believe: as much as noisy counts bear out, and where it knows nothing, nothing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pointveil.cells import Floats, Ints, Raster
from pointveil.ground import pooled
from pointveil.vault import NoisyCounts
from pointveil.world import Prior

BLUR = 0.7  # of each scale, in its own squares
SHARE = 4 * np.pi * BLUR**2  # so many squares a blurred one stands for
LEAST_CAUTION, MOST_CAUTION = 0.5, 1e6
ROUNDS, OVERDISPERSION = 3, 0.3  # of the fit: counts vary by noise, by chance, and by this part of their square
CLEARLY = 3.0  # standard errors that a likeness must have to be believed


@dataclass(frozen=True, eq=False)
class Guide:
    """What a prior says about places, and how far it is believed."""

    ratio: Floats  # (cells,): how much denser the prior is than by distance to roads alone
    used: float  # how much of that the noisy counts bear out, from 0 to 1
    blocks: Floats  # (blocks,): the people of each block so far

    @property
    def tilt(self) -> Floats:
        """How much likelier each cell is for it, (cells,)."""
        return 1 + self.used * (self.ratio - 1)


def relative_density(prior: Prior, weight: Floats, raster: Raster, top: int) -> Floats:
    """Return how much denser the prior is in every cell than by weight alone, (cells,); one on average.

    From large squares to small ones each scale corrects the one before it, by as much as its points can tell.
    """
    from scipy.ndimage import gaussian_filter  # late: few methods need it, and it is slow to load

    column, row = raster.cell_of(prior.middles)
    points, expected = np.zeros(raster.shape), np.zeros(raster.shape)
    known = raster.index[column, row] >= 0
    np.add.at(points, (column[known], row[known]), prior.points[known])
    expected[raster.column, raster.row] = weight * (points.sum() / max(float(weight.sum()), 1e-12))
    ratio = np.ones((1, 1))
    for level in range(top, -1, -1):
        here, there = (pooled(field, level) for field in (points, expected))
        if ratio.shape != here.shape:
            ratio = np.repeat(np.repeat(ratio, here.shape[0] // ratio.shape[0], 0), here.shape[1] // ratio.shape[1], 1)
        caution = _caution(here, there * ratio)
        here, there = (SHARE * gaussian_filter(field, BLUR, mode="constant") for field in (here, there))
        ratio = (here + caution * ratio) / (there + caution)
    return np.asarray(ratio[raster.column, raster.row])


def _caution(points: Floats, expected: Floats) -> float:
    """Return how many points, at the density around it, a square is taken to have beforehand.

    The less its points differ from what the larger squares expect, beyond chance, the more.
    """
    beyond = float(((points - expected) ** 2 - expected).sum())
    return float(np.clip((expected**2).sum() / max(beyond, 1e-12), LEAST_CAUTION, MOST_CAUTION))


class Likeness(NamedTuple):
    """How a prior fits noisy counts, both from 0 to 1."""

    slope: float  # how much of its contrasts to take, which predicts the counts best
    explained: float  # which part of the differences that are neither noise nor chance it then explains


def likeness(noisy: NoisyCounts, owner: Ints, plain: Floats, guided: Floats) -> Likeness:
    """Return how well a prior tells how counts differ within each of their owners; no fit that is clear is none.

    `plain` and `guided` are the people expected in each region, (regions,), without and with the prior; within an owner
    both are rescaled to the same noisy total. Regions whose owner is negative are left out.
    """
    owned = owner >= 0
    owner, plain, guided = owner[owned], plain[owned], guided[owned]
    values = noisy.values[owned].astype(np.float64)
    total = np.maximum(np.bincount(owner, values), 0.0)
    plain, guided = (each * (total / np.maximum(np.bincount(owner, each), 1e-12))[owner] for each in (plain, guided))
    gain, slope, known = guided - plain, 0.0, 0.0
    for _ in range(ROUNDS):
        fit = np.maximum(plain + slope * gain, 0.0)
        sure = 1 / (noisy.variance + fit + OVERDISPERSION * fit**2)
        known = max(float((sure * gain**2).sum()), 1e-12)
        slope = float(np.clip((sure * gain * (values - plain)).sum() / known, 0.0, 1.0))
    if slope * np.sqrt(known) < CLEARLY:
        return Likeness(0.0, 0.0)
    sure = 1 / (noisy.variance + plain + OVERDISPERSION * plain**2) ** 2
    before, after = (
        float((sure * ((values - expected) ** 2 - noisy.variance - plain)).sum())
        for expected in (plain, plain + slope * gain)
    )
    explained = float(np.clip(1 - after / before, 0.0, 1.0)) if before > 0 else 0.0
    return Likeness(round(slope, 3), round(explained, 3))
