"""When the invented people are about, and how they get around: trains at eight, the market at noon, bars at ten."""

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells import Floats, Ints
from pointveil.columns import Category, Column, Time
from pointveil.demo.city import places

KINDS = ("foot", "bike", "tram", "car")
KEPT: tuple[Column, ...] = (Time("time", "2026-06-01/2026-06-29"), Category("kind", KINDS))
"""The columns of the people's file that the demo keeps: four weeks by the hour, and how people get around."""
DAYS = 28


@dataclass(frozen=True)
class Rhythm:
    """How people of one sort spend the day."""

    kinds: tuple[str, ...]  # of places where they are; none for anywhere
    pull: float  # how many there are at such a place, against anywhere
    reach: float  # metres within which there are fewer by a factor of e
    peaks: tuple[tuple[float, float], ...]  # hours, and their standard deviations, each peak as high as the others
    weekend: float  # people on a day at the weekend, against another day
    ways: tuple[float, float, float, float]  # how many go on foot, by bike, by tram and by car


RHYTHMS = (
    Rhythm(("station", "metro", "tram"), 6.0, 50.0, ((8.0, 0.9), (16.8, 1.3)), 0.4, (0.35, 0.08, 0.50, 0.07)),
    Rhythm(("market", "ferry"), 12.0, 60.0, ((11.5, 1.8),), 1.3, (0.72, 0.10, 0.12, 0.06)),
    Rhythm(("park",), 5.0, 25.0, ((15.5, 2.6),), 1.6, (0.62, 0.34, 0.03, 0.01)),
    Rhythm(("street", "square"), 4.0, 35.0, ((13.0, 2.5), (22.0, 1.6)), 1.5, (0.78, 0.06, 0.13, 0.03)),
    Rhythm((), 1.0, 1.0, ((9.0, 2.5), (16.0, 3.5)), 0.8, (0.40, 0.12, 0.08, 0.40)),
)


def lives(xy: Floats, rng: np.random.Generator) -> tuple[NDArray[np.datetime64], Ints]:
    """Return when each of the people at (n, 2) metres is there, and the number of their kind in `KINDS`."""
    weight = np.column_stack([_weight(rhythm, xy) for rhythm in RHYTHMS])
    chosen = _choose(weight, rng)
    hours, days, kinds = np.zeros(len(xy)), np.zeros(len(xy)), np.zeros(len(xy), dtype=np.int64)
    for number, rhythm in enumerate(RHYTHMS):
        who = np.flatnonzero(chosen == number)
        peak, width = np.array(rhythm.peaks)[rng.integers(len(rhythm.peaks), size=len(who))].T
        hours[who] = rng.normal(peak, width) % 24
        of_week = np.where(np.arange(DAYS) % 7 < 5, 1.0, rhythm.weekend)
        days[who] = rng.choice(DAYS, len(who), p=of_week / of_week.sum())
        kinds[who] = rng.choice(len(KINDS), len(who), p=rhythm.ways)
    seconds = np.floor(days * 86_400 + hours * 3_600).astype(np.int64)
    return np.datetime64("2026-06-01", "s") + seconds, kinds  # a Monday


def _weight(rhythm: Rhythm, xy: Floats) -> Floats:
    """Return how many people of this sort there are around each place, (n,)."""
    if not rhythm.kinds:
        return np.full(len(xy), rhythm.pull)
    shapes = shapely.union_all([place.shape for place in places() if place.kind in rhythm.kinds])
    return np.asarray(rhythm.pull * np.exp(-shapely.distance(shapely.points(xy), shapes) / rhythm.reach))


def _choose(weight: Floats, rng: np.random.Generator) -> Ints:
    """Return a column for each row, as often as its weight says."""
    ends = np.cumsum(weight, axis=1)
    read = rng.random(len(weight)) * ends[:, -1]
    return np.asarray((read[:, None] >= ends).sum(axis=1).clip(max=weight.shape[1] - 1), dtype=np.int64)
