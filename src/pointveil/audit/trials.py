"""Throw coins, publish releases, and note what can be seen of each coin."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cache

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.audit.evidence import FIT, Trials
from pointveil.audit.features import Columns, look_at_others, look_at_units, look_at_whole
from pointveil.audit.neighbours import CRS, Pair
from pointveil.audit.offsets import Seen, add_offsets
from pointveil.audit.subjects import Asked, Records, Release, Subject
from pointveil.geography import World
from pointveil.vault import NoisyCounts

Floats = NDArray[np.float64]
BLOCK = 100.0
CROWD_PERSON = 10**7
MOST_CELLS = 5000
FEW = 50
"""A question with fewer cells, or with a small part of epsilon, says little about one canary."""


def pair_trials(subject: Subject, pair: Pair, runs: int) -> Trials:
    """Publish `runs` releases, each about one dataset of a pair, as an even coin says."""
    world, unit = pair.world(), np.array([pair.unit])
    if not np.isfinite(unit).all():
        unit = np.zeros((1, 2))
    weight = min(len(pair.present.xy) - len(pair.without.xy), subject.points_per_unit)
    coins = throw(runs)
    rows: list[Columns] = []
    answers: list[list[Floats]] = []
    for coin in coins:
        release = subject.release(pair.present if coin else pair.without, world)
        answers.append([_values(asked) for asked in release.asked])
        columns = look_at_units(release, world, unit, pair.without, weight)
        look_at_others(columns, release, world, pair.without)
        look_at_whole(columns, release, pair.without, pair.present)
        rows.append(columns)
    trials = gather(coins, rows)
    return Trials(trials.present, trials.seen, trials.names, steady_answers(answers))


def steady_answers(answers: list[list[Floats]]) -> tuple[Floats, ...]:
    """Return, as tables, the answers to the questions that had the same cells in every release."""
    numbers = range(min(len(each) for each in answers))
    sizes = {number: {len(each[number]) for each in answers} for number in numbers}
    return tuple(
        np.stack([each[number] for each in answers])
        for number in numbers
        if len(sizes[number]) == 1 and 1 < max(sizes[number]) <= MOST_CELLS
    )


def _values(asked: Asked) -> Floats:
    counts = isinstance(asked.answer, NoisyCounts)
    return np.asarray(asked.answer.values if counts else [], dtype=np.float64)  # type: ignore[union-attr]


@dataclass(frozen=True)
class City:
    """A city in which many canaries live far apart: one release is as many trials.

    Parameters
    ----------
    blocks
        How many blocks of 100 m a side has; every second block has a canary, beside its street.
    crowd
        How many people stand in one corner, so that the methods choose small cells.
    """

    blocks: int = 40
    crowd: int = 60_000

    @property
    def world(self) -> World:
        """Streets around every block, nothing else."""
        return city_world(self.blocks)

    @property
    def canaries(self) -> Floats:
        """Where the canaries live."""
        number = np.arange(1, self.blocks)
        column, row = (axis.ravel() for axis in np.meshgrid(number, number))
        chosen = (column + row) % 2 == 0
        return np.column_stack([column[chosen] * BLOCK + 37.5, row[chosen] * BLOCK + 3.25])

    @property
    def others(self) -> Records:
        """The crowd: all within one block."""
        places = np.random.default_rng(3).uniform(5.0, 95.0, (self.crowd, 2))
        return Records(places, np.arange(CROWD_PERSON, CROWD_PERSON + self.crowd))


@cache
def city_world(blocks: int) -> World:
    """Return a square with a street every 100 m, both ways."""
    side = blocks * BLOCK
    at = np.arange(blocks + 1) * BLOCK
    lines = [shapely.LineString([(0, y), (side, y)]) for y in at] + [
        shapely.LineString([(x, 0), (x, side)]) for x in at
    ]
    return World.make((0.0, 0.0, side, side), crs=CRS, roads=np.array(lines))


def canary_trials(subject: Subject, city: City, releases: int) -> Trials:
    """Publish a few releases about a city; each canary is in each of them as its own coin says.

    Where several canaries share a cell, all coins but one are shown to the attacker before the guessing. The bound
    allows this: a guess may use the release and every coin already shown.
    """
    canaries, others, weight = city.canaries, city.others, subject.points_per_unit
    seen = []
    for _ in range(releases):
        coin = throw(len(canaries))
        release = subject.release(others.with_more(at_home(canaries, coin, weight)), city.world)
        hidden = one_in_each_cell(release, city.world, canaries)
        known = others.with_more(at_home(canaries, coin & ~hidden, weight))
        seen.append(Seen(release, canaries[hidden], known, coin[hidden]))
    lessons = [np.random.default_rng(secrets.randbits(64)).random(len(each.coins)) < FIT for each in seen]
    rows = [look_at_units(each.release, city.world, each.canaries, each.known, weight) for each in seen]
    add_offsets(rows, seen, lessons, city.world, weight)
    trials = gather(np.concatenate([each.coins for each in seen]), rows)
    # Those whose coins taught the offsets come first: they must not be among those that test.
    order = np.argsort(~np.concatenate(lessons), kind="stable")
    order = np.concatenate([order[: np.concatenate(lessons).sum()], shuffled(order[np.concatenate(lessons).sum() :])])
    return Trials(trials.present[order], trials.seen[order], trials.names)


def at_home(canaries: Floats, there: NDArray[np.bool_], weight: int) -> Records:
    """Return the records of the canaries that are there, each with all its points."""
    return Records(np.repeat(canaries[there], weight, axis=0), np.repeat(np.flatnonzero(there), weight))


def one_in_each_cell(release: Release, world: World, canaries: Floats) -> NDArray[np.bool_]:
    """Choose, from the release alone, canaries of which no two share a cell of the coarsest useful question."""
    dearest = max((asked.answer.epsilon for asked in release.asked), default=0)
    questions = [
        asked
        for asked in release.asked
        if isinstance(asked.answer, NoisyCounts) and len(asked.about) > FEW and asked.answer.epsilon * 10 >= dearest
    ]
    chosen = np.ones(len(canaries), dtype=bool)
    if questions:
        coarsest = min(questions, key=lambda asked: len(asked.about))
        cell = np.asarray(coarsest.about.locate(world.projection.to_metres(canaries)))
        chosen[:] = False
        chosen[np.unique(cell, return_index=True)[1]] = True
    return chosen


def shuffled(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return numbers in any order."""
    return np.random.default_rng(secrets.randbits(64)).permutation(numbers)


def throw(count: int) -> NDArray[np.bool_]:
    """Return even coins."""
    return np.random.default_rng(secrets.randbits(64)).random(count) < 0.5


def gather(coins: NDArray[np.bool_], rows: list[Columns]) -> Trials:
    """Put the features of all releases into one table; what some lack is unknown there."""
    names = tuple(dict.fromkeys(name for columns in rows for name in columns.columns))
    if all(tuple(columns.columns) == names for columns in rows):
        return Trials(coins, np.concatenate([columns.table() for columns in rows]), names)
    unknown = [np.full(columns.rows, np.nan) for columns in rows]
    pieces = [
        np.column_stack([columns.columns.get(name, blank) for name in names])
        for columns, blank in zip(rows, unknown, strict=True)
    ]
    return Trials(coins, np.concatenate(pieces), names)
