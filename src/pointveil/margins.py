"""How far counts of a release may be off: worked out from its noisy answers alone, at no cost."""

import dataclasses
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from pointveil.cells import Floats, Ints, Leaves, Raster
from pointveil.columns import Time
from pointveil.partition import AdaptiveGrid, PlaceMasses, Veil
from pointveil.statement import Margins
from pointveil.surveys import Survey
from pointveil.vault import Cells, NoisyCounts
from pointveil.world import World

RADII = {50.0: 100, 100.0: 100, 250.0: 80, 500.0: 48, 1000.0: 24, 2000.0: 6}  # metres, and how many circles are tried
LARGEST = 4  # circles have a radius of at most the longer side of the world over this
TRIES = 20  # places for each that must be on land
AT_A_TIME = 2**21  # pairs of a circle and a part, or a cell: a bound on memory
MOST_POINTS = 2**17  # that are drawn where the released map is not known otherwise
COUNTS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 1e6, 1e7)
SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)  # of all points, in a slice of time
SQUARE = 100.0  # metres: the side of the squares in which a release is compared with a sample
STEPS = 20  # towards the fit, which is reached in about five
LEAST_UNEVEN = 0.02  # no city is quite even


class Weights(NamedTuple):
    """What two reasons for errors weigh: the noise of a part's count, and that its people are spread unevenly."""

    noise: float
    uneven: float


# What a partitioner counts, by purpose, and what errors come of it: the finest parts first, then those that they were
# fitted into. Chosen on Beijing, Porto and Manhattan with epsilons from 1/4 to 4; docs/for-analysts.md has the figures.
# Uniform grids, clusters and road segments are left out: they put people where nobody is, which is no matter of chance.
WEIGHTS: Mapping[type, Mapping[str, Weights]] = {
    Veil: {"count": Weights(1.65, 1.35), "shape": Weights(0.55, 0.19)},
    AdaptiveGrid: {"count": Weights(0.75, 1.1)},
}
CHANCE = 0.26  # the same for each person of a part that is cut, who may be on either side of the cut
EMPTY = 0.22  # the part of the noise that is left where nobody seems to be
IN_TABLES = 0.5  # the part of the noise of tables that is left in them
IN_SLICES = 2.2  # the chance that a person is in a slice or not, and that an area keeps hours of its own
BY_REGION = " by region"
ROUNDED = 0.25  # people, squared: points are whole


class Level(NamedTuple):
    """A division of the world that was counted."""

    part: Ints  # (places,) the part in which each place lies
    people: Floats  # (parts,) as released
    noise: Floats  # (parts,) variance
    uneven: float  # how unevenly two neighbours share their people: 0 half and half, 1 all in one
    weights: Weights


class Circles(NamedTuple):
    """Circles that were tried, (n,) each."""

    area: Floats  # square metres
    people: Floats  # as released
    variance: Floats  # of the error of that count


def with_margins(survey: Survey) -> Survey:
    """Return the same survey with a statement that says how far counts may be off."""
    try:
        margins = margins_of(survey)
    except (ValueError, ArithmeticError):  # of numpy's solver, or of numbers that no margin may have
        margins = None  # the answers are paid for: a release without margins is better than none
    found = dataclasses.replace(survey, statement=survey.statement.model_copy(update={"margins": margins}))
    found.__dict__["prepared"] = survey.prepared  # known already
    return found


def margins_of(survey: Survey) -> Margins | None:
    """Return how far counts may be off; None where that cannot be told.

    A count is off because the counts of parts have noise, and because nobody knows where in a part its people are, when
    a line cuts through it. Noise is known; how uneven people are within a part is taken from how uneven they are
    between neighbouring parts, as if the city looked alike at all scales. Nothing private is asked, and the same survey
    has the same margins.
    """
    weights = WEIGHTS.get(type(survey.method.partitioner), {})
    parts = [answer.purpose for _, answer in survey.prepared.parts]
    # Where blocks were not cut, or where people stand on few exact places, which are counted twice, errors are others.
    if not weights or any(parts.count(purpose) != 1 for purpose in weights) or not survey.prepared.counted.total:
        return None
    if survey.prepared.people is not None:  # how much less than their points busy persons weigh is not known by place
        return None
    seed = zlib.crc32(b"".join(each.values.tobytes() for each in survey.answers if isinstance(each, NoisyCounts)))
    rng = np.random.default_rng(seed)
    released = _released_map(survey, rng)
    levels = list(_levels(survey, released, weights))
    found = _table(_try_circles(released, levels, survey.world, rng), survey)
    return found.model_copy(update={"effective_sample": _effective_sample(released.in_squares(), found)})


@dataclass(frozen=True, eq=False)
class CellMap:
    """The people in every cell of a raster."""

    raster: Raster
    people: Floats

    @property
    def side(self) -> float:
        """Of a cell, in metres."""
        return self.raster.side

    def locate(self, cells: Cells) -> Ints:
        """Return the leaf of each cell."""
        assert isinstance(cells, Leaves)  # noqa: S101 - nothing else is counted that makes such a map
        return cells.leaf_of.astype(np.int64)

    def within(self, centres: Floats, radius: float) -> tuple[Ints, Ints]:
        """Return pairs of a circle and a cell whose middle is in it."""
        steps = np.arange(-int(radius / self.side) - 1, int(radius / self.side) + 2)
        at = [
            np.floor(middle / self.side).astype(np.int64)[:, None] + steps for middle in centres.T
        ]  # (circles, steps)
        apart = [((cell + 0.5) * self.side - middle[:, None]) ** 2 for cell, middle in zip(at, centres.T, strict=True)]
        known = [(cell >= 0) & (cell < most) for cell, most in zip(at, self.raster.shape, strict=True)]
        column, row = (np.where(there, cell, 0) for cell, there in zip(at, known, strict=True))
        cell = self.raster.index[column[:, :, None], row[:, None, :]]  # (circles, steps, steps)
        inside = apart[0][:, :, None] + apart[1][:, None, :] <= radius**2
        inside &= known[0][:, :, None] & known[1][:, None, :] & (cell >= 0)
        return np.nonzero(inside)[0], cell[inside].astype(np.int64)

    def in_squares(self) -> Floats:
        """Return the people in each square of 100 m."""
        axes = zip((self.raster.column, self.raster.row), self.raster.shape, strict=True)
        middles = ((axis, (np.arange(size) + 0.5) * self.side) for axis, size in axes)
        # By column and row, which are few; then each cell looks its own up.
        column, row = (_squares(middle, middle[axis.min()])[axis] for axis, middle in middles)
        return _in_squares(column, row, self.people)


@dataclass(frozen=True, eq=False)
class PointMap:
    """Some points, each of which stands for the same number of people."""

    xy: Floats
    people: Floats
    side: float

    def locate(self, cells: Cells) -> Ints:
        """Return the cell of each point."""
        return cells.locate(self.xy)

    @cached_property
    def tree(self) -> KDTree:
        """The points, to be found by place."""
        return KDTree(self.xy)

    def within(self, centres: Floats, radius: float) -> tuple[Ints, Ints]:
        """Return pairs of a circle and a point in it."""
        found = self.tree.query_ball_point(centres, radius, return_sorted=False)
        circle = np.repeat(np.arange(len(centres)), np.vectorize(len, otypes=[int])(found))
        return circle, np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(np.int64)

    def in_squares(self) -> Floats:
        """Return the people in each square of 100 m."""
        column, row = (_squares(axis, axis.min()) for axis in self.xy.T)
        return _in_squares(column, row, self.people)


def _squares(places: Floats, first: float) -> Ints:
    """Return the number of the square of 100 m along one axis, from that of the `first` place on."""
    return np.floor((places - first) / SQUARE).astype(np.int64)


def _in_squares(column: Ints, row: Ints, people: Floats) -> Floats:
    return np.bincount(column * (row.max() + 1) + row, people).astype(np.float64)


ReleasedMap = CellMap | PointMap


def _released_map(survey: Survey, rng: np.random.Generator) -> ReleasedMap:
    counted, asked, *_ = survey.prepared
    if isinstance(counted, PlaceMasses):
        raster = counted.raster
        people = np.bincount(raster.entry_cell, counted.mass, len(raster.column)).astype(np.float64)
        return CellMap(raster, people)
    count = min(counted.total, MOST_POINTS)
    xy = survey.method.placement.draw(survey.world, counted, asked, count, rng)
    side = math.sqrt(math.prod(survey.world.size) / max(len(xy), 1))
    return PointMap(xy, np.full(len(xy), counted.total / max(len(xy), 1)), side)


def _levels(survey: Survey, released: ReleasedMap, weights: Mapping[str, Weights]) -> Iterator[Level]:
    """Yield the divisions that matter, the finest first."""
    asked = {answer.purpose: (cells, answer) for cells, answer in survey.prepared.parts}
    for purpose, weight in weights.items():
        cells, answer = asked[purpose]
        part = released.locate(cells)
        known = part >= 0
        people = np.bincount(part[known], released.people[known], minlength=len(cells)).astype(np.float64)
        noise = np.full(len(people), answer.variance)
        if weight is next(iter(weights.values())):
            # Where hardly anybody is, most of the noise was taken away again.
            noise = np.minimum(noise, EMPTY * noise + people + people**2)
        yield Level(part, people, noise, unevenness(answer), weight)


def unevenness(answer: NoisyCounts) -> float:
    """Return how unevenly two parts that were counted one after the other share their people: from 0 to 1.

    Parts are numbered so that most are neighbours of the next. What is due to noise, and to chance, is taken off.
    """
    values, noise = answer.values.astype(np.float64), 2 * answer.variance
    apart, together = values[1:] - values[:-1], values[1:] + values[:-1]
    found = (apart**2 - together - noise).sum() / max(float((together**2 - noise).sum()), 1.0)
    return float(np.clip(found, LEAST_UNEVEN, 1.0))


def _try_circles(released: ReleasedMap, levels: list[Level], world: World, rng: np.random.Generator) -> Circles:
    """Return random circles on land, of all sizes that fit the world, and the variance of each one's count."""
    most = max(RADII.values())
    tried = rng.uniform(world.bounds[:2], world.bounds[2:], (most * TRIES, 2))
    centres = tried[world.on_land(tried)][:most]
    if not len(centres):
        centres = tried[:most]
    largest = max(max(world.size) / LARGEST, min(RADII))
    found = []
    for radius in (each for each in RADII if each <= largest):
        size = max(*(len(level.people) for level in levels), int(4 * (radius / released.side + 1) ** 2))
        some = centres[: RADII[radius]]
        for group in np.array_split(some, min(len(some), 1 + size * len(some) // AT_A_TIME)):
            circle, place = released.within(group, radius)
            people = np.bincount(circle, released.people[place], minlength=len(group)).astype(np.float64)
            variance = _variance(circle, place, released.people[place], levels, len(group))
            found.append(Circles(np.full(len(group), math.pi * radius**2), people, variance))
    return Circles(*map(np.concatenate, zip(*found, strict=True)))


def _variance(circle: Ints, place: Ints, people: Floats, levels: list[Level], count: int) -> Floats:
    """Return the variance of the error in each of `count` circles, from the pairs of a circle and a place in it."""
    sure = np.zeros(count)
    for level in levels:
        part = level.part[place]
        known = part >= 0
        met = np.zeros(len(level.people), dtype=bool)  # the parts that any of the circles meets: few of all
        met[part[known]] = True
        parts = np.flatnonzero(met)
        number = (np.cumsum(met) - 1)[part[known]]
        inside = np.bincount(circle[known] * len(parts) + number, people[known], minlength=count * len(parts))
        pair = np.flatnonzero(inside)
        of_circle, of_part = pair // max(len(parts), 1), parts[pair % max(len(parts), 1)]
        within, whole = inside[pair], level.people[of_part]
        share = within / whole
        cut = within * (1 - share)  # 0 if all of the part is inside
        variance = level.weights.noise * share**2 * level.noise[of_part]
        variance += (level.weights.uneven * level.uneven * whole + CHANCE) * cut
        # Each division tells the same count in its own way: what is known from both is surer than from either.
        sure += 1 / np.maximum(np.bincount(of_circle, variance, minlength=count), 1e-9)
    # However few people are counted, one part's noise is in it.
    return np.asarray(1 / sure + levels[0].noise.max() + ROUNDED)


def _table(circles: Circles, survey: Survey) -> Margins:
    """Return smooth deviations by share of the time, area and count, with what the release is worth."""
    areas = np.unique(circles.area)
    counts = np.array([each for each in COUNTS if each <= max(3 * circles.people.max(), COUNTS[1])])
    fitted = _fit(_terms(circles.people, circles.area), circles.variance)
    seen = [circles.people[circles.area == area] for area in areas]

    def variances(count: Floats) -> Floats:  # (counts,) to (areas, counts)
        # Fewer people than were ever seen are as unsure as the fewest that were; with more than the most, doubt grows.
        within = np.array([np.clip(count, each.min(), each.max()) for each in seen])
        known = _terms(within.ravel(), np.repeat(areas, len(count))) @ fitted
        return np.asarray(np.exp(known).reshape(within.shape) * np.maximum((count + 1) / (within + 1), 1.0))

    by_time = _by_time(survey)
    shares = SHARES[-1:] if by_time is None else SHARES
    found = [variances(counts)]
    if by_time is not None:
        found = [share**2 * variances(counts / share) + by_time(counts, share) for share in shares]
    return Margins(
        people=survey.prepared.counted.total,
        shares=shares,
        areas=_rounded(areas),
        counts=tuple(counts.tolist()),
        deviations=_rounded(np.sqrt(found)),
    )


def _by_time(survey: Survey) -> Callable[[Floats, float], Floats] | None:
    """Return the variance that a slice of time adds, by count and share of the time; None if no time is kept.

    The noise of the table of regions and bins, as far as the area has its regions; and the chance that a person is in
    the slice, and not in another.
    """
    named = tuple(f"{column.name}: " for column in survey.keep if isinstance(column, Time))
    tables = [each for each in survey.answers if each.purpose.startswith(named) and each.purpose.endswith(BY_REGION)]
    if not named or not tables or survey.prepared.laws is None:
        return None
    noise = sum(len(each.values) * each.variance for each in tables if isinstance(each, NoisyCounts))  # in the city
    regions, people = len(survey.prepared.laws.regions), survey.prepared.counted.total

    def added(count: Floats, share: float) -> Floats:
        covered = count / share * regions / people  # regions; of less than one, its own part of the noise
        part = np.minimum(covered, covered**2) / regions
        return np.asarray((IN_TABLES * part * share * noise + IN_SLICES * count) * (1 - share))

    return added


def _fit(terms: Floats, variance: Floats) -> Floats:
    """Return the coefficients of the logarithm of a variance: a gamma regression, which is right on average."""
    fitted = np.linalg.lstsq(terms, np.log(variance), rcond=None)[0]
    for _ in range(STEPS):
        expected = np.exp(terms @ fitted)
        fitted = fitted + np.linalg.lstsq(terms, np.clip(variance / expected - 1, -1, 3), rcond=None)[0]
    return np.asarray(fitted)


def _terms(count: Floats, area: Floats) -> Floats:
    """Return the terms, (n, terms), in which the logarithm of a variance is linear."""
    many, wide = np.log1p(count), np.log(area)
    return np.column_stack([np.ones_like(many), many, many**2, wide, wide**2, many * wide])


def _rounded(values: Any) -> Any:
    """Return values with three digits, as plain lists."""
    return np.vectorize(lambda value: float(f"{value:.3g}"))(values).tolist()


def _effective_sample(people: Floats, margins: Margins) -> float:
    """Return (error of a sample)² / (error of the release)², both against the population, in squares of 100 m.

    The file that was released is itself a sample, whose error the release has beside its own.
    """
    some = people[people > 0]
    own = margins.usual(some, SQUARE**2) ** 2
    seldom = np.minimum(1.0, 2.5 * np.sqrt(some))  # where less than one person is expected, mostly nobody is
    sample = (seldom * np.sqrt(some)).sum()
    release = (seldom * np.sqrt(some + own)).sum()
    return float(f"{min((sample / release) ** 2, 1.0):.2g}")
