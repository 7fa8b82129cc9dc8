"""How far counts of a release may be off: found by rehearsing it on invented people, at no cost."""

import dataclasses
import math
import zlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pointveil.asking import Prepared, ask_all
from pointveil.cells import Floats, Ints
from pointveil.cells.coded import CodedCells, Codes
from pointveil.files.memory import return_memory
from pointveil.keeping import draw_codes, walk
from pointveil.partition import Clusters, UniformGrid
from pointveil.statement import NINE_IN_TEN, Margins
from pointveil.surveys import Survey
from pointveil.vault import NoisyCounts, Rehearsal
from pointveil.world import World

RADII = {
    25.0: 480,
    50.0: 480,
    100.0: 480,
    250.0: 400,
    500.0: 320,
    1000.0: 200,
    2000.0: 80,
}  # metres, and how many are tried
LARGEST = 3  # circles have a radius of at most the longer side of the world over this
TRIES = 20  # places for each that must be on land
MOST_PEOPLE = 2**18  # in a rehearsal
PLACES = 2  # for each of them, as long as there are no more places than most people
ENOUGH, WIDE, MOST_REHEARSALS = 6, 1000.0, 2  # circles so wide (metres) that do not overlap, and rehearsals for them
COUNTS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 1e6, 1e7)
SHARES = (1 / 64, 1 / 16, 1 / 4, 3 / 4, 1.0)  # of all points, in a slice
SLICES, IN_SLICE = 8, 0.2  # how many of each column are tried, and with which part of the circles
SQUARE = 100.0  # metres: the side of the squares in which a release is compared with a sample
HELD = 0.9  # of all intervals shall hold the true count
STEPS = 30  # towards the fit
LEAF = 64  # points in a leaf of a tree
STIFF, OWN_WAY = 10.0, 30.0  # circles: what a bend in the fit must be worth, and what an area may have of its own
LEAST_UNEVEN = 0.02  # no city is quite even
REACH = 2.0  # standard deviations: what is farther from an answer is not due to its noise
HALVINGS = 12  # of the people of a part, at most


class Places(NamedTuple):
    """Where people are, (n, 2) metres, and what their kept columns say."""

    xy: Floats
    codes: Codes

    def only(self, rows: Any) -> "Places":
        """Return some of them."""
        return Places(self.xy[rows], tuple(each[rows] for each in self.codes))


class Trials(NamedTuple):
    """Circles in which invented people were counted, and told by a rehearsal; (n,) each."""

    column: Ints  # by which people are sliced; -1 if all are counted
    area: Floats  # square metres
    share: Floats  # of all people that are in the slice; 1 if all are counted
    told: Floats  # people
    true: Floats  # people


def with_margins(survey: Survey) -> Survey:
    """Return the same survey with a statement that says how far counts may be off."""
    try:
        with np.errstate(all="ignore"):  # hardly anybody makes odd numbers: these are refused, and warn nobody
            margins = margins_of(survey)
    except (ValueError, ArithmeticError, LookupError):  # of numpy's solver, or of numbers that no margin may have
        margins = None  # the answers are paid for: a release without margins is better than none
    found = dataclasses.replace(survey, statement=survey.statement.model_copy(update={"margins": margins}))
    found.__dict__["prepared"] = survey.prepared  # known already
    return found


def margins_of(survey: Survey) -> Margins | None:
    """Return how far counts may be off; None if that cannot be told, as of nobody, a uniform grid, or clusters.

    The released map is taken for a city. Invented people live in it, as clumped within the parts that were counted as
    noisy answers show them to be between neighbouring parts; and the whole method, with noise of the same size, is
    rehearsed on them. How far its counts are off in circles of all sizes is seen, and put into a table. Nothing private
    is asked, and the same survey has the same margins. A uniform grid and clusters leave people in wide areas where
    nobody is, of whom a rehearsal shows too few.
    """
    if not survey.prepared.counted.total or isinstance(survey.method.partitioner, UniformGrid | Clusters):
        return None
    if survey.prepared.people is not None:  # how much less than their points busy persons weigh is not known by place
        return None
    seed = zlib.crc32(b"".join(each.values.tobytes() for each in survey.answers if isinstance(each, NoisyCounts)))
    rng = np.random.default_rng(seed)
    radii = [radius for radius in RADII if radius <= max(max(survey.world.size) / LARGEST, min(RADII))]
    land = math.prod(survey.world.size)
    rehearsals = min(math.ceil(ENOUGH * math.pi * min(radii[-1], WIDE) ** 2 / land), MOST_REHEARSALS)
    tried, worth = zip(*(_rehearse(survey, radii, rng) for _ in range(rehearsals)), strict=True)
    trials = Trials(*map(np.concatenate, zip(*tried, strict=True)))
    return _table(trials, survey, rehearsals * land, float(np.mean(worth)))


def _rehearse(survey: Survey, radii: list[float], rng: np.random.Generator) -> tuple[Trials, float]:
    """Rehearse the survey on invented people; return how far circles are off, and what the release is worth."""
    total = survey.prepared.counted.total
    count = min(total, MOST_PEOPLE)
    # More places than people: else so many would share theirs that they were more clumped than real ones.
    city = _drawn(survey, survey.prepared, max(count, min(PLACES * count, MOST_PEOPLE)), rng)
    likely = _clumped(survey, city, rng)
    real = city.only(rng.choice(len(likely), count, p=likely))
    return_memory()  # that inventing them took
    epsilon, seed = Fraction(survey.statement.guarantee.epsilon), int(rng.integers(2**32))
    vault = Rehearsal.on(*real, survey.world, survey.keep, epsilon, seed)
    again = ask_all(vault, survey.world, survey.method, epsilon, survey.keep)
    made = _drawn(survey, again, max(again.counted.total, 1), rng)
    # With fewer people than there are, parts are wider: as if one saw the city from farther away.
    scale = math.sqrt(total / count)
    del again  # with its raster
    return_memory()
    tried = list(_compare(survey.world, real, made, radii, scale, rng))
    return Trials(*map(np.concatenate, zip(*tried, strict=True))), _worth(city.xy, likely, real.xy, made.xy, scale)


def _drawn(survey: Survey, prepared: Prepared, count: int, rng: np.random.Generator) -> Places:
    xy = survey.method.placement.draw(survey.world, prepared.counted, prepared.asked, count, rng)
    drawn = [] if prepared.laws is None else draw_codes(prepared.laws, xy, rng)
    return Places(xy, tuple(codes for codes, _ in drawn))


def _clumped(survey: Survey, city: Places, rng: np.random.Generator) -> Floats:
    """Return how likely an invented person is at each of these places: (n,), which add up to one.

    The parts that were counted have the people that the release has. Those of a part are halved again and again along
    a curve, and shared between the halves as unevenly as two neighbouring parts share theirs, as if the city looked
    alike at all scales. So are, by themselves, those of a region that have the same hour or kind.
    """
    xy, people = city.xy, survey.prepared.counted.total / len(city.xy)  # that each place stands for
    counted = [(cells, answer) for cells, answer in survey.prepared.parts if answer.purpose in {"shape", "count"}]
    uneven = max(unevenness(answer) for _, answer in counted)
    part, likely = np.zeros(len(xy), dtype=np.int64), np.ones(len(xy))
    for cells, answer in counted:
        at = cells.locate(xy) + 1
        if answer.purpose == "shape":  # what was counted to shape the parts tells something of their inside
            likely *= _as_answered(at, answer, people)
        else:  # second counts look closer at the same parts
            if len(counted) == 1:  # nothing else tells where nobody is, and there the release has people of noise
                likely *= _believed(at, answer)
            found = _told_apart(at, len(cells) + 1, answer.variance / people**2)
            part = np.unique(part * (found.max() + 1) + found, return_inverse=True)[1]
    likely *= _halved(part, xy, uneven, rng)
    for cells, answer in survey.prepared.parts:
        if isinstance(cells, CodedCells) and len(cells.places) > 1:
            by_region = answer.values.reshape(len(cells.places), -1)
            uneven = unevenness(dataclasses.replace(answer, values=by_region.T.ravel()))
            likely *= _halved(cells.locate(xy, city.codes) + 1, xy, uneven, rng)
    return np.asarray(likely / likely.sum())


def _halved(part: Ints, xy: Floats, uneven: float, rng: np.random.Generator) -> Floats:
    """Return how much likelier than another each place of a part becomes, when its people are halved unevenly."""
    order = walk(xy)
    order = order[np.argsort(part[order], kind="stable")]
    start = np.searchsorted(part[order], part[order])
    people = np.bincount(part)[part[order]]
    rank = np.arange(len(xy)) - start
    likely = np.ones(len(xy))
    spread = max(1 / uneven - 1, 1e-3) / 2  # of a beta law: (one half - the other)² is then `uneven` on average
    for halving in range(1, HALVINGS + 1):
        cut = people >= 2**halving
        half = (rank[cut] << halving) // people[cut]
        pair = (start[cut] << HALVINGS) + half // 2  # rising, so equal ones stand together
        number = np.cumsum(np.diff(pair, prepend=-1) != 0) - 1
        share = rng.beta(spread, spread, number[-1] + 1 if len(number) else 0)[number]
        likely[cut] *= 2 * np.where(half % 2, share, 1 - share) + 1e-9  # never quite nobody
    found = np.empty(len(xy))
    found[order] = likely
    return found


def _as_answered(part: Ints, answer: NoisyCounts, people: float) -> Floats:
    """Return a factor for each place, such that parts (from 1) have the people that were answered, within noise.

    `people` are those that each place stands for.
    """
    told, reach = np.bincount(part, minlength=len(answer.values) + 1) * people, REACH * math.sqrt(answer.variance)
    likely = told.copy()
    likely[1:] = np.maximum(np.clip(told[1:], answer.values - reach, answer.values + reach), 0.0)
    return np.asarray((likely / np.maximum(told, 1e-9))[part])


def _believed(part: Ints, answer: NoisyCounts) -> Floats:
    """Return a factor for each place, such that runs of parts (from 1) share their people as was answered.

    Where that stands out of noise, from the whole city down to single parts; elsewhere as in the release.
    """
    size = 1 << max(len(answer.values) - 1, 0).bit_length()
    told, values = np.zeros(size), np.zeros(size)
    told[: len(answer.values)] = np.bincount(part, minlength=len(answer.values) + 1)[1:]
    values[: len(answer.values)] = answer.values
    believed = told.sum(keepdims=True)
    while len(believed) < size:
        run = size // len(believed) // 2
        halves, seen = (each.reshape(-1, 2, run).sum(axis=2) for each in (values, told))
        sure = np.abs(halves[:, 0] - halves[:, 1]) > REACH * math.sqrt(2 * run * answer.variance)
        halves = np.where(sure[:, None], np.maximum(halves, 0.0), seen)
        share = halves / np.maximum(halves.sum(axis=1, keepdims=True), 1e-9)
        believed = (believed[:, None] * share).ravel()
    factor = np.append(1.0, believed[: len(answer.values)] / np.maximum(told[: len(answer.values)], 1e-9))
    return np.asarray(factor[part])


def _told_apart(part: Ints, parts: int, noise: float) -> Ints:
    """Return the run of parts, one after the other, in which each place is: as few as stand out of their noise.

    `noise` is a variance, in places.
    """
    levels = parts.bit_length() + 1
    people = np.bincount(part, minlength=1 << levels)
    found, left = np.full(parts, -1), np.arange(parts)
    for level in range(levels):
        known = people[left >> level] ** 2 >= noise * 2**level
        found[left[known]] = (left[known] >> level) * levels + level
        left, people = left[~known], people.reshape(-1, 2).sum(axis=1)
    return np.unique(found[part], return_inverse=True)[1]


def unevenness(answer: NoisyCounts) -> float:
    """Return how unevenly two parts that were counted one after the other share their people: from 0 to 1.

    It is the mean of ((one - the other) / both)² over all people, so that a few crowded parts do not speak for the
    whole city. Parts are numbered so that most are neighbours of the next. What is due to noise, and to chance, is
    taken off; pairs that do not stand out of their noise tell nothing.
    """
    values, noise = answer.values.astype(np.float64), 2 * answer.variance
    apart, together = values[1:] - values[:-1], values[1:] + values[:-1]
    known = together > REACH * math.sqrt(noise)
    found = ((apart**2 - together - noise)[known] / together[known]).sum() / max(float(together[known].sum()), 1.0)
    return float(np.clip(found, LEAST_UNEVEN, 1.0))


def _compare(
    world: World, real: Places, made: Places, radii: list[float], scale: float, rng: np.random.Generator
) -> Iterator[Trials]:
    """Yield how far circles are off: of all people, then of slices of them by what a kept column says."""
    from scipy.spatial import KDTree  # late: slow to load

    groups = [(-1, 1.0, 1.0, real.xy, made.xy)]
    for column in np.repeat(np.arange(len(made.codes)), SLICES).tolist():
        told, true = (np.asarray(places.codes[column], dtype=np.int64) for places in (made, real))
        ends = np.cumsum(np.bincount(told)) / len(told)
        low = int(told[rng.integers(len(told))])
        high = max(low, int(np.searchsorted(ends, ends[low] + rng.choice(SHARES[:-1]), side="right")) - 1)
        some, truly = ((code >= low) & (code <= high) for code in (told, true))
        groups.append((column, float(some.mean()), IN_SLICE, real.xy[truly], made.xy[some]))
    for column, share, part, *both in groups:
        trees = [KDTree(xy, LEAF, compact_nodes=False, balanced_tree=False) for xy in both]  # soon made, asked little
        for radius in radii:
            centres = _centres(world, both[0], scale * radius, math.ceil(part * RADII[radius]), rng)
            held, counted = (
                np.asarray(tree.query_ball_point(centres, scale * radius, return_length=True), dtype=np.float64)
                for tree in trees
            )
            yield _trials(column, math.pi * radius**2, share, counted, held)


def _trials(column: int, area: float, share: float, told: Floats, true: Floats) -> Trials:
    """Return trials of one column, area and share."""
    return Trials(*(np.full(len(told), value) for value in (column, area, share)), told, true)  # type: ignore[call-arg]


def _centres(world: World, xy: Floats, radius: float, count: int, rng: np.random.Generator) -> Floats:
    """Return centres of circles, (n, 2) metres, on land: some anywhere, and more around people.

    Around a person, any circle that holds her is as likely as any other: so of those with equally many people, circles
    of both kinds are the same.
    """
    anywhere = rng.uniform(world.bounds[:2], world.bounds[2:], (count * TRIES, 2))
    around = rng.choice(xy, count if len(xy) else 0)
    angle, away = rng.uniform(0, 2 * math.pi, len(around)), radius * np.sqrt(rng.random(len(around)))
    around = around + np.column_stack([np.cos(angle), np.sin(angle)]) * away[:, None]
    anywhere, around = (each[world.on_land(each)] for each in (anywhere, around))
    return np.concatenate([anywhere[: count // 2], around])


def _table(trials: Trials, survey: Survey, land: float, worth: float) -> Margins:
    """Return smooth deviations by share, area and count, for intervals of which nine in ten hold; and the worth.

    `land` is the area of all rehearsals together.
    """
    areas = np.unique(trials.area)
    counts = np.array([each for each in COUNTS if each <= max(3 * trials.told.max(), COUNTS[1])])
    columns = np.unique(trials.column[trials.column >= 0])
    shares = SHARES if len(columns) else SHARES[-1:]
    found = np.zeros((len(shares), len(areas), len(counts)))
    for column in columns.tolist() or [-1]:  # of several columns, the one whose slices are the least sure
        some = Trials(*(each[(trials.column < 0) | (trials.column == column)] for each in trials))
        found = np.maximum(found, _deviations(some, shares, areas, counts, land))
    return Margins(
        people=survey.prepared.counted.total,
        shares=shares,
        areas=_rounded(areas),
        counts=tuple(counts.tolist()),
        deviations=_rounded(found),
        effective_sample=_rounded(worth),
    )


def _deviations(trials: Trials, shares: Iterable[float], areas: Floats, counts: Floats, land: float) -> Floats:
    """Return deviations (shares, areas, counts): of which 1.645 hold the true count in nine of ten trials."""
    from scipy.special import stdtrit  # late: slow to load

    # Slices err in another way than all people do.
    groups = {of_all: Trials(*(each[(trials.column < 0) == of_all] for each in trials)) for of_all in (True, False)}
    laws = {of_all: list(_laws(some, areas, counts)) for of_all, some in groups.items() if len(some.told)}
    found = []
    for share, area in product(shares, areas):
        # Few circles tell less than many: as Student's law has it, of those that overlap by half.
        factor = stdtrit(max(2 * land / area, 2.0), (1 + HELD) / 2) / NINE_IN_TEN**2
        # Fewer people than were ever seen are as unsure as the fewest that were; with more than the most, doubt grows.
        seen = share * trials.true[(trials.area == area) & (trials.share == 1)]
        within = np.clip(counts, seen.min(), seen.max())
        tried = groups[share == 1].share  # a smaller or larger slice than any is as unsure as the nearest
        nearest = float(np.clip(share, tried.min(), tried.max()))
        terms = _terms(_trials(0, area, nearest, within, within), within, counts)
        known = np.exp(np.max([terms @ law[area] for law in laws[share == 1]], axis=0))
        found.append(factor * known * np.sqrt(np.maximum((counts + 1) / (within + 1), 1.0)))
    return np.reshape(found, (-1, len(areas), len(counts)))


def _laws(trials: Trials, areas: Floats, knots: Floats) -> Iterator[dict[float, Floats]]:
    """Yield two laws of the logarithm of margins, by area: coefficients of its terms. The wider one holds.

    One goes by what is told, as a margin is looked up. Nine in ten circles hold, both of those that are told alike and
    of those that are truly alike: else circles would be missed whose many people are smoothed away. The other goes by
    true counts, so that circles hold as often where nearly nobody is and noise tells of some.
    """
    errors, true = np.log(np.abs(trials.told - trials.true) + 0.5), _terms(trials, trials.true, knots)
    line = np.eye(len(knots), true.shape[1])  # values at knots
    bends = np.diff(line, 2, axis=0)
    for terms in (_terms(trials, trials.told, knots), true):
        # The line bends, and an area then leaves what all have in common, only where enough circles say so.
        common = _fit(terms, (terms + true) / 2, errors, STIFF * bends.T @ bends)
        law = {}
        for area in areas:  # without circles, it has what all have in common
            at, left = trials.area == area, errors - terms @ common
            here, there = terms[at] @ line.T, true[at] @ line.T
            law[float(area)] = common + _fit(here, (here + there) / 2, left[at], OWN_WAY * np.eye(len(knots))) @ line
        yield law


def _fit(terms: Floats, weights: Floats, values: Floats, stiff: Floats) -> Floats:
    """Return the coefficients of a quantile regression: nine in ten values lie below `terms` times them.

    That is so in the mean by each column of `weights`. What `stiff` says makes coefficients small.
    """
    fitted = np.linalg.lstsq(terms.T @ terms + stiff, terms.T @ values, rcond=None)[0]
    for _ in range(STEPS):
        gap = values - terms @ fitted
        weighted = (weights * (np.where(gap > 0, HELD, 1 - HELD) / np.maximum(np.abs(gap), 0.03))[:, None]).T
        fitted = np.linalg.lstsq(weighted @ terms + stiff, weighted @ values, rcond=None)[0]
    return np.asarray(fitted)


def _terms(trials: Trials, count: Floats, knots: Floats) -> Floats:
    """Return the terms, (n, terms), in which the logarithm of a margin is linear: counts at knots, area and share."""
    many, wide, part = np.log1p(count), np.log(trials.area) / 2 - 6, np.log(trials.share)
    at_knots = [np.interp(many, np.log1p(knots), one) for one in np.eye(len(knots))]
    return np.column_stack([*at_knots, wide, wide**2, (many - 4) * wide, part, part**2, part * (many - 4), part * wide])


def _rounded(values: Any) -> Any:
    """Return values with three digits, as plain lists."""
    return np.vectorize(lambda value: float(f"{value:.3g}"))(values).tolist()


def _worth(places: Floats, likely: Floats, sample: Floats, release: Floats, scale: float) -> float:
    """Return (error of a sample)² / (error of the release)², both against the population, in squares of 100 m."""
    side = scale * SQUARE

    def squares(xy: Floats) -> Ints:
        column, row = np.floor(xy / side).astype(np.int64).T
        return np.asarray(column << 32 | row)

    number = np.unique(np.concatenate([squares(each) for each in (places, sample, release)]), return_inverse=True)[1]
    population, drawn, told = np.split(number, np.cumsum([len(places), len(sample)]))
    expected = np.bincount(population, likely, number.max() + 1)
    found = [np.bincount(each, minlength=len(expected)) / len(each) for each in (drawn, told)]
    of_sample, of_release = (float(np.abs(shares - expected).sum()) for shares in found)
    return min((of_sample / max(of_release, 1e-9)) ** 2, 1.0)
