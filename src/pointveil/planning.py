"""Foretell how good releases would be, from a crowd that is invented in the owner's own world: no data is touched."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import shapely
from scipy.ndimage import gaussian_filter

from pointveil.cells import Floats, Ints
from pointveil.checking import check_method
from pointveil.columns import check_keep
from pointveil.errors import InputError
from pointveil.evaluation.comparison import Comparison
from pointveil.methods import DEFAULT_METHOD, TOTAL, Method, find_method
from pointveil.releases import NOISE_DEVIATIONS, synthesize
from pointveil.vault import Vault, exact_epsilon, laplace_variance
from pointveil.world import World

EPSILONS = ("1/4", "1/2", "1", "2", "4")
MOST_POINTS = 2_000_000  # a larger crowd is planned for by one of this size, and its epsilon raised in proportion
SIDE, RADIUS, SEED = 100.0, 500.0, 20
# A city looks alike at all scales: each halving of the scale makes places unlike by the same factor, e^UNLIKE; and
# people clump at crossings, doors and stops, so that ten metres of a street are unlike the next ten by e^CLUMPED. With
# these, what is foretold is close to what was measured in three real cities (docs/choosing-epsilon.md).
FINEST, UNLIKE, CLUMPED = 25.0, 0.6, 1.2
ON_STREETS, OFF_MIDDLE = 0.9, 6.0  # the share of people on streets, and metres by which they are off the middle
HALF = 0.5  # of a real sample: what a recommended release is worth, if any epsilon up to MOST_ADVISED is
MOST_ADVISED = 2
INVENTED = "A forecast from invented people: in three real cities counts were off by 0.8 to 1.4 times as much."
OF_PERSONS = (
    "All persons have as many points here. In your file they may not, so let --max-points be chosen by noisy answers, "
    "as it is by default, unless you know better."
)


@dataclass(frozen=True)
class Forecast:
    """What to expect of one release."""

    epsilon: str
    max_points: int | None  # of one person, if people are protected
    count: int  # points within 500 metres of a crossing, on average
    count_error: float  # by which such a count is off, on average
    right_square: float  # share of points in the right square of 100 metres
    worth: float  # size of a real sample that is as good in such squares, per point of the crowd
    stops: bool  # whether the total would probably be taken for noise

    def __str__(self) -> str:
        worth = f"{self.worth:.0%} of its size" if self.worth < 1 else "its size or more"
        used = "" if self.max_points is None else f", of each person at most {self.max_points}"
        off = f"a count of {self.count:,} within 500 m is off by {self.count_error:,.0f} on average"
        return f"epsilon {self.epsilon}{used}: {off}; worth a real sample of {worth}"


@dataclass(frozen=True)
class Plan:
    """Forecasts by epsilon, and by the number of points of one person, with a recommendation."""

    forecasts: tuple[Forecast, ...]

    @property
    def caveat(self) -> str:
        """How far to trust this."""
        by_person = any(each.max_points is not None for each in self.forecasts)
        return f"{INVENTED} {OF_PERSONS}" if by_person else INVENTED

    @property
    def recommended(self) -> Forecast | None:
        """The smallest epsilon, with the best number of points of one person, that is worth half a real sample."""
        able = [each for each in self.forecasts if each.worth >= HALF and not each.stops]
        able = [each for each in able if Fraction(each.epsilon) <= MOST_ADVISED]
        return min(able, key=lambda each: (Fraction(each.epsilon), -each.worth)) if able else None

    @property
    def recommendation(self) -> str:
        """The recommendation in a sentence or two."""
        chosen = self.recommended
        if chosen is not None:
            return f"Take {chosen}."
        usual = [each for each in self.forecasts if Fraction(each.epsilon) <= MOST_ADVISED] or [*self.forecasts]
        if all(each.stops for each in usual):
            who = "points" if usual[0].max_points is None else "persons"
            return (
                f"A release of so few {who} is useless: their number is hardly more than its noise, and it would stop."
            )
        best = max(usual, key=lambda each: each.worth)
        return f"So few points allow only a coarse map: {best}. More days, a smaller area or fewer purposes would help."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold."""
        return asdict(self) | {"caveat": self.caveat, "recommendation": self.recommendation}


def plan(
    world: World | str | PathLike[str],
    *,
    points: int | None = None,
    persons: int | None = None,
    per_person: int | None = None,
    epsilons: Sequence[object] = EPSILONS,
    max_points: Sequence[int] | None = None,
    method: str | Method = DEFAULT_METHOD,
    keep: Any = (),
) -> Plan:
    """Foretell the error of releases by epsilon, before any data are touched; costs nothing.

    Parameters
    ----------
    world
        Your public world, or the file with it: the crowd is invented there.
    points
        About how many points there are; or, to protect people, how many persons:
    persons, per_person
        About how many persons there are, with about how many points each.
    epsilons, max_points
        What to try; of the points used of one person, 1, 2, 4 … by default.
    method, keep
        As for `release`; what kept columns cost is taken off.

    Examples
    --------
    >>> planned = pv.plan("helsinki.gpkg", points=5000, epsilons=["1/2", 4])
    >>> [forecast.epsilon for forecast in planned.forecasts]
    ['1/2', '4']
    """
    place = world if isinstance(world, World) else World.read(world)
    if (points is None) == (persons is None) or (persons is None) != (per_person is None):
        raise InputError(
            "Give about how many points there are, --points-about (points=); or how many people, --persons (persons=), "
            "with how many points each, --per-person (per_person=)."
        )
    each = per_person or 1
    total = (points or persons or 0) * each
    if total < 1 or each < 1:
        raise InputError("The number of points and of persons must be at least 1.")
    limits: list[int | None] = [None] if persons is None else [*(max_points or _doublings(each))]
    chosen, exact = find_method(method), [exact_epsilon(epsilon) for epsilon in epsilons]
    # A release depends on points times epsilon: a smaller crowd with more epsilon stands for a very large one.
    scale = max(1, math.ceil(total / MOST_POINTS))
    for_places = 1 - sum((column.part_of_epsilon for column in check_keep(keep)), Fraction(0))
    crowd = Crowd.invented(place, max(1, total // scale), each)
    return Plan(
        tuple(_forecast(crowd, chosen, epsilon, limit, scale, for_places) for epsilon in exact for limit in limits)
    )


def _doublings(most: int) -> Iterator[int]:
    yield from (2**power for power in range(most.bit_length()) if 2**power < most)
    yield most


@dataclass(frozen=True, eq=False)
class Crowd:
    """Invented points with their owners, and as many others of the same city; all in metres."""

    world: World
    xy: Floats
    owner: Ints
    others: Floats

    @classmethod
    def invented(cls, world: World, count: int, per_person: int) -> Crowd:
        """Invent a crowd of this size, and others from the same city."""
        everyone = invent(world, count * 2, np.random.default_rng(SEED))
        return cls(world, everyone[:count], np.arange(count) // per_person, everyone[count:])

    def error_of(self, some: Floats) -> float:
        """Return how unlike the crowd some points are in squares of 100 m: from 0 to 2, on several grids."""
        pairs = Comparison(self.xy, some, self.world, SEED).shifted_cell_counts(SIDE, 3)
        return float(np.mean([np.abs(all_ / all_.sum() - few / max(few.sum(), 1)).sum() for all_, few in pairs]))

    @cached_property
    def chance(self) -> float:
        """The error of a sample against its population: two samples, of which each has it, are unlike by both."""
        return self.error_of(self.others) / math.sqrt(2)

    def worth(self, error: float) -> float:
        """Return the size of a real sample that is as good as a release with this error, per point of the crowd.

        Against the population a release has the error of the file, which is a sample, and its own.
        """
        return self.chance**2 / max(self.chance**2 + error**2, 1e-12)


def _forecast(
    crowd: Crowd, method: Method, epsilon: Fraction, limit: int | None, scale: int, for_places: Fraction
) -> Forecast:
    world, paid = crowd.world, epsilon * for_places
    check_method(method, world, paid, "owner" if limit else None, limit)
    x, y = world.projection.from_metres(crowd.xy).T
    table = pa.table({"x": x, "y": y, "owner": crowd.owner})
    options: dict[str, Any] = {} if limit is None else {"person": "owner", "max_points": limit}
    vault = Vault.rehearse(
        table, world, epsilon=paid * scale, seed=SEED, columns=("x", "y"), crs=world.projection.crs, **options
    )
    made = synthesize(vault, method, seed=SEED)
    xy = world.projection.to_metres(made.coordinates)
    pair = Comparison(crowd.xy, xy, world, SEED)
    real, synthetic = pair.counts_within(RADIUS)
    # By person, counts are compared as shares: noisy answers tell how many points people have, but badly of invented
    # ones who all have equally many.
    alike = len(crowd.xy) / max(len(xy), 1) if limit else 1.0
    each = int(np.bincount(crowd.owner).max())
    error = np.abs(real - synthetic * alike).mean() * scale if len(real) else 0.0
    in_squares = crowd.error_of(xy)
    share = method.shares()[TOTAL] * paid
    cells = 1 if limit else len(method.total_cells(world, paid, world.projection.crs))
    deviation = math.sqrt(laplace_variance(share) * cells)
    asked = len(crowd.xy) / each if limit else len(crowd.xy)  # persons, or points
    return Forecast(
        epsilon=str(epsilon),
        max_points=limit,
        count=round(float(real.mean()) * scale) if len(real) else 0,
        count_error=float(error),
        right_square=1 - in_squares / 2,
        worth=crowd.worth(in_squares),
        stops=asked * scale < NOISE_DEVIATIONS * deviation,
    )


def invent(world: World, count: int, rng: np.random.Generator) -> Floats:
    """Return an invented crowd, (count, 2) metres on land: busy and quiet quarters, streets and corners."""
    busy, side = _busyness(world, rng)
    found = np.zeros((0, 2))
    streets = _streets(world, busy, side, rng)
    while len(found) < count:
        wanted = count - len(found)
        beside = rng.random(wanted) < (0.0 if streets is None else ON_STREETS)
        xy = np.empty((wanted, 2))
        if streets is not None:
            xy[beside] = streets[0][rng.choice(len(streets[0]), beside.sum(), p=streets[1])]
            xy[beside] += rng.normal(0, OFF_MIDDLE, (int(beside.sum()), 2))
        cell = rng.choice(busy.size, wanted - beside.sum(), p=(busy / busy.sum()).ravel())
        xy[~beside] = (np.column_stack(np.unravel_index(cell, busy.shape)) + rng.random((len(cell), 2))) * side
        kept = xy[world.on_land(xy)]
        if not len(kept):
            raise InputError("No crowd can be invented here: this world has next to no land.")
        found = np.concatenate([found, kept])
    return rng.permutation(found)


def _busyness(world: World, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return how busy each cell of a raster of the world is, and a cell's side in metres."""
    side = max(FINEST, math.sqrt(math.prod(world.size) / 2**20))
    shape = tuple(max(1, math.ceil(length / side)) for length in world.size)
    field, reach = np.zeros(shape), 0.5
    while reach < max(shape) / 4:
        noise = gaussian_filter(rng.normal(size=shape), reach)
        field += UNLIKE * (noise - noise.mean()) / max(float(noise.std()), 1e-9)
        reach *= 2
    return np.exp(field), side


def _streets(world: World, busy: Floats, side: float, rng: np.random.Generator) -> tuple[Floats, Floats] | None:
    """Return places every ten metres along the streets, (n, 2) metres, and how likely each is, (n,)."""
    if world.roads is None:
        return None
    lines = shapely.get_parts(world.roads.lines_m)
    steps = np.maximum(1, np.ceil(shapely.length(lines) / 10)).astype(int)
    line = np.repeat(np.arange(len(lines)), steps)
    part = (np.arange(len(line)) - np.repeat(np.cumsum(steps) - steps, steps) + 0.5) / steps[line]
    places = shapely.get_coordinates(shapely.line_interpolate_point(lines[line], part, normalized=True))
    inside = world.on_land(places)
    places, line = places[inside], line[inside]
    column, row = np.minimum((places / side).astype(int), np.array(busy.shape) - 1).T
    weight = busy[column, row] * np.exp(rng.normal(0, UNLIKE, len(lines)))[line]
    weight *= np.exp(rng.normal(0, CLUMPED, len(places)))
    return (places, weight / weight.sum()) if len(places) else None
