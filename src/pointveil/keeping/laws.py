"""What kept columns say, region by region: one table for the leading part, three small ones for each of the others."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pointveil.cells import CodedCells, Everywhere, Floats, Ints, PeopleRegions
from pointveil.columns import Column
from pointveil.estimate.axes import tree_axis
from pointveil.estimate.consistency import project_to_total
from pointveil.estimate.posterior import Estimates, posterior
from pointveil.estimate.tables import combine, denoise_table, finer_levels, fit_pairs, merge_tables
from pointveil.keeping.regions import MOST_LEVELS, Tree, effective_bins, region_levels
from pointveil.keeping.topics import HISTOGRAM, OUTLINE, Topic, topics_of
from pointveil.vault import NoisyCounts, Respondent, laplace_variance

Known = tuple[Floats, float]  # a histogram, and the variance of each of its counts
MOST_CELLS = 2**24  # of the largest table that is worked out: a bound on memory


@dataclass(frozen=True, eq=False)
class Asked:
    """The answers about one topic: histogram (bins,), outline and places (regions · bins,), pairs (leading · bins,)."""

    topic: Topic
    histogram: NoisyCounts
    outline: NoisyCounts | None = None
    places: NoisyCounts | None = None
    pairs: NoisyCounts | None = None

    @property
    def levels(self) -> int:
        """How often the city was cut for the largest table."""
        return 0 if self.places is None else (len(self.places.values) // self.topic.size).bit_length() - 1

    def table(self) -> tuple[Floats, Floats]:
        """Return the noisy people (regions, bins), and the noise's variance along the tree of regions."""
        assert self.places is not None  # noqa: S101 - dates have no table
        first = self.outline or self.histogram
        coarse, fine = (_rows(answer, self.topic) for answer in (first, self.places))
        return merge_tables(coarse, first.variance, fine, self.places.variance)

    def told(self) -> list[Known]:
        """Return what the answers tell of the whole city's histogram."""
        if self.places is None:
            return [(self.histogram.values.astype(np.float64), self.histogram.variance)]
        table, variance = self.table()
        sums = [(table.sum(axis=0), len(table) * float(variance[0]))]
        if self.outline is not None:
            sums.append((_rows(self.histogram, self.topic)[0], self.histogram.variance))
        return sums


@dataclass(frozen=True, eq=False)
class Law:
    """How one topic is drawn: (groups, bins) people, for each group of places and of bins that are known already.

    A group is a region and a bin of the leading topic; of dates, a day of the week.
    """

    topic: Topic
    people: Floats


@dataclass(frozen=True, eq=False)
class Laws:
    """All that is needed to give synthetic points their codes."""

    keep: tuple[Column, ...]
    regions: PeopleRegions
    laws: tuple[Law, ...]  # the leading topic first


def learn_laws(
    vault: Respondent, keep: tuple[Column, ...], epsilon: Fraction, places: Floats, people: float
) -> Laws | None:
    """Ask about the kept columns, and work out what they say; None if nothing is kept that has codes.

    Every question counts places and codes, of which a record has exactly one each: sensitivity 1 (docs/columns.md).
    Epsilon is that of the whole release, of which each column takes its own share. `places` (n, 2) in metres are drawn
    from the released map, and `people` is how many there seem to be.
    """
    topics = topics_of(keep, epsilon, people)
    if not topics:
        return None
    tree = Tree(places, people)
    asked = [_ask(vault, topic, topics[0], tree) for topic in topics]
    levels = max(answers.levels for answers in asked)
    expected = tree.expected(levels)
    dates = next((answers for answers in asked if answers.topic.is_dates), None)
    leading = _by_place(asked[0], expected, _histogram(asked[0], expected, *_by_weekday(asked[0], dates)))
    laws = [Law(asked[0].topic, leading)]
    for answers in asked[1:]:
        if answers is dates:
            laws.append(Law(dates.topic, _dates_by_weekday(dates, expected)))
        else:
            joint = _with_leading(leading, asked[0].topic, answers, *_by_weekday(answers, dates))
            laws.append(Law(answers.topic, joint.reshape(-1, answers.topic.size)))
    return Laws(keep, tree.regions(levels), tuple(laws))


def _ask(vault: Respondent, topic: Topic, leading: Topic, tree: Tree) -> Asked:
    """Ask for the histogram, then for as many regions as seem worth it, and how the topic goes with the leading one."""

    def count(regions: object, what: str, part: Fraction, *others: Topic) -> NoisyCounts:
        looked_up = tuple((each.number, each.part.bins) for each in (*others, topic))
        return vault.count(CodedCells(regions, looked_up), topic.share(what, part))

    if topic.is_dates:
        return Asked(topic, count(Everywhere(), "in all", Fraction(1)))
    is_leading = topic is leading
    most = min(MOST_LEVELS, int(np.log2(MOST_CELLS / (topic.size * (1 if is_leading else leading.size)))))
    left = 1 - HISTOGRAM - (0 if is_leading else topic.pairs_share)
    histogram = count(Everywhere(), "in all", HISTOGRAM)
    outline = None
    if topic.is_time:
        law = project_to_total(histogram.values.astype(np.float64), max(tree.people, 1.0))
        levels = region_levels(tree.people, float(topic.epsilon * left) / vault.points_per_unit, effective_bins(law))
    else:
        left -= OUTLINE
        few = region_levels(tree.people, float(topic.epsilon * OUTLINE) / vault.points_per_unit, topic.size)
        outline = count(tree.regions(min(few, most)), "in few regions", OUTLINE)
        levels = _levels_worth_asking(outline, topic, topic.epsilon * left / vault.points_per_unit, tree.people)
    places = count(tree.regions(min(levels, most)), "by region", left)
    if is_leading:
        return Asked(topic, histogram, outline, places)
    pairs = count(Everywhere(), f"with {leading.column.name} {leading.part.name}", topic.pairs_share, leading)
    return Asked(topic, histogram, outline, places, pairs)


def _levels_worth_asking(outline: NoisyCounts, topic: Topic, next_epsilon: Fraction, people: float) -> int:
    """Return how many levels of regions the second table should have, by what the first one shows."""
    table = _rows(outline, topic)
    histogram = combine(max(people, 1.0), (table.sum(axis=0), len(table) * outline.variance), other=False)
    more = finer_levels(table, outline.variance, laplace_variance(next_epsilon), histogram, topic.axis)
    return len(table).bit_length() - 1 + more


def _histogram(answers: Asked, expected: Floats, *known: Known) -> Floats:
    """Return the people of each bin in the whole city, from all that tells of them."""
    return combine(float(expected.sum()), *answers.told(), *known, other=answers.topic.has_other)


def _by_place(answers: Asked, expected: Floats, histogram: Floats) -> Floats:
    """Return (regions, bins) people: denoised in the table's own regions, whose laws the smaller ones in them take."""
    table, variance = answers.table()
    rows = expected.reshape(len(table), -1).sum(axis=1)
    tree = tree_axis(len(table).bit_length() - 1)
    found = denoise_table(table, variance, rows, histogram, tree, answers.topic.axis)
    law = found / np.maximum(rows, 1e-300)[:, None]
    return np.asarray(np.repeat(law, len(expected) // len(table), axis=0) * expected[:, None])


def _with_leading(leading: Floats, first: Topic, answers: Asked, *known: Known) -> Floats:
    """Return the (regions, leading, bins) people of the leading topic and another."""
    assert answers.pairs is not None  # noqa: S101 - only the leading topic and dates have none
    expected, first_bins = leading.sum(axis=1), leading.sum(axis=0)
    noisy = answers.pairs.values.reshape(len(first_bins), -1).astype(np.float64)
    variance = np.full(len(noisy), answers.pairs.variance)
    sums = noisy.sum(axis=0), float(variance.sum())
    histogram = _histogram(answers, expected, sums, *known)
    both = denoise_table(noisy, variance, first_bins, histogram, first.axis, answers.topic.axis)
    joint = fit_pairs(leading, _by_place(answers, expected, histogram), both)
    if answers.topic.column is first.column and answers.topic.has_other:
        # Other values of one column are others in all its parts, and in no other way.
        joint[:, :-1, -1] = joint[:, -1, :-1] = 0.0
        joint[:, -1, -1] = 1.0
    return joint


def _by_weekday(answers: Asked, dates: Asked | None) -> list[Known]:
    """Return what the counts of every date tell of the days of the week of the same column."""
    topic = answers.topic
    if dates is None or topic.column is not dates.topic.column or topic.part.name != "day of the week":
        return []
    found = _posterior(dates)
    sums, variances = (np.bincount(_weekdays(dates), of_dates, topic.size) for of_dates in (found.mean, found.variance))
    return [(sums.astype(np.float64), float(variances.mean()))]


def _dates_by_weekday(dates: Asked, expected: Floats) -> Floats:
    """Return (days of the week, dates) people, each date under its own day."""
    day = _weekdays(dates)
    law = project_to_total(_posterior(dates).mean, float(expected.sum()))
    return np.where(day == np.arange(day.max() + 1)[:, None], law, 0.0)


def _posterior(dates: Asked) -> Estimates:
    """Return what the noisy count of each date most likely means."""
    # Many dates may be alike, such as those on which hardly anything was recorded: empirical Bayes finds that out.
    return posterior(dates.histogram.values, float(dates.histogram.noise_epsilon), dates.histogram.parts)


def _weekdays(dates: Asked) -> Ints:
    """Return (dates,) the bin of the day of the week of each date."""
    weekdays = next(part for part in dates.topic.column.parts() if part.name == "day of the week")
    found = np.zeros(dates.topic.size, dtype=np.int64)
    found[dates.topic.part.bins] = weekdays.bins
    return found


def _rows(answer: NoisyCounts, topic: Topic) -> Floats:
    return answer.values.reshape(-1, topic.size).astype(np.float64)
