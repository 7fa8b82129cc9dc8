"""Divide the world into squares that fit where people are, and estimate how many are at every small place."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Distances, Everywhere, Floats, Leaves, Raster, SmallSquares, blocks, scale
from pointveil.estimate.consistency import project_to_total
from pointveil.estimate.guide import Guide, likeness, relative_density
from pointveil.estimate.posterior import denoise
from pointveil.estimate.road_law import RoadLaw, grouped, learn_road_law, settle
from pointveil.estimate.totals import SURE, block_doubts, fuse_blocks, match_the_total, match_totals, within_noise
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
STRIP, BLOCK = 256, 2**20  # columns and entries at a time: bounds on memory
LARGER = 1.0  # how much larger leaves are, of themselves, where a prior explains everything
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
    edition: ClassVar[int] = 3

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
        counts = denoise(of_leaves, plan.expected, plan.leaves)
        fused = fuse_blocks(counts, blocks, of_blocks, plan.leaves, lattice.block)
        answers = (plan.leaves, of_leaves), (blocks, of_blocks), (districts, of_districts)
        # First the largest leaves' squares, then districts, which are few and so the surest of all.
        matched = match_totals(fused, plan.leaves, lattice.top, *answers[:2])
        matched = match_totals(matched, plan.leaves, lattice.top + DISTRICT_LEVELS, *answers)
        people = match_the_total(matched, totals, of_districts, of_blocks, of_leaves)
        doubt = block_doubts(blocks, of_blocks, plan.leaves, of_leaves, lattice.block)
        if again is not None:
            plan, people = count_cells_again(vault, plan, people, self.expected_cells(plan, people), again)
        mass = self.spread(plan, people, distances, blocks, doubt)
        for squares, noisy in ((blocks, of_blocks), (districts, of_districts)):
            mass = within_noise(mass, squares.leaf_of[raster.entry_cell], noisy)
        if again is not None:
            raster, mass = count_pixels_again(vault, raster, mass, again)
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
        weight = cell_weights(plan.leaves.raster, plan.factor, plan.tilt)
        return weight * smooth_rate(plan.leaves, counts, weight, self.blur)

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
            pieces = grouped(blocks.leaf_of[raster.entry_cell], raster.entry_bin, raster.bins, raster.entry_area)
            factor = learn_road_law(pieces, counts, distances).factor
        plan = Plan(blocks, counts, factor, guide_by(prior, lattice, blocks, noisy, factor))
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
        pieces = grouped(blocks.leaf_of[raster.entry_cell], raster.entry_bin, raster.bins, raster.entry_area)
        factor = np.ones(raster.bins)
        # Two rounds: better counts give better factors, and better factors a better prior for the counts.
        for _ in range(1 if distances is None else 2):
            likely = np.bincount(pieces.region, pieces.area * factor[pieces.bin], len(blocks)).astype(np.float64)
            counts = denoise(of_blocks, scaled_to(likely, total), blocks).mean
            counts = scaled_to(counts if counts.any() else likely, total)
            if distances is not None:
                factor = learn_road_law(pieces, counts, distances).factor
        counts, factor = significant(counts), significant(factor)
        guide = guide_by(prior, lattice, blocks, of_blocks, factor)
        weight = cell_weights(raster, factor, None if guide is None else guide.tilt)
        mass = np.zeros(raster.shape)
        expected = weight * rates(blocks, counts, weight)
        mass[raster.column, raster.row] = expected
        # What a prior tells about the inside of leaves need not be counted: they may be larger, and their noise less.
        target = self.leaf_points / leaf_epsilon * (1.0 if guide is None else 1 + LARGER * guide.used)
        reference = min(lattice.block - 1, math.log2(self.leaf_side / lattice.side))
        level = split_levels(mass, target, slope=self.leaf_slope, reference=reference, top=lattice.top)
        leaves = leaves_from_levels(raster, level)
        guide = None if guide is None else replace(guide, blocks=counts)
        return Plan(leaves, leaves.sum(expected), factor, guide)

    def judge_again(self, plan: Plan, blocks: Leaves, of_leaves: NoisyCounts) -> Plan:
        """Return the plan with as much of the prior as the leaves bear out, which see more than blocks do."""
        if plan.guide is None:
            return plan
        leaves, weight = plan.leaves, cell_weights(plan.leaves.raster, plan.factor)
        block = blocks.leaf_at[leaves.column, leaves.row].astype(np.int64)
        fit = likeness(of_leaves, block, leaves.sum(weight), leaves.sum(weight * plan.guide.ratio))
        guide = replace(plan.guide, used=fit.slope)
        weight *= guide.tilt
        return replace(plan, guide=guide, expected=leaves.sum(weight * rates(blocks, plan.guide.blocks, weight)))

    def spread(
        self, plan: Plan, counts: Floats, distances: NoisyCounts | None, blocks: Leaves, doubt: Floats
    ) -> Floats:
        """Return the people expected at every place, (entries,), from the leaves' counts and the distances.

        `doubt` is the standard deviation of each block's total: blocks clearly above zero keep theirs.
        """
        leaves, raster = plan.leaves, plan.leaves.raster
        weight = cell_weights(raster, plan.factor, plan.tilt)
        leaf = leaves.leaf_of[raster.entry_cell]
        mass = smooth_rate(leaves, counts, weight, self.blur)[raster.entry_cell]
        mass *= raster.entry_area
        if plan.tilt is not None:
            scale(mass, plan.tilt, raster.entry_cell)
        if distances is None:
            return _to_leaves(mass, leaf, counts)
        law: RoadLaw = learn_road_law(grouped(leaf, raster.entry_bin, raster.bins, mass), counts, distances)
        scale(mass, law.factor, raster.entry_bin)
        mass = _to_leaves(mass, leaf, counts)
        # The histogram knows the distances of the whole city far better than any leaf does, but not where people are.
        block = blocks.leaf_of[raster.entry_cell]
        pieces = grouped(block, raster.entry_bin, raster.bins, mass)
        totals = np.bincount(block, mass, minlength=len(blocks)).astype(np.float64)
        by_block, by_bin = settle(pieces, totals, totals > SURE * doubt, law.people, distances.variance)
        return scale(scale(mass, by_block, block), by_bin, raster.entry_bin)


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
    prior: Prior | None, lattice: Lattice, blocks: Leaves, of_blocks: NoisyCounts, factor: Floats
) -> Guide | None:
    """Return what the prior says about places, and how much of it the noisy blocks bear out."""
    if prior is None:
        return None
    weight = cell_weights(blocks.raster, factor)
    ratio = significant(relative_density(prior, weight, blocks.raster, lattice.top))
    square = (blocks.column >> lattice.block + NEIGHBOURS) << 32 | blocks.row >> lattice.block + NEIGHBOURS
    owner = np.unique(square, return_inverse=True)[1]
    fit = likeness(of_blocks, owner, blocks.sum(weight), blocks.sum(weight * ratio))
    # Blocks do not show whether the prior is right within them: so far it is trusted only if it explains almost all.
    return Guide(ratio, fit.slope * fit.explained**2, of_blocks.values.astype(np.float64))


def rates(squares: Leaves, counts: Floats, weight: Floats) -> Floats:
    """Return people per unit of weight in every cell, (cells,), from those of its square."""
    return np.asarray((counts / np.maximum(squares.sum(weight), 1e-12))[squares.leaf_of], dtype=np.float64)


def cell_weights(raster: Raster, factor: Floats, tilt: Floats | None = None) -> Floats:
    """Return the area of each cell weighted by the factors of distance, (cells,); some entries at a time.

    With a `tilt` (cells,), that is multiplied to it.
    """
    weights = np.zeros(len(raster.column))
    for part in blocks(len(raster.entry_cell), BLOCK):
        first = raster.entry_cell[part.start]  # entries are ordered by cell, so a part of them touches few cells
        here = np.bincount(raster.entry_cell[part] - first, raster.entry_area[part] * factor[raster.entry_bin[part]])
        weights[first : first + len(here)] += here
    return weights if tilt is None else weights * tilt


def smooth_rate(leaves: Leaves, counts: Floats, weight: Floats, blur: float) -> Floats:
    """Return people per unit of weight in every cell, (cells,), smoothed across leaves; strip by strip."""
    from scipy.ndimage import gaussian_filter  # late: few methods need it, and it is slow to load

    # People and weight are blurred apart and then divided, so that water and empty cells do not thin out the shore.
    people = rates(leaves, counts, weight) * weight
    rate = np.empty(len(weight))
    reach = math.ceil(TRUNCATE * blur)
    index = leaves.raster.index
    for start in range(0, len(index), STRIP):
        low = max(start - reach, 0)
        window = index[low : start + STRIP + reach]
        fields = (np.where(window >= 0, values[window], 0.0) for values in (people, weight))
        if blur > 0:
            fields = (gaussian_filter(field, blur, mode="constant", truncate=TRUNCATE) for field in fields)
        some, weights = (field[start - low :][:STRIP] for field in fields)
        smooth = np.maximum(some / np.maximum(weights, 1e-12), 1e-12)
        own = index[start : start + STRIP]
        rate[own[own >= 0]] = smooth[own >= 0]
    return rate


def scaled_to(values: Floats, total: float) -> Floats:
    """Return values that add up to `total`."""
    return np.asarray(values * (total / max(float(values.sum()), 1e-9)), dtype=np.float64)


def significant(values: Floats, digits: int = 3) -> Floats:
    """Return values rounded to so many digits: what decides on leaves must not hang on a machine's last bits."""
    size = np.floor(np.log10(np.maximum(np.abs(values), 1e-30)))
    scale = 10.0 ** (digits - 1 - size)
    return np.where(np.abs(values) < 1e-30, 0.0, np.round(values * scale) / scale)


def _to_leaves(mass: Floats, leaf: NDArray[np.integer], counts: Floats) -> Floats:
    """Return masses rescaled, in place, so that those of each leaf add up to its count."""
    now = np.bincount(leaf, mass, minlength=len(counts))
    return scale(mass, counts / np.maximum(now, 1e-12), leaf)


def _moved(budget: Budget, purpose: str, kept: Fraction) -> dict[str, Share]:
    """Return the budget with only a part of one share; the rest goes to the leaves."""
    less = budget[purpose].epsilon * kept
    more = Share("count", budget["count"].epsilon + budget[purpose].epsilon - less)
    return {**budget, purpose: Share(purpose, less), "count": more}
