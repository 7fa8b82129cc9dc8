"""Small worlds, and pairs of datasets that differ in one unit: the cases in which a leak would show."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.lab.audit.subjects import MISSING, NOBODY, RARE, UNLISTED, USUAL, Records, Subject
from pointveil.vault import NoisyCounts
from pointveil.world import World

CRS = "EPSG:32632"
SIDE = 1000.0
CENTRE = (500.0, 500.0)
BESIDE_STREET = (333.37, 507.25)
OFF_STREET = (620.0, 537.25)
CORNER, LAST_CORNER = (0.0, 0.0), (999.5, 999.5)
FAR_CORNER = (979.5, 18.25)
OTHER_CORNER = (20.5, 981.75)
IN_WATER = (700.0, 300.0)
EIGHT_PLACES = [(x, y) for x in (120.0, 373.0, 626.0, 879.0) for y in (253.0, 740.0)]
MOST_QUESTIONS = 8
MOST_PLACES = 8
MANY = 2048
TRIED_AGAIN = 2
LADDER = tuple(2**power for power in range(15))


@cache
def plain_world(water: shapely.Polygon | None = None) -> World:
    """A square kilometre with three streets, of which the one through the middle is drawn twice, once each way."""
    lines = [[(0, 500), (1000, 500)], [(1000, 500), (0, 500)], [(250, 0), (250, 1000)], [(980, 0), (980, 1000)]]
    streets = np.array([shapely.LineString(line) for line in lines])
    return World.make((0.0, 0.0, SIDE, SIDE), crs=CRS, roads=streets, out_of_bounds=water)


def river_world() -> World:
    """The same square with water in it."""
    return plain_world(shapely.box(650.0, 0.0, 750.0, 450.0))


@dataclass(frozen=True)
class Pair:
    """Two datasets that differ in one unit."""

    name: str  # what is special about it
    without: Records  # those without the unit, in the order of the file
    present: Records  # and with it
    unit: NDArray[np.float64]  # the places where the unit has its points, as many at each
    world: Callable[[], World] = plain_world  # the public world
    weight: int = 1  # how many times as many runs it gets as others; none in the fast form if it is 0
    said: NDArray[np.int64] | int = USUAL  # what the unit says at each of its places


def added(
    name: str,
    unit: object,
    without: Records = NOBODY,
    *,
    world: Callable[[], World] = plain_world,
    weight: int = 1,
    said: object = USUAL,
) -> Pair:
    """Return the pair in which a unit is added at the end; `unit` may be one place or many, and say this at each."""
    places = np.asarray(unit, dtype=np.float64).reshape(-1, 2)
    unit_records = Records(places, np.full(len(places), 10**6), said)
    different = np.unique(np.column_stack([places, unit_records.said]), axis=0)[:MOST_PLACES]
    present = without.with_more(unit_records)
    return Pair(name, without, present, different[:, :2], world, weight, different[:, 2].astype(np.int64))


def first(name: str, present: Records, *, weight: int = 1) -> Pair:
    """Return the pair in which the unit is the first of all records."""
    without = Records(present.xy[1:], present.person[1:], present.said[1:])
    return Pair(name, without, present, present.xy[:1], weight=weight, said=present.said[:1])


def crowd(count: int, place: tuple[float, float] = BESIDE_STREET) -> Records:
    """Return so many invented people at one place, each with one point."""
    return Records.at(np.tile(place, (count, 1)))


def busy(count: int, place: tuple[float, float]) -> Records:
    """Return so many invented people at one place, each with eight points."""
    return Records(np.tile(place, (8 * count, 1)), np.repeat(np.arange(count), 8))


def spread(count: int) -> Records:
    """Return so many invented people all over the square, the same ones every time."""
    return Records.at(np.random.default_rng(5).uniform(0, SIDE, (count, 2)))


POINT_PAIRS: tuple[Pair, ...] = (
    added("nobody, or one", BESIDE_STREET, weight=2),
    added("on the border of four cells", CENTRE, weight=3),
    added("off the street", OFF_STREET),
    added("twenty at one place, or one more", BESIDE_STREET, crowd(20)),
    added("an outlier at the other end", FAR_CORNER, crowd(5, OTHER_CORNER), weight=2),
    added("one among many", OFF_STREET, spread(150)),
    added("a record that is no place", (np.nan, 5.0), crowd(2)),
    first("no place before all others", Records.at([(np.nan, 5.0)] + 20 * [BESIDE_STREET])),
    first("alternating rows", Records.at(120 * [(255.0, 20.0), (745.0, 502.0)]), weight=2),
    added("in the first cell", CORNER, crowd(3, CENTRE)),
    added("in the last cell", LAST_CORNER, crowd(3, CENTRE)),
    added("a record far outside", (1e9, -1e9), crowd(2), weight=0),
    added("in the water", IN_WATER, crowd(2), world=river_world),
    added("beside twenty in the water", (640.0, 302.0), crowd(20, IN_WATER), world=river_world),
    added("at the water's edge", (649.99, 300.0), crowd(2), world=river_world, weight=0),
)
PERSON_PAIRS: tuple[Pair, ...] = (
    added("one busy person", np.tile(BESIDE_STREET, (50, 1)), weight=2),
    added("one person in eight places", EIGHT_PLACES, crowd(5), weight=2),
    added("one busy person among seventy", np.tile(OFF_STREET, (200, 1)), busy(70, CENTRE)),
    added("one person who makes eight crowds", EIGHT_PLACES, Records.at(np.repeat(EIGHT_PLACES, 7, axis=0)), weight=2),
    added("one busy person in many places", np.column_stack([np.linspace(20, 980, 50), np.full(50, 503.0)]), crowd(5)),
)
COLUMN_PAIRS: tuple[Pair, ...] = (
    added("nobody, or one who says what is not listed", BESIDE_STREET, weight=2, said=UNLISTED),
    added("one who says what nobody else does", OFF_STREET, spread(150), said=RARE),
    added("one who says nothing", BESIDE_STREET, crowd(20), said=MISSING),
    first("unlisted before all others", replace(crowd(21), said=[UNLISTED, *[RARE] * 20])),
    first(
        "nothing before all others",
        replace(Records.at(30 * [CENTRE, OFF_STREET]), said=[MISSING, *[USUAL, RARE] * 29, 0]),
    ),
)
COLUMN_PERSON_PAIRS: tuple[Pair, ...] = (
    added("a busy person who says two things", np.tile(BESIDE_STREET, (50, 1)), weight=2, said=np.arange(50) % 2),
    added("a busy person who says nothing", np.tile(OFF_STREET, (200, 1)), busy(70, CENTRE), said=MISSING),
)


def pairs_for(subject: Subject) -> tuple[Pair, ...]:
    """Return the pairs that suit the unit which a subject protects."""
    if subject.keep:
        return COLUMN_PAIRS if subject.points_per_unit == 1 else COLUMN_PERSON_PAIRS + COLUMN_PAIRS[1:3]
    return POINT_PAIRS if subject.points_per_unit == 1 else PERSON_PAIRS + POINT_PAIRS[:1]


def find_jumps(subject: Subject, most: int = 2) -> list[Pair]:
    """Look for the numbers of people at which the release changes although no noise should allow it."""
    # A size, a text or a share of the people that is always the same for n people, and always another for more, follows
    # the true number. The ladder finds such facts, those first that are steady on most of its rungs, and halving finds
    # the one person who makes the difference. What changes again when it is tried again was chance.
    ladder = (0, *LADDER)
    steady = [_steady_facts(subject, count) for count in ladder]
    often = Counter(name for facts in steady for name in facts)
    jumps: dict[str, tuple[int, int, object]] = {}  # the first of each fact: between which rungs, and the lower value
    for (low, at_low), (high, at_high) in pairwise(zip(ladder, steady, strict=True)):
        for name in at_low.keys() & at_high.keys():
            if at_low[name] != at_high[name]:
                jumps.setdefault(name, (low, high, at_low[name]))
    tried = sorted(jumps.items(), key=lambda jump: -often[jump[0]])
    counts = [_halve(subject, name, *jump) for name, jump in tried if _holds(subject, name, *jump)]
    return [
        added(f"{count} people, or one more", BESIDE_STREET, crowd(count), weight=2)
        for count in list(dict.fromkeys(counts))[:most]
    ]


def _holds(subject: Subject, name: str, low: int, high: int, at_low: object) -> bool:
    """Return whether a jump is still there when it is tried again."""
    return all(
        _facts(subject, low).get(name) == at_low and _facts(subject, high).get(name) != at_low
        for _ in range(TRIED_AGAIN)
    )


def _halve(subject: Subject, name: str, low: int, high: int, at_low: object) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _facts(subject, middle).get(name) == at_low else (low, middle)
    return low


def _steady_facts(subject: Subject, count: int) -> dict[str, object]:
    first, second = _facts(subject, count), _facts(subject, count)
    return {name: fact for name, fact in first.items() if second.get(name) == fact}


def _facts(subject: Subject, count: int) -> dict[str, object]:
    """Return what may follow the true number: sizes, texts, and, of many people, the share that is published."""
    release = subject.release(crowd(count), plain_world())
    counts = [asked.answer.values for asked in release.asked if isinstance(asked.answer, NoisyCounts)]
    facts: dict[str, object] = {"rows": len(release.xy), "text": release.text}
    facts |= {f"answer {number}": len(values) for number, values in enumerate(counts[:MOST_QUESTIONS])}
    if count >= MANY:
        facts |= {f"share in answer {number}": _share(values.sum(), count) for number, values in enumerate(counts)}
        facts["share in rows"] = _share(len(release.xy), count)
    return facts


def _share(part: float, whole: int) -> int:
    """Return roughly what part of the whole this is: one step for a third more or less."""
    return round(2.4 * math.log(max(part / whole, 0.01)))
