"""Throw coins, publish releases, and note what can be seen of each coin."""

import secrets

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Bools, Floats
from pointveil.lab.audit.city import City, city_others
from pointveil.lab.audit.evidence import FIT, Trials
from pointveil.lab.audit.features import look_at_others, look_at_units, look_at_whole
from pointveil.lab.audit.neighbours import Pair
from pointveil.lab.audit.offsets import Seen, add_offsets
from pointveil.lab.audit.scattered import Columns
from pointveil.lab.audit.subjects import Records, Release, Subject
from pointveil.lab.audit.units import Known, Units
from pointveil.vault import NoisyCounts

MOST_CELLS = 5000
FEW = 50  # a question with fewer cells, or with a small part of epsilon, says little about one canary
MORE_THAN_ALLOWED = 2  # how many times as many points as are counted a person has, so that the bound matters


def pair_trials(subject: Subject, pair: Pair, runs: int) -> Trials:
    """Publish `runs` releases, each about one dataset of a pair, as an even coin says."""
    world = pair.world()
    counted = min(len(pair.present.xy) - len(pair.without.xy), subject.points_per_unit)
    units = Units.at(world, np.nan_to_num(pair.unit)[None], max(1, counted // len(pair.unit)), said=pair.said)
    known = Known.of(pair.without, world)
    coins = throw(runs)
    rows: list[Columns] = []
    answers: list[list[Floats]] = []
    for coin in coins:
        release = subject.release(pair.present if coin else pair.without, world)
        given = [asked.answer for asked in release.asked]
        answers.append([np.array(one.values if isinstance(one, NoisyCounts) else [], np.float64) for one in given])
        columns = look_at_units(release, world, units, known)
        look_at_others(columns, release, world, pair.without)
        look_at_whole(columns, release, pair.without, pair.present)
        rows.append(columns)
    seen, names = gather(rows, [1] * runs)
    return Trials(coins, seen, names, steady_answers(answers))


def pool(parts: list[Trials]) -> Trials:
    """Return the trials of several pairs as one, in any order, with all features that any of them has."""
    columns = [dict(zip(part.names, part.seen.T, strict=True)) for part in parts]
    table, names = gather(columns, [len(part) for part in parts])
    order = shuffled(np.arange(len(table)))
    return Trials(np.concatenate([part.present for part in parts])[order], table[order], names)


def steady_answers(answers: list[list[Floats]]) -> tuple[Floats, ...]:
    """Return, as tables, the answers to the questions that had the same cells in every release."""
    asked = zip(*answers, strict=False)  # as many questions as every release has
    steady = (question for question in asked if len({len(values) for values in question}) == 1)
    return tuple(np.stack(question) for question in steady if 1 < len(question[0]) <= MOST_CELLS)


def canary_trials(subject: Subject, city: City, releases: int, *, enough: int | None = None) -> Trials:
    """Publish a few releases about a city; each canary is in each of them as its own coin says.

    Where several canaries share a cell, all coins but one are shown to the attacker before the guessing. The bound
    allows this: a guess may use the release and every coin already shown. With `enough` trials no more releases are
    made; the number of trials depends on the releases alone.
    """
    canaries, others = city.canaries(subject.points_per_unit), city_others(city, subject.points_per_unit)
    seen: list[Seen] = []
    while len(seen) < releases and (enough is None or sum(len(each.coins) for each in seen) < enough):
        seen.append(one_release(subject, city, canaries, *others))
    lessons = [throw(len(each.coins), FIT) for each in seen]
    rows = [look_at_units(each.release, city.world, each.units, each.known) for each in seen]
    add_offsets(rows, seen, lessons)
    table, names = gather(rows, [len(each.units) for each in seen])
    # Those whose coins taught the offsets come first: they must not be among those that test.
    taught = np.concatenate(lessons)
    order = np.concatenate([np.flatnonzero(taught), shuffled(np.flatnonzero(~taught))])
    coins = np.concatenate([each.coins for each in seen])
    group = np.concatenate([each.units.group for each in seen])
    return Trials(coins[order], table[order], names, group=group[order])


def one_release(subject: Subject, city: City, canaries: Units, others: Records, known: Known) -> Seen:
    """Throw a coin for every canary, publish, and choose those whose coins stay hidden."""
    coin = throw(len(canaries))
    release = subject.release(others.with_more(at_home(city, subject, coin)), city.world)
    hidden = one_in_each_cell(release, canaries)
    return Seen(release, canaries.chosen(hidden), known.with_units(canaries, coin & ~hidden), coin[hidden])


def at_home(city: City, subject: Subject, there: Bools) -> Records:
    """Return the records of the canaries that are there; where only one home is, more than will be counted."""
    points, homes = subject.points_per_unit, np.array(city.homes)
    times = MORE_THAN_ALLOWED * points if points > 1 and len(homes) == 1 else max(1, points // len(homes))
    places = (city.corners[there][:, None, :] + np.repeat(homes, times, axis=0)).reshape(-1, 2)
    return Records(places, np.repeat(np.flatnonzero(there), times * len(homes)))


def one_in_each_cell(release: Release, canaries: Units) -> Bools:
    """Choose, from the release alone, canaries of which no two share a cell of the coarsest useful question."""
    dearest = max((asked.answer.epsilon for asked in release.asked), default=0)
    questions = [
        asked
        for asked in release.asked
        if isinstance(asked.answer, NoisyCounts)
        and len(asked.about) > FEW
        and asked.answer.epsilon * 10 >= dearest
        and not getattr(asked.about, "reads_codes", False)  # few regions, many canaries: pairs are for these
    ]
    chosen = np.ones(len(canaries), dtype=bool)
    if questions:
        coarsest = min(questions, key=lambda asked: len(asked.about))
        cell = coarsest.locate(canaries.home, np.full(len(canaries), canaries.said[0]))
        chosen[:] = False
        chosen[np.unique(cell, return_index=True)[1]] = True
        chosen[cell < 0] = True
    return chosen


def shuffled(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return numbers in any order."""
    return np.random.default_rng(secrets.randbits(64)).permutation(numbers)


def throw(count: int, chance: float = 0.5) -> Bools:
    """Return coins, even or not."""
    return np.random.default_rng(secrets.randbits(64)).random(count) < chance


def gather(releases: list[Columns], units: list[int]) -> tuple[Floats, tuple[str, ...]]:
    """Put the features of all releases into one table, and name its columns; what some lack is unknown there.

    `units` says how many rows each release has in the table.
    """
    names = tuple(dict.fromkeys(name for columns in releases for name in columns))
    table = np.full((sum(units), len(names)), np.nan)
    for columns, rows in zip(releases, np.split(table, np.cumsum(units)[:-1]), strict=True):
        for number, name in enumerate(names):
            rows[:, number] = columns.get(name, np.nan)
    return table, names
