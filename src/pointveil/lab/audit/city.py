"""Cities in which many canaries live far apart: one release is as many trials."""

import itertools
from dataclasses import dataclass
from functools import cache

import numpy as np
import shapely

from pointveil.cells import Floats, Ints
from pointveil.lab.audit.neighbours import CRS
from pointveil.lab.audit.subjects import USUAL, Records
from pointveil.lab.audit.units import Known, Units
from pointveil.world import World

BLOCK = 100.0
HOME, ROUND_THE_CORNER, ACROSS = (37.5, 3.25), (3.25, 62.5), (8.0, 42.0)
"""Places in a block: beside one street, beside another, and at the other end of the same square of 50 m."""
CROWD_PERSON, COMPANY_PERSON = 10**7, 2 * 10**7
CROWD_PLACES = 1000
ALONE = (0,)
IN_COMPANY = (*range(20), 30, 50, 80, 120)  # every small number, because rules for few people jump at one of them
ONE_STRANGER = (1,)


@dataclass(frozen=True)
class City:
    """A city in which every second block has a canary, beside its street."""

    blocks: int = 40  # how many blocks of 100 m a side has
    crowd: int = 60_000  # how many people stand in one corner, so that the methods choose small cells
    company: tuple[int, ...] = ALONE  # how many people are known to be in the block of each canary, by turns
    beside: tuple[float, float] = HOME  # where in the block they stand
    homes: tuple[tuple[float, float], ...] = (HOME,)  # where in the block a canary has its points

    @property
    def world(self) -> World:
        """Streets around every block, nothing else."""
        return city_world(self.blocks)

    @property
    def corners(self) -> Floats:
        """The lower left corners of the blocks with a canary."""
        number = np.arange(1, self.blocks)
        column, row = (axis.ravel() for axis in np.meshgrid(number, number))
        chosen = (column + row) % 2 == 0
        return np.column_stack([column[chosen], row[chosen]]) * BLOCK

    @property
    def companies(self) -> Ints:
        """How many people are known to be beside each canary."""
        return np.resize(self.company, len(self.corners))

    def canaries(self, points_per_unit: int) -> Units:
        """Return the canaries; each has as many points as are counted, or nearly, shared among its homes."""
        places = self.corners[:, None, :] + np.array(self.homes)
        return Units.at(self.world, places, max(1, points_per_unit // len(self.homes)), self.companies)


@cache
def city_world(blocks: int) -> World:
    """Return a square with a street every 100 m, from crossing to crossing."""
    at = np.arange(blocks + 1) * BLOCK
    lines = [
        shapely.LineString([start, end])
        for this in at
        for low, high in itertools.pairwise(at)
        for start, end in (((low, this), (high, this)), ((this, low), (this, high)))
    ]
    return World.make((0.0, 0.0, blocks * BLOCK, blocks * BLOCK), crs=CRS, roads=np.array(lines))


@cache
def city_others(city: City, points_per_unit: int) -> tuple[Records, Known]:
    """Return everybody who is known to be in a city: each of the crowd has one point, company as many as they may."""
    spots = np.random.default_rng(3).uniform(5.0, 95.0, (CROWD_PLACES, 2))
    crowd = Records(np.resize(spots, (city.crowd, 2)), np.arange(CROWD_PERSON, CROWD_PERSON + city.crowd))
    beside, times = city.corners + np.array(city.beside), city.companies
    person = np.repeat(np.arange(times.sum()) + COMPANY_PERSON, points_per_unit)
    company = Records(np.repeat(beside, times * points_per_unit, axis=0), person)
    number = np.bincount(np.arange(city.crowd) % CROWD_PLACES, minlength=CROWD_PLACES)
    places = city.world.projection.to_metres(np.concatenate([spots, beside]))
    said = np.full(len(places), USUAL)
    return crowd.with_more(company), Known(places, np.append(number, times * points_per_unit), said)
