"""Invent the people of the demo: no one here is real."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pointveil.cells.arrays import Bounds, Floats, Ints, within
from pointveil.demo.city import Place, city, places
from pointveil.demo.habits import Grounds, Spots, Streets
from pointveil.demo.rhythms import KINDS, lives
from pointveil.errors import InputError
from pointveil.world.world import World

SEED = 1952  # the summer of the Olympic Games in Helsinki

SCATTER, BAD_SCATTER, BAD_SHARE = 3.0, 14.0, 0.04  # metres by which phones err; more between tall walls


@dataclass(frozen=True)
class Lost:
    """Phones with no idea where they are."""

    bounds: Bounds

    def stand(self, count: int, rng: np.random.Generator) -> Floats:
        """Return anywhere within the bounds."""
        return rng.uniform(self.bounds[:2], self.bounds[2:], (count, 2))


Habit = Streets | Grounds | Spots | Lost


def people(world: World, *, count: int = 50_000, seed: int = SEED) -> Floats:
    """Invent where people are in the city of `city()`, (count, 2) metres; the same for the same seed.

    Nearly everyone is on land: along streets, on squares, in parks, around stations. As in files from real
    phones, all are some metres off, and a few are on a bridge or in the water; nobody is out of bounds.
    """
    rng = np.random.default_rng(seed)
    habits = habits_of(world, places(), rng)
    found = np.empty((0, 2))
    while len(found) < count:
        xy = look_around(habits, count, rng)
        found = np.concatenate([found, xy[within(world.bounds, *xy.T)]])
    return found[:count]


def write_people(path: Path, world: World, *, count: int = 50_000, seed: int = SEED) -> None:
    """Write invented people to a Parquet file with the columns lon, lat, time and kind."""
    xy = people(world, count=count, seed=seed)
    lonlat = world.projection.from_metres(xy).round(7)
    when, kind = lives_of(xy, seed=seed)
    kinds = pa.DictionaryArray.from_arrays(kind.astype(np.int8), list(KINDS)).cast(pa.string())
    pq.write_table(pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1], "time": when, "kind": kinds}), path)


def lives_of(xy: Floats, *, seed: int = SEED) -> tuple[NDArray[np.datetime64], Ints]:
    """Return when each of the people is there, and the number of their kind; the same for the same seed."""
    return lives(xy, np.random.default_rng((seed, 1)))  # a generator of its own, so that places are as ever


def habits_of(world: World, somewhere: tuple[Place, ...], rng: np.random.Generator) -> dict[Habit, float]:
    """Return what people do in this city, and the share of people who do it."""
    if world.roads is None or world != city():
        raise InputError("People are invented for the built-in city only: give pointveil.demo.city().")
    spots = Spots.of(somewhere, rng)
    return {
        Streets.of(world.roads, spots, rng): 0.70,
        Grounds.of(somewhere, rng): 0.17,
        spots: 0.125,
        Lost(world.bounds): 0.005,
    }


def look_around(habits: dict[Habit, float], count: int, rng: np.random.Generator) -> Floats:
    """Return where the phones of people say they are, in no order."""
    numbers = rng.multinomial(count, list(habits.values()))
    true = np.concatenate([habit.stand(int(n), rng) for habit, n in zip(habits, numbers, strict=True)])
    error = np.where(rng.random(count) < BAD_SHARE, BAD_SCATTER, SCATTER)
    return rng.permutation(true + rng.normal(size=(count, 2)) * error[:, None])
