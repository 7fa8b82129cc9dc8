"""Divide the world into squares that fit where people are, and estimate how many are at every small place."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise, starmap
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Distances, Everywhere, Floats, Leaves, Raster, SmallSquares, scale
from pointveil.estimate.consistency import project_to_total
from pointveil.estimate.guide import Guide, likeness, relative_density
from pointveil.estimate.posterior import denoise
from pointveil.estimate.road_law import learn_road_law, settle
from pointveil.estimate.tiles import Filtered, gaussian, tiles_of
from pointveil.estimate.totals import SURE, block_doubts, fuse_blocks, match_the_total, match_totals, within_noise
from pointveil.files.memory import return_memory
from pointveil.ground import (
    Rounding,
    leaves_from_levels,
    peopled_area,
    precision,
    raster_of,
    roundings,
    split_levels,
)
from pointveil.partition.base import Budget, partitioner
from pointveil.partition.crowds import Plan, count_cells_again, count_pixels_again
from pointveil.vault import Cells, NoisyCounts, Respondent, Share
from pointveil.world import Prior, World

COARSEST_CELL, FINEST_CELL = 64.0, 5.0  # metres
MOST_CELLS = 2**24
BLOCK_LEVELS = 3  # a block is 2**3 cells wide at least, and the largest leaves are up to 2**3 blocks wide
DISTRICT_LEVELS = 2  # a district is 2**2 times as wide as the largest leaves
LEAST_CROWD = 15.0  # people on one place, times epsilon, from which on a second count finds them
TELLING = 17.0  # the total must be so many times the least crowd, over epsilon, for the answer to tell
MOSTLY = 0.5  # the part of all people in crowds from which on second counts pay
AGAIN = Fraction(24, 100)  # the part of what counts may cost for each of the two second counts
FEW = 400.0  # points times epsilon below which blocks are counted once, as a uniform grid would, and not cut
FEW_POINTS = 10.0  # points per block, times epsilon, in that case
FEW_OFFSET = Fraction(1, 6)  # the part of what is left for distances to roads, in that case
# Persons who share their votes among many places are few beside these places: fewer and surer leaves, less on blocks.
SHARED_LEAF, SHARED_SHAPE = 1.5, Fraction(3, 4)
LEAST_FOR_ROUNDING = Fraction(1, 2)  # epsilon from which on it is worth asking how records are rounded
MOST_FOR_BLOCKS = Fraction(1, 2)  # epsilon of one point: what blocks would cost beyond it tells more in the leaves
CLEARLY, NEARLY_ALL = 10.0, 0.9  # a rounding is believed from so many deviations of the total, and this share, on
LARGER = 1.0  # how much larger leaves are, of themselves, where a prior explains everything
BLOCK = 2**16  # places at a time: the work stays in the processor's cache
NEIGHBOURS = 2  # levels: a prior is judged by how blocks differ within squares of 2**2 by 2**2
TRUNCATE = 4.0  # where a blur ends, in standard deviations


@dataclass(frozen=True, eq=False)
class PlaceMasses:
    """How many people are expected at every small place."""

    raster: Raster  # the places, called entries: pairs of a cell and a bin of distance to the nearest road
    mass: Floats  # (entries,) people, non-negative

    @property
    def total(self) -> int:
        """How many people there seem to be."""
        return round(float(self.mass.sum()))

    @cached_property
    def running(self) -> Floats:
        """The running sum of people, (entries,), or of areas where nobody is expected; for all who draw."""
        return np.cumsum(self.mass if self.mass.any() else self.raster.entry_area, dtype=np.float64)


Answered = tuple[Leaves, NoisyCounts]  # squares that were counted, and what was answered


@dataclass(frozen=True)
class Lattice:
    """The sizes of cells, blocks and the largest leaves."""

    side: float  # of a cell, in metres
    block: int  # level of a block: 2**level cells a side
    top: int  # level of the largest leaves


@partitioner
@dataclass(frozen=True)
class Veil:
    """Count blocks, cut them to fit, count the leaves, and spread each leaf's people along the streets.

    Parameters
    ----------
    block_points
        People per block, times epsilon, on average.
    leaf_points
        The same for a leaf of the reference size.
    leaf_side
        The reference size, in metres; half a block if that is less.
    leaf_slope
        How many more people a smaller leaf should have: its side to the power of minus this.
    blur
        Standard deviation of the smoothing across leaves, in cells.

    Examples
    --------
    >>> pv.Method(pv.Veil(blur=2), pv.Density(), pv.METHODS["veil"].split).purposes
    ('total', 'district', 'shape', 'offset', 'crowd', 'count')
    """

    block_points: float = 30.0
    leaf_points: float = 3.0
    leaf_side: float = 64.0
    leaf_slope: float = 0.5
    blur: float = 1.0
    spends: ClassVar[tuple[str, ...]] = ("total", "district", "shape", "offset", "crowd", "count")
    post_processing: ClassVar[tuple[str, ...]] = (
        "counts smoothed using neighbouring squares and a fitted distribution",
        "squares reconciled with blocks and with the totals of large squares and districts",
        "people spread within squares by distance to the nearest road",
        "crowded places found by second counts, if people stand on few exact places",
        "blocks and districts brought back within the reach of noise from their answers",
    )
    divides_into: ClassVar[str] = "places"
    uses_prior: ClassVar[bool] = True
    edition: ClassVar[int] = 4

    def total_cells(self, world: World, epsilon: Fraction, crs: str) -> Cells:
        """Return the cells of the first question: how many there are, and how coarsely their places are rounded."""
        # The total is then a sum of several noisy counts, and less sure: more than a small epsilon can afford.
        return precision(world, crs) if epsilon >= LEAST_FOR_ROUNDING else Everywhere()

    def divide(self, vault: Respondent, world: World, budget: Budget) -> PlaceMasses:
        """Ask how many and how rounded, then districts, blocks, distances to roads, crowds, and leaves."""
        shares = fitting(budget, vault.points_per_unit, roads=world.roads is not None)
        epsilon = sum((share.epsilon for share in shares.values()), Fraction(0)) / vault.points_per_unit
        totals = vault.count(self.total_cells(world, epsilon, vault.crs), shares["total"])
        is_shared = totals.parts > 1
        if is_shared:
            shares = _moved(shares, "shape", SHARED_SHAPE)
        total = max(1, int(totals.values.sum()))
        few = total * float(epsilon) < FEW
        side = math.sqrt(
            (FEW_POINTS * math.prod(world.size) if few else self.block_points * peopled_area(world)) / total
        )
        lattice = self.lattice(world, side / math.sqrt(epsilon))
        return_memory()  # that was needed so far: a raster is large
        raster = raster_of(world, lattice.side, 1 << lattice.top, rounded_to=shared_rounding(totals, vault.crs))
        blocks = squares_of(raster, lattice.block)
        if few:
            return self.count_once(vault, lattice, blocks, shares, world.prior)
        districts = squares_of(raster, lattice.top + DISTRICT_LEVELS)
        of_districts = vault.count(districts, shares["district"])
        of_blocks = vault.count(blocks, shares["shape"])
        distances = vault.count(Distances(raster), shares["offset"]) if "offset" in shares else None
        count, again = self.second_counts(vault, total, raster, shares)
        # Nothing above has looked at a leaf: leaves are chosen by noisy answers, then counted with noise of their own.
        # Second counts come out of the leaves' share, but look closer at the same leaves, cut as they would be without.
        leaf_epsilon = float(count.epsilon + (2 * again.epsilon if again else 0)) / vault.points_per_unit
        cut_epsilon = leaf_epsilon / (SHARED_LEAF if is_shared else 1)
        plan = self.plan(lattice, blocks, of_blocks, distances, cut_epsilon, world.prior)
        of_leaves = vault.count(plan.leaves, count)
        plan = self.judge_again(plan, blocks, of_leaves)
        answers = (plan.leaves, of_leaves), (blocks, of_blocks), (districts, of_districts)
        people = match_the_total(people_of(plan, lattice, *answers), totals, of_districts, of_blocks, of_leaves)
        doubt = block_doubts(blocks, of_blocks, plan.leaves, of_leaves, lattice.block)
        if again is not None:
            plan, people = count_cells_again(vault, plan, people, self.expected_cells(plan, people), again)
        mass = self.spread(plan, people, distances, blocks, doubt)
        of_cells = raster.sum(mass)
        checked = of_cells.copy()
        for squares, noisy in ((blocks, of_blocks), (districts, of_districts)):
            checked = within_noise(checked, squares.leaf_of, noisy)
        if (checked != of_cells).any():
            scale(mass, checked / np.maximum(of_cells, 1e-300), raster.entry_cell)
        if again is not None:
            raster, mass = count_pixels_again(vault, raster, mass, again)
        return_memory()  # that spreading took
        return PlaceMasses(raster, mass)

    def second_counts(
        self, vault: Respondent, total: int, raster: Raster, shares: Budget
    ) -> tuple[Share, Share | None]:
        """Ask whether people stand on few exact places, if that can be told; return what counts of leaves may cost.

        If they do, each of two second counts may cost about a quarter of it: that is returned beside the rest.
        """
        crowd, count = shares["crowd"], shares["count"]
        noise, leaf = float(crowd.epsilon / vault.kept_per_unit), float(count.epsilon / vault.points_per_unit)
        # So many that they stand out in a second count, and more than chance brings together where all are many.
        least = math.ceil(max(LEAST_CROWD / leaf, math.sqrt(total) / 25))
        if raster.sites is not None or total * noise < TELLING * least:
            return Share("count", count.epsilon + crowd.epsilon), None
        if vault.crowding(SmallSquares(), least, crowd).values[0] < MOSTLY * total:
            return count, None
        again = Share("count", count.epsilon * AGAIN)
        return Share("count", count.epsilon - 2 * again.epsilon), again

    def expected_cells(self, plan: Plan, counts: Floats) -> Floats:
        """Return the people expected in every cell, (cells,), from the leaves' counts."""
        return plan.tilted * smooth_rate(plan.leaves, counts, plan.tilted, self.blur)

    def count_once(
        self, vault: Respondent, lattice: Lattice, blocks: Leaves, shares: Budget, prior: Prior | None
    ) -> PlaceMasses:
        """Spend all that is left on distances to roads and one count of the blocks: so few allow nothing finer."""
        raster = blocks.raster
        left = sum((share.epsilon for purpose, share in shares.items() if purpose != "total"), Fraction(0))
        for_roads = left * FEW_OFFSET if "offset" in shares else Fraction(0)
        distances = vault.count(Distances(raster), Share("offset", for_roads)) if for_roads else None
        noisy = vault.count(blocks, Share("count", left - for_roads))
        counts = project_to_total(noisy.values.astype(np.float64), float(noisy.values.sum()))
        factor = np.ones(raster.bins)
        if distances is not None:
            factor = learn_road_law(tables(blocks, raster.entry_area), counts, distances).factor
        weight = cell_weights(raster, factor)
        plan = Plan(blocks, counts, weight, guide_by(prior, lattice, blocks, noisy, weight))
        doubt = np.full(len(blocks), math.sqrt(noisy.variance))
        return PlaceMasses(raster, self.spread(plan, counts, distances, blocks, doubt))

    def lattice(self, world: World, side: float) -> Lattice:
        """Return the sizes for blocks of about this side, in metres."""
        # Sides are powers of the root of two, so that nearby totals give the same raster, which is kept.
        widest = max(world.size)
        finest = max(FINEST_CELL, math.sqrt(math.prod(world.size) / MOST_CELLS))
        side = min(max(side, 2**BLOCK_LEVELS * finest), widest)
        side = 2.0 ** (round(2 * math.log2(side)) / 2)
        block = max(BLOCK_LEVELS, math.ceil(math.log2(side / COARSEST_CELL)))
        cell = side / 2**block
        top = min(block + BLOCK_LEVELS, max(block, math.ceil(math.log2(widest / cell))))
        return Lattice(cell, block, top)

    def plan(
        self,
        lattice: Lattice,
        blocks: Leaves,
        of_blocks: NoisyCounts,
        distances: NoisyCounts | None,
        leaf_epsilon: float,
        prior: Prior | None,
    ) -> Plan:
        """Return the leaves that fit the noisy blocks and distances, given the noise that leaves will have."""
        raster = blocks.raster
        total = max(float(of_blocks.values.sum()), 1.0)
        table = whole_table(blocks, raster.entry_area)
        factor = np.ones(raster.bins)
        # Two rounds: better counts give better factors, and better factors a better prior for the counts.
        for _ in range(1 if distances is None else 2):
            likely = table @ factor
            counts = denoise(of_blocks, scaled_to(likely, total), blocks).mean
            counts = scaled_to(counts if counts.any() else likely, total)
            if distances is not None:
                factor = learn_road_law([table], counts, distances).factor
        counts, factor = significant(counts), significant(factor)
        weight = plain = cell_weights(raster, factor)
        guide = guide_by(prior, lattice, blocks, of_blocks, plain)
        if guide is not None:
            weight = plain * guide.tilt
        mass = np.zeros(raster.shape)
        expected = weight * rates(blocks, counts, weight)
        mass[raster.column, raster.row] = expected
        # What a prior tells about the inside of leaves need not be counted: they may be larger, and their noise less.
        target = self.leaf_points / leaf_epsilon * (1.0 if guide is None else 1 + LARGER * guide.used)
        reference = min(lattice.block - 1, math.log2(self.leaf_side / lattice.side))
        level = split_levels(mass, target, slope=self.leaf_slope, reference=reference, top=lattice.top)
        leaves = leaves_from_levels(raster, level)
        guide = None if guide is None else replace(guide, blocks=counts)
        return Plan(leaves, leaves.sum(expected), plain, guide)

    def judge_again(self, plan: Plan, blocks: Leaves, of_leaves: NoisyCounts) -> Plan:
        """Return the plan with as much of the prior as the leaves bear out, which see more than blocks do."""
        if plan.guide is None:
            return plan
        leaves, weight = plan.leaves, plan.weight
        block = blocks.leaf_at[leaves.column, leaves.row].astype(np.int64)
        fit = likeness(of_leaves, block, leaves.sum(weight), leaves.sum(weight * plan.guide.ratio))
        guide = replace(plan.guide, used=fit.slope)
        weight = weight * guide.tilt
        return replace(plan, guide=guide, expected=leaves.sum(weight * rates(blocks, plan.guide.blocks, weight)))

    def spread(
        self, plan: Plan, counts: Floats, distances: NoisyCounts | None, blocks: Leaves, doubt: Floats
    ) -> Floats:
        """Return the people expected at every place, (entries,), from the leaves' counts and the distances.

        `doubt` is the standard deviation of each block's total: blocks clearly above zero keep theirs.
        """
        leaves, raster = plan.leaves, plan.leaves.raster
        rate = smooth_rate(leaves, counts, plan.tilted, self.blur)
        return_memory()  # that smoothing took
        if plan.guide is not None:
            rate *= plan.guide.tilt
        mass = scale(raster.entry_area.astype(np.float64), rate, raster.entry_cell)
        if distances is None:
            return _to_leaves(mass, leaves, counts)
        law = learn_road_law(tables(leaves, mass), counts, distances)
        mass = _to_leaves(scale(mass, law.factor, raster.entry_bin), leaves, counts)
        # The histogram knows the distances of the whole city far better than any leaf does, but not where people are.
        table = whole_table(blocks, mass)
        totals = table.sum(axis=1)
        by_block, by_bin = settle(table, totals, totals > SURE * doubt, law.people, distances.variance)
        return scale(scale(mass, by_block[blocks.leaf_of], raster.entry_cell), by_bin, raster.entry_bin)


def people_of(plan: Plan, lattice: Lattice, leaves: Answered, blocks: Answered, districts: Answered) -> Floats:
    """Return how many people each leaf is likely to have, (leaves,), given all squares that were counted."""
    counts = denoise(leaves[1], plan.expected, plan.leaves)
    fused = fuse_blocks(counts, *blocks, plan.leaves, lattice.block)
    # First the largest leaves' squares, then districts, which are few and so the surest of all.
    matched = match_totals(fused, plan.leaves, lattice.top, leaves, blocks)
    return match_totals(matched, plan.leaves, lattice.top + DISTRICT_LEVELS, leaves, blocks, districts)


def fitting(budget: Budget, points_per_unit: int, *, roads: bool) -> dict[str, Share]:
    """Return the budget with all that is not worth its cost given to the leaves: distances to roads if there are none.

    And of a large epsilon what blocks need not have: they only say where to cut.
    """
    shares = {purpose: share for purpose, share in budget.items() if roads or purpose != "offset"}
    shares["shape"] = Share("shape", min(budget["shape"].epsilon, MOST_FOR_BLOCKS * points_per_unit))
    left = sum((share.epsilon for purpose, share in shares.items() if purpose != "count"), Fraction(0))
    whole = sum((share.epsilon for share in budget.values()), Fraction(0))
    return {**shares, "count": Share("count", whole - left)}


def shared_rounding(totals: NoisyCounts, crs: str) -> Rounding | None:
    """Return the rounding that nine in ten records of a file in this CRS share, if noisy counts show it clearly."""
    total = float(totals.values.sum())
    if total <= CLEARLY * math.sqrt(totals.variance * len(totals.values)):
        return None
    share: dict[str, float] = {}  # what is rounded more coarsely in a CRS fits its finer roundings, too
    for count, rounding in zip(totals.values[:-1], roundings(crs), strict=False):
        share[rounding.crs] = share.get(rounding.crs, 0.0) + float(count)
        if share[rounding.crs] > NEARLY_ALL * total:
            return rounding
    return None


def squares_of(raster: Raster, level: int) -> Leaves:
    """Return squares of one size."""
    return leaves_from_levels(raster, np.full(raster.shape, level, dtype=np.int8))


def guide_by(
    prior: Prior | None, lattice: Lattice, blocks: Leaves, of_blocks: NoisyCounts, weight: Floats
) -> Guide | None:
    """Return what the prior says about places, and how much of it the noisy blocks bear out."""
    if prior is None:
        return None
    ratio = significant(relative_density(prior, weight, blocks.raster, lattice.top))
    square = (blocks.column >> lattice.block + NEIGHBOURS) << 32 | blocks.row >> lattice.block + NEIGHBOURS
    owner = np.unique(square, return_inverse=True)[1]
    fit = likeness(of_blocks, owner, blocks.sum(weight), blocks.sum(weight * ratio))
    # Blocks do not show whether the prior is right within them: so far it is trusted only if it explains almost all.
    return Guide(ratio, fit.slope * fit.explained**2, of_blocks.values.astype(np.float64))


def rates(squares: Leaves, counts: Floats, weight: Floats) -> Floats:
    """Return people per unit of weight in every cell, (cells,), from those of its square."""
    return np.asarray((counts / np.maximum(squares.sum(weight), 1e-12))[squares.leaf_of], dtype=np.float64)


def cell_weights(raster: Raster, factor: Floats) -> Floats:
    """Return the area of each cell weighted by the factors of distance, (cells,)."""
    return raster.sum(scale(raster.entry_area.astype(np.float64), factor, raster.entry_bin))


def smooth_rate(leaves: Leaves, counts: Floats, weight: Floats, blur: float) -> Floats:
    """Return people per unit of weight in every cell, (cells,), smoothed across leaves; tile by tile."""
    # People and weight are blurred apart and then divided, so that water and empty cells do not thin out the shore.
    rate = _blurred(leaves.raster, rates(leaves, counts, weight) * weight, blur)
    rate /= np.maximum(_blurred(leaves.raster, weight, blur), 1e-12)
    return np.maximum(rate, 1e-12, out=rate)


def _blurred(raster: Raster, values: Floats, blur: float) -> Floats:
    """Return values of all cells, (cells,), blurred across the map."""
    (field,) = Filtered.by(np.append(values, 0.0)[raster.index], gaussian(blur, TRUNCATE))
    found = np.empty(len(values))
    for tiles in tiles_of(raster.column, raster.row):
        found[tiles.here] = tiles.of(field)
    return found


def scaled_to(values: Floats, total: float) -> Floats:
    """Return values that add up to `total`."""
    return np.asarray(values * (total / max(float(values.sum()), 1e-9)), dtype=np.float64)


def significant(values: Floats, digits: int = 3) -> Floats:
    """Return values rounded to so many digits: what decides on leaves must not hang on a machine's last bits."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-30)))
    scale = 10.0 ** (digits - 1 - size)
    return np.where(np.abs(values) < 1e-30, 0.0, np.round(values * scale) / scale)


def tables(leaves: Leaves, area: NDArray[np.integer] | Floats) -> Iterator[Floats]:
    """Yield what there is in each leaf at each distance from roads, (leaves, bins), some leaves at a time.

    `area` is that of all places, (entries,).
    """
    raster = leaves.raster
    # Places are ordered by cell, and cells by leaf: cut where a leaf begins.
    cells = np.searchsorted(leaves.leaf_of, leaves.leaf_of[raster.entry_cell[::BLOCK]])
    cuts = np.unique(np.append(np.searchsorted(raster.entry_cell, cells), len(area)))
    for here in starmap(slice, pairwise(cuts)):
        leaf = leaves.leaf_of[raster.entry_cell[here]]
        pair = (leaf - leaf[0]).astype(np.int64)
        pair *= raster.bins
        pair += raster.entry_bin[here]
        size = (int(leaf[-1] - leaf[0]) + 1) * raster.bins
        yield np.bincount(pair, area[here], size).astype(np.float64, copy=False).reshape(-1, raster.bins)


def whole_table(leaves: Leaves, area: NDArray[np.integer] | Floats) -> Floats:
    """Return what there is in each leaf at each distance from roads, (leaves, bins)."""
    table, first = np.empty((len(leaves), leaves.raster.bins)), 0
    for part in tables(leaves, area):  # filled in place: two copies would be large
        table[first : first + len(part)] = part
        first += len(part)
    return table


def _to_leaves(mass: Floats, leaves: Leaves, counts: Floats) -> Floats:
    """Return (entries,) masses rescaled, in place, so that those of each leaf add up to its count."""
    now = leaves.sum(leaves.raster.sum(mass))
    return scale(mass, (counts / np.maximum(now, 1e-12))[leaves.leaf_of], leaves.raster.entry_cell)


def _moved(budget: Budget, purpose: str, kept: Fraction) -> dict[str, Share]:
    """Return the budget with only a part of one share; the rest goes to the leaves."""
    less = budget[purpose].epsilon * kept
    more = Share("count", budget["count"].epsilon + budget[purpose].epsilon - less)
    return {**budget, purpose: Share(purpose, less), "count": more}
