"""Count again where many people stand on few exact places: heavy leaves by cell, and heavy cells by pixel."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from pointveil.cells import ChosenCells, ChosenPixels, Floats, Ints, Leaves, Raster
from pointveil.cells.raster import MASKED
from pointveil.estimate.guide import Guide
from pointveil.estimate.posterior import posterior_by_kind
from pointveil.ground import leaves_from_levels
from pointveil.vault import NoisyCounts, Respondent, Share


@dataclass(frozen=True)
class Plan:
    """The leaves to be counted, the people expected in each, and what is known so far about places within them."""

    leaves: Leaves
    expected: Floats  # (leaves,)
    weight: Floats  # (cells,): the area of each, weighted by how likely a place is by its distance to a road
    guide: Guide | None = None  # what a prior says, if there is one

    @property
    def tilted(self) -> Floats:
        """The weight times how much likelier than by distance alone the prior makes each cell, (cells,)."""
        return self.weight if self.guide is None else self.weight * self.guide.tilt


HEAVY = 2.0  # standard deviations of the noise of a second count that a leaf or cell must have, to be worth one
MOST_CELLS = 2**23  # of one question: a bound on memory
MOST_SPOTS = 128  # pixels of one cell that stand out
STANDS_OUT = 3.0  # times as many people as a pixel was expected to have


def heaviest(people: Floats, share: Share, points_per_unit: int, most: int) -> Ints:
    """Return the regions that are worth a second count, in order: those with most people, and at most so many."""
    deviation = math.sqrt(2) * points_per_unit / float(share.epsilon)
    worth = np.flatnonzero(people > HEAVY * deviation)
    return np.sort(worth[np.argsort(-people[worth], kind="stable")[:most]])


def count_cells_again(
    vault: Respondent, plan: Plan, people: Floats, expected: Floats, share: Share
) -> tuple[Plan, Floats]:
    """Return finer leaves and the people in each: every cell of a heavy leaf is counted by itself.

    `people` are those of each leaf, and `expected` those of each cell before it was counted.
    """
    leaves, raster = plan.leaves, plan.leaves.raster
    heavy = np.zeros(len(leaves), dtype=bool)
    heavy[heaviest(people, share, vault.points_per_unit, MOST_CELLS >> (2 * int(leaves.level.max())))] = True
    cells = np.flatnonzero(heavy[leaves.leaf_of])
    noisy = vault.count(ChosenCells(raster, cells), share)
    level = np.where(leaves.leaf_at >= 0, leaves.level[leaves.leaf_at], 0).astype(np.int8)
    finer = leaves_from_levels(raster, np.where(heavy[leaves.leaf_at] & (leaves.leaf_at >= 0), 0, level))
    counts = np.zeros(len(finer))
    counts[finer.leaf_of] = people[leaves.leaf_of]
    counts[finer.leaf_of[cells]] = shared_out(noisy, expected[cells], leaves.leaf_of[cells].astype(np.int64), people)
    return dataclasses.replace(plan, leaves=finer, expected=counts), counts


def shared_out(noisy: NoisyCounts, expected: Floats, owner: Ints, people: Floats) -> Floats:
    """Return the people of each part, (parts,), which add up to those of their owners."""
    if not len(expected):
        return expected
    likely = posterior_by_kind(noisy, expected).mean + 1e-6 * expected
    sums = np.bincount(owner, likely, minlength=len(people))
    return np.asarray(likely * (people / np.maximum(sums, 1e-12))[owner], dtype=np.float64)


def count_pixels_again(vault: Respondent, raster: Raster, mass: Floats, share: Share) -> tuple[Raster, Floats]:
    """Return a raster on which pixels that stand out are places of their own, and the people at every place."""
    of_cell = raster.sum(mass)
    size = raster.per_side**2
    cells = heaviest(of_cell, share, vault.points_per_unit, MOST_CELLS // size)
    noisy = vault.count(ChosenPixels(raster, cells), share)
    if not len(cells):
        return raster, mass
    bins = pixel_bins(raster, cells)
    rate = np.zeros((len(cells), MASKED + 1))  # people in a pixel of each bin
    among = np.full(len(raster.column), -1)
    among[cells] = np.arange(len(cells))
    entry = np.flatnonzero(among[raster.entry_cell] >= 0)
    rate[among[raster.entry_cell[entry]], raster.entry_bin[entry]] = mass[entry] / raster.entry_area[entry]
    expected = np.take_along_axis(rate, bins.astype(np.intp), axis=1)
    owner = np.repeat(np.arange(len(cells)), size)
    dry = (bins != MASKED).ravel()
    likely = np.zeros(bins.size)
    answers = dataclasses.replace(noisy, values=noisy.values[dry])
    likely[dry] = shared_out(answers, expected.ravel()[dry], owner[dry], of_cell[cells])
    return with_spots(raster, mass, cells, bins, expected, likely.reshape(bins.shape))


def pixel_bins(raster: Raster, cells: Ints) -> np.ndarray:
    """Return the bin of every pixel of these cells, (cells, pixels)."""
    patch = raster.patch[cells].astype(np.int64)
    plain = np.repeat((-1 - patch)[:, None], raster.per_side**2, axis=1)
    plain[patch >= 0] = raster.pixels[patch[patch >= 0]]
    return plain.astype(np.uint8)


def with_spots(
    raster: Raster, mass: Floats, cells: Ints, bins: np.ndarray, expected: Floats, likely: Floats
) -> tuple[Raster, Floats]:
    """Return the raster in which every pixel that stands out has a bin of its own, and the people of its entries."""
    # The pixels of a cell with most people above what was expected stand out; the others stay in their bin of distance.
    rank = np.argsort(np.argsort(expected - likely, axis=1, kind="stable"), axis=1, kind="stable")
    spot = (likely > STANDS_OUT * expected) & (rank < min(MOST_SPOTS, MASKED - raster.bins))
    bins = np.where(spot, raster.bins + rank, bins).astype(np.uint8)
    patch = raster.patch.copy()
    patch[cells] = len(raster.pixels) + np.arange(len(cells))
    code = (np.arange(len(cells))[:, None] * (MASKED + 1) + bins).ravel()
    area = np.bincount(code, minlength=len(cells) * (MASKED + 1))
    people = np.bincount(code, likely.ravel(), minlength=len(area))
    found = np.flatnonzero((area > 0) & (np.arange(len(area)) % (MASKED + 1) != MASKED))
    old = np.flatnonzero(~np.isin(raster.entry_cell, cells))
    cell = np.concatenate([raster.entry_cell[old], cells[found // (MASKED + 1)]])
    order = np.argsort(cell, kind="stable")
    made = dataclasses.replace(
        raster,
        patch=patch,
        pixels=np.concatenate([raster.pixels, bins]),
        entry_cell=cell[order].astype(np.int32),
        entry_bin=np.concatenate([raster.entry_bin[old], found % (MASKED + 1)])[order].astype(np.uint8),
        entry_area=np.concatenate([raster.entry_area[old], area[found]])[order].astype(np.int32),
    )
    return made, np.concatenate([mass[old], people[found]])[order]
