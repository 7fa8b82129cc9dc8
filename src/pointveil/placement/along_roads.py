"""Place points along roads, by micro-histograms of where on an edge people are and how far beside it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from pointveil.cells import ON_THE_ROAD, EdgeOffsets, KindOffsets, NestedGrid, RoadBins, Streets
from pointveil.cells.arrays import Bools, Floats, Ints, blocks, by_group, rows, stepped
from pointveil.errors import InputError
from pointveil.estimate import project_parts, reconcile, round_to_total
from pointveil.estimate.offset_laws import OffsetLaws, edge_laws, kind_laws
from pointveil.ground import Triangulation
from pointveil.network import open_parts, places_along
from pointveil.partition import Budget, RoadCounts
from pointveil.placement.base import placement, shuffled
from pointveil.placement.clear_widths import ClearWidths, Widths, stretches
from pointveil.placement.far_places import FarPlaces
from pointveil.vault import NoisyCounts, Respondent, Share
from pointveil.world import World

MOST_PARTS = 2**22  # no edges and far cells are cut into more parts, whatever the noisy counts say
LEAST_LENGTH, LEAST_SIDE = 1.0, 5.0  # no part of an edge is shorter, and no part of a far cell narrower, in metres
MANY = 4  # points for each short stretch of a street: then it is quicker to know beforehand where they fit
AT_ONCE = 2**18  # how many points are placed at a time: a bound on memory


@dataclass(frozen=True, eq=False)
class RoadAnswers:
    """Estimates of where along edges, and how far beside them, people are."""

    bins: RoadBins  # the parts of edges and of far cells
    counts: Floats  # (parts,) people, non-negative
    laws: OffsetLaws  # how far beside their edge they are
    far: FarPlaces  # where those in far cells are
    clear: ClearWidths | None  # how far to either side of edges they can be; None if they are few


@placement
@dataclass(frozen=True)
class AlongRoads:
    """Points beside the edges they are nearest to, spread as noisy histograms along and across the edges say.

    Parameters
    ----------
    offsets
        What has a histogram of offsets of its own: each "class" of road, or each "edge", as in the paper.
    far_granularity
        How many points a part of a far cell should have for each unit of noise.
    tries
        How often points that do not fit where they are put exchange their offset with another.

    Examples
    --------
    >>> pv.Method(pv.RoadSegments(), pv.AlongRoads(offsets="edge"), pv.METHODS["road"].split).purposes
    ('total', 'count', 'along', 'offset')
    """

    offsets: Literal["class", "edge"] = "class"
    far_granularity: float = 3.0
    tries: int = 20
    edition: ClassVar[int] = 2  # since far places are found once for all points
    spends: ClassVar[tuple[str, ...]] = ("along", "offset")
    fills: ClassVar[str] = "roads"
    post_processing: ClassVar[tuple[str, ...]] = (
        "counts of edges and of their parts reconciled and made non-negative, keeping the total",
        "offsets from the road drawn from noisy histograms, both sides equally likely",
        "points kept nearest to their own edge where possible, and always on land",
    )

    def __post_init__(self) -> None:
        if self.offsets not in OFFSETS:
            raise InputError(f"offsets must be one of {', '.join(OFFSETS)}, not {self.offsets!r}.")

    def ask(self, vault: Respondent, world: World, counted: RoadCounts, budget: Budget) -> RoadAnswers:
        """Ask where along the edges people are, then how far beside them."""
        if not isinstance(counted, RoadCounts):
            raise InputError("AlongRoads places points along road segments: divide the world with RoadSegments.")
        bins = self._cut(counted, float(budget["along"].epsilon) / vault.points_per_unit)
        along = vault.count(bins, budget["along"])
        counts = part_counts(counted, bins, open_parts(bins, world), along)
        far = counts[bins.first[-1] :]
        laws = OFFSETS[self.offsets](vault, counted, float(far.sum()), budget["offset"])
        streets = counted.cells.streets
        many = counts.sum() > MANY * stretches(streets).sum()
        clear = ClearWidths.of(streets, counted.cells.reach) if many else None
        return RoadAnswers(bins, counts, laws, FarPlaces.of(world, bins, far, laws.far), clear)

    def _cut(self, counted: RoadCounts, epsilon: float) -> RoadBins:
        """Cut edges into as many parts as the root of their noisy count (the paper's α), far cells as AGrid would."""
        streets, far = counted.cells.streets, counted.cells.far
        near, away = counted.counts[: len(streets)], counted.counts[len(streets) :]
        bins = np.clip(np.rint(np.sqrt(near)), 1, np.maximum(streets.lengths // LEAST_LENGTH, 1))
        most = max(min(far.cell_size) // LEAST_SIDE, 1)
        sides = np.clip(np.ceil(np.sqrt(away * (epsilon / self.far_granularity))), 1, most)
        excess = (bins.sum() + np.square(sides).sum()) / MOST_PARTS
        if excess > 1:  # however large the noisy counts are: a bound on memory
            bins, sides = np.maximum(bins // excess, 1), np.maximum(sides // math.sqrt(excess), 1)
        kept = np.where(near > 0, bins, 0).astype(np.int64)
        beside = (KindOffsets(counted.cells),) if self.offsets == "class" else ()
        return RoadBins(counted.cells, kept, NestedGrid(far, sides.astype(np.int64)), beside)

    def draw(
        self, world: World, counted: RoadCounts, answers: RoadAnswers, count: int, rng: np.random.Generator
    ) -> Floats:
        """Return points beside their edges and in far cells, in random order."""
        whole = round_to_total(answers.counts, count, rng)
        part = np.repeat(np.arange(len(whole), dtype=np.int32), whole)
        xy, first = np.empty((len(part), 2)), np.cumsum(whole) - whole
        order = shuffled(np.arange(len(part)), rng)
        steps = max(1, math.ceil(len(part) / AT_ONCE))
        for step in range(steps):  # every n-th point, so that each step has points of the whole city
            some = part[step::steps].astype(np.int64)
            # Stratified: a part with n points is cut into n stretches, and one point falls anywhere in each.
            stretch = rng.random(len(some))
            stretch += np.arange(step, len(part), steps) - first.take(some)
            stretch /= whole.take(some)
            placed = self._placed(world, answers, some, stretch, rng)
            xy.view(np.complex128)[order[step::steps]] = placed.view(np.complex128)  # both of a row at once
        return xy

    def _placed(
        self, world: World, answers: RoadAnswers, part: Ints, stretch: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return a place on land for each of some points: beside its edge or in its far cell, so far through a part."""
        near = np.searchsorted(part, answers.bins.first[-1])  # parts rise, and those of edges come first
        beside = self._beside(world, answers, part[:near], stretch[:near], rng)
        xy = np.concatenate([beside, answers.far.draw(part[near:] - answers.bins.first[-1], stretch[near:], rng)])
        wet = np.flatnonzero(~world.on_land(xy))
        if len(wet):  # the few points that found no land near their place go anywhere on land
            land = Triangulation.of(np.array([world.land], dtype=object))
            xy[wet] = land.pick(np.zeros(len(wet), dtype=np.int64), rng)
        return xy

    def _beside(
        self, world: World, answers: RoadAnswers, part: Ints, stretch: Floats, rng: np.random.Generator
    ) -> Floats:
        """Return a point beside its edge for each part."""
        beside = _Beside.start(world, answers, part, stretch, rng)
        everyone = list(blocks(len(part)))
        misfits = np.flatnonzero(~np.concatenate([*map(beside.fit, everyone), np.zeros(0, dtype=bool)]))
        beside.side[misfits] *= -1
        misfits = beside.exchange(misfits[~beside.fit(misfits)], self.tries, rng)
        wet = misfits[~world.on_land(beside.points(misfits))]
        beside.offset[wet] = 0.0
        return np.concatenate([*map(beside.points, everyone), np.zeros((0, 2))])


def part_counts(counted: RoadCounts, bins: RoadBins, is_open: Bools, along: NoisyCounts) -> Floats:
    """Return an estimate for each part, (parts,) people: non-negative, and agreeing with the edges' own counts."""
    # Edges and far cells are first reconciled with the sums of their parts, as the vault answered them; then each
    # whole's total is shared out over its open parts.
    usable = is_open & (counted.counts[bins.owner] > 0)
    parts, owner = along.values[usable].astype(np.float64), bins.owner[usable]
    known = counted.noisy.values.astype(np.float64)
    wholes = reconcile(known, counted.noisy.variance, parts, along.variance, owner)
    has_parts = np.flatnonzero(np.bincount(owner, minlength=len(wholes)))
    far = (has_parts >= len(bins.bins)).astype(np.int64)
    near_and_far = np.array([counted.counts[: len(bins.bins)].sum(), far_total(counted, bins, is_open, along)])
    totals = np.zeros(len(wholes))
    totals[has_parts] = project_parts(wholes[has_parts], far, near_and_far)
    counts = np.zeros(len(bins))
    counts[usable] = project_parts(parts, owner, totals)
    return counts


def far_total(counted: RoadCounts, bins: RoadBins, is_open: Bools, along: NoisyCounts) -> float:
    """Return how many people are far from roads, by inverse-variance weighting of both answers."""
    # They are few but far away, so an error here moves the mean distance to roads more than any other.
    edges = len(bins.bins)
    cells = counted.noisy.values[edges:][bins.cells.open_far]
    parts = along.values[bins.first[-1] :][is_open[bins.first[-1] :]]
    sums = np.array([cells.sum(), parts.sum()], dtype=np.float64)
    doubts = np.array([len(cells) * counted.noisy.variance, len(parts) * along.variance])
    return max(0.0, float(np.average(sums, weights=1 / doubts))) if len(cells) else 0.0


def ask_by_class(vault: Respondent, counted: RoadCounts, far_people: float, share: Share) -> OffsetLaws:
    """Ask how far from the road people are: by common class of road, the others together, and out of reach."""
    offsets = KindOffsets(counted.cells)
    people = counted.counts[: len(counted.cells.streets)]
    return kind_laws(vault.count(offsets, share), offsets, people, far_people)


def ask_by_edge(vault: Respondent, counted: RoadCounts, far_people: float, share: Share) -> OffsetLaws:
    """Ask how far from the road people are, for each edge in as many bins as the root of its noisy count."""
    del far_people  # the paper has none
    near, reach = counted.counts[: len(counted.cells.streets)], counted.cells.reach
    wide = np.clip(np.rint(np.sqrt(near)), 1, max(1, reach // ON_THE_ROAD))
    wide = np.maximum(wide // max(1.0, wide.sum() / MOST_PARTS), 1)
    offsets = EdgeOffsets(counted.cells, np.where(near > 0, wide, 0).astype(np.int64))
    return edge_laws(vault.count(offsets, share), offsets)


OFFSETS = {"class": ask_by_class, "edge": ask_by_edge}


@dataclass(eq=False)
class _Beside:
    """Points on their way to a place beside their edge."""

    world: World
    streets: Streets
    edge: Ints  # (n,)
    law: Ints  # (n,): which one the offset follows
    place: Floats  # (n, 2) metres on the edge
    normal: Floats  # (n, 2): the direction to its left, of length one
    side: Floats  # 1 to the left, -1 to the right
    offset: Floats  # metres from the place to the point
    clear: Widths | None  # (n, 2) metres: how large the offset may be to the left and to the right, if that is known

    @classmethod
    def start(
        cls, world: World, answers: RoadAnswers, part: Ints, stretch: Floats, rng: np.random.Generator
    ) -> "_Beside":
        """Put each point on its part of an edge, with an even side and an offset of its law."""
        bins, streets = answers.bins, answers.bins.cells.streets
        edge = bins.owner.take(part)
        place, normal = np.empty((2, len(part), 2))
        clear = None if answers.clear is None else np.empty((len(part), 2), dtype=np.float32)
        for block in blocks(len(part)):
            here = edge[block]
            along = (part[block] - bins.first.take(here) + stretch[block]) / bins.bins.take(here)
            along *= streets.lengths.take(here)
            place[block], direction = places_along(streets.segments, here, along)
            np.negative(direction[:, 1], out=normal[block, 0])
            normal[block, 1] = direction[:, 0]
            if clear is not None and answers.clear is not None:
                clear[block] = answers.clear.at(here, along)
        side = np.where(rng.random(len(edge)) < 0.5, -1.0, 1.0)
        offset = answers.laws.draw(edge, rng)
        beside = cls(world, streets, edge, answers.laws.of_edge.take(edge), place, normal, side, offset, clear)
        beside.go_beyond_ends(bins, part, rng)
        return beside

    def go_beyond_ends(self, bins: RoadBins, part: Ints, rng: np.random.Generator) -> None:
        """Let some points of the first and last part of an edge go around its end, if they fit there."""
        # People beyond the end of a street are nearest to its end. At one offset, the places beyond an end are half a
        # circle long, and those beside a part twice its length; so many of the points go there.
        at_start = part == bins.first.take(self.edge)
        at_end = part == bins.first.take(self.edge + 1) - 1
        ends, chance = np.flatnonzero(at_start | at_end), rng.random(len(part))
        around = np.pi * self.offset[ends] * (at_start[ends].astype(np.float64) + at_end[ends])
        length = self.streets.lengths[self.edge[ends]] / bins.bins[self.edge[ends]]
        chosen = ends[chance[ends] * (around + 2 * length) < around]
        to_start = at_start[chosen] & (~at_end[chosen] | (rng.random(len(chosen)) < 0.5))
        place, direction = places_along(
            self.streets.segments, self.edge[chosen], np.where(to_start, 0.0, self.streets.lengths[self.edge[chosen]])
        )
        turn = np.where(to_start, np.pi, 0.0) + rng.uniform(-np.pi / 2, np.pi / 2, len(chosen))
        (x, y), cosine, sine = direction.T, np.cos(turn), np.sin(turn)
        outward = np.column_stack([x * cosine - y * sine, x * sine + y * cosine]) * self.side[chosen][:, None]
        fitting = self._is_nearest(stepped(place, outward, self.side[chosen] * self.offset[chosen]), chosen)
        chosen = chosen[fitting]
        self.place[chosen], self.normal[chosen] = place[fitting], outward[fitting]
        if self.clear is not None:
            # As a shorter number, and none that is rounded down: they fit.
            self.clear[chosen] = np.nextafter(self.offset[chosen, None].astype(np.float32), np.float32(np.inf))

    def points(self, which: Ints | slice, offset: Floats | None = None) -> Floats:
        """Return where these points are, or would be at another offset."""
        away = self.side[which] * (self.offset[which] if offset is None else offset)
        return stepped(rows(self.place, which), rows(self.normal, which), away)

    def fit(self, which: Ints | slice, offset: Floats | None = None) -> Bools:
        """Return which of these points are on land and nearer to their own edge than to any other."""
        xy = self.points(which, offset)
        fitting = self.world.on_land(xy)
        if self.clear is None:
            fitting[fitting] = self._is_nearest(rows(xy, fitting), np.arange(len(self.edge))[which][fitting])
        else:
            both = self.clear.view(np.complex64)[:, 0][which]
            clear = np.where(self.side[which] < 0, both.imag, both.real)
            fitting &= (self.offset[which] if offset is None else offset) <= clear
        return fitting

    def _is_nearest(self, xy: Floats, which: Ints) -> Bools:
        """Return which of these places are nearer to the edges of these points than to any other."""
        return np.asarray(self.streets.edges(xy) == self.edge[which])

    def exchange(self, misfits: Ints, tries: int, rng: np.random.Generator) -> Ints:
        """Let misfits exchange their offset with another point of their law, if both then fit; return the others."""
        # The side changes with every try. What is too far out on one side of a place rules out all that is farther:
        # the circle through the place that a nearer road reaches into lies within all larger ones.
        too_far = np.tile(self.offset[misfits], (2, 1))  # on this side, and on the other
        free = np.ones(len(self.edge), dtype=bool)
        free[misfits] = False
        first_to_ask = np.empty(len(self.edge), dtype=np.int64)
        for _ in range(tries):
            if not len(misfits):
                break
            other = self._partners(misfits, rng)
            single = np.flatnonzero(free[other] & (self.offset[other] < too_far[0]))
            first_to_ask[other[single[::-1]]] = single[::-1]
            single = single[first_to_ask[other[single]] == single]  # each is asked by one only
            fitting = self.fit(misfits[single], self.offset[other[single]])
            too_far[0, single[~fitting]] = self.offset[other[single[~fitting]]]
            happy = single[fitting]
            happy = happy[self.fit(other[happy], self.offset[misfits[happy]])]
            mine, theirs = misfits[happy], other[happy]
            self.offset[mine], self.offset[theirs] = self.offset[theirs], self.offset[mine]
            free[mine] = True
            left = ~free[misfits]
            misfits, too_far = misfits[left], too_far[::-1, left]
            self.side[misfits] *= -1
        return misfits

    def _partners(self, misfits: Ints, rng: np.random.Generator) -> Ints:
        """Return a random point of the same law for each misfit."""
        order, first = self._by_law
        law = self.law[misfits]
        chosen = first[law] + (rng.random(len(misfits)) * (first[law + 1] - first[law])).astype(np.int64)
        return np.asarray(order[chosen])

    @cached_property
    def _by_law(self) -> tuple[Ints, Ints]:
        """All points in the order of their laws, and where in it those of each law begin."""
        return by_group(self.law), np.concatenate([[0], np.cumsum(np.bincount(self.law))])
