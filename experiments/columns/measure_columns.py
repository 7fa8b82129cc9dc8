"""Measure what keeping columns gives and costs, on the three cities.

Run: POINTVEIL_DATA=FOLDER python scripts/measure_columns.py [SEEDS] [CASE …]. Prints a Markdown table: one row for each
city and case, with the error of the map in cells of 100 m over that of the whole epsilon, the error in cells of 500 m
and bin, and the distance between profiles in cells of 1 km, each beside columns drawn without looking at the place.
Epsilon is 1 in all. Tallies are exact and their noise is the vault's own law from a seed: repeatable, and not private.
"""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from assignment import assign, walk
from axes import Axis, circle_axis, list_axis
from column_laws import ColumnAnswers, Known, learn_column, learn_next_column, levels_worth_asking
from equal_people import cut_people, effective_bins, region_levels
from numpy.typing import NDArray
from people_regions import PeopleRegions

from pointveil.estimate import project_to_total
from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.cell_error import shifted_cell_error
from pointveil.releases import draw, survey
from pointveil.vault import NoisyCounts, Vault
from pointveil.vault.noise import DiscreteLaplace, SeededWords
from pointveil.world import World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOUNDS = {
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
}
PERIODS = {
    "manhattan": ("2014-04-01", "2014-07-01"),
    "beijing": ("2008-02-02", "2008-02-09"),
    "porto": ("2013-07-01", "2014-12-22"),
}
HISTOGRAM = Fraction(1, 20)
"""Of a column's share: the whole city's histogram."""
OUTLINE = Fraction(1, 10)
"""Of a category's share: a first table of few regions."""
PAIRS = Fraction(2, 10)
"""Of another column's share: how it goes with the first, in the whole city."""
PLACES = 2**14
"""How many places stand for the map when regions are cut."""
OFFSETS = 4


@dataclass(frozen=True, eq=False)
class City:
    """A city's world, its real places in metres, and seconds since 1970 and category of each. Not private."""

    name: str
    path: Path
    world: World
    xy: Floats
    seconds: Ints
    kind: Ints

    @property
    def hour(self) -> Ints:
        """The hour of the day."""
        return self.seconds // 3600 % 24

    @property
    def weekday(self) -> Ints:
        """The day of the week, 0 for Thursday."""
        return self.seconds // 86400 % 7


@dataclass(frozen=True, eq=False)
class Map:
    """What veil released with a part of epsilon: points to publish, and others of the same law to cut regions by."""

    xy: Floats
    places: Floats
    seconds: float
    cuts: dict[int, PeopleRegions] = field(default_factory=dict)

    def regions(self, levels: int) -> PeopleRegions:
        """Return regions of equal people; fewer are the upper part of the same tree."""
        if levels not in self.cuts:
            self.cuts[levels] = cut_people(self.places, np.ones(len(self.places)), levels)
        return self.cuts[levels]

    def people(self, regions: PeopleRegions) -> Floats:
        """Return the people expected in each region."""
        people = np.bincount(regions.locate(self.places), minlength=len(regions))
        return np.asarray(people * (len(self.xy) / len(self.places)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Column:
    """A column's codes for the real records, the basis along its bins, and the part of epsilon it gets."""

    codes: Ints
    axis: Axis
    share: Fraction
    time: bool = True
    histogram: Fraction = HISTOGRAM


@dataclass(eq=False)
class Asker:
    """Counts exactly and adds the vault's own noise, from a seed."""

    seed: int
    words: SeededWords = field(init=False)

    def __post_init__(self) -> None:
        self.words = SeededWords(50_000 + self.seed)

    def count(self, cells: Ints, number: int, epsilon: Fraction, purpose: str) -> NoisyCounts:
        """Return noisy counts of cells."""
        exact = np.bincount(cells, minlength=number)
        return NoisyCounts(exact + DiscreteLaplace(epsilon).draw(number, self.words), purpose, epsilon)

    def tabulate(self, city: City, column: Column, regions: PeopleRegions, epsilon: Fraction) -> NoisyCounts:
        """Return noisy counts of regions and bins."""
        bins = len(column.axis)
        return self.count(regions.locate(city.xy) * bins + column.codes, len(regions) * bins, epsilon, "places")


def load(name: str) -> City:
    """Read a city."""
    folder = Path(os.environ["POINTVEIL_DATA"], name)
    water = folder / "water.geojson"
    world = World.make(BOUNDS[name], roads=folder / "roads.parquet", out_of_bounds=water if water.exists() else None)
    table = pq.read_table(folder / "points.parquet")
    xy = world.projection.to_metres(np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()]))
    land = world.on_land(xy)
    seconds = table["ts"].to_numpy().astype("datetime64[s]").astype(np.int64)[land]
    kind = table["base"].combine_chunks().indices.to_numpy() if "base" in table.column_names else np.zeros(len(land))
    return City(name, folder / "points.parquet", world, xy[land], seconds, kind.astype(np.int64)[land])


@cache
def release(city: City, epsilon: Fraction, seed: int) -> Map:
    """Release the places with a part of epsilon."""
    start = time.process_time()
    done = survey(Vault.rehearse(city.path, city.world, epsilon=epsilon, seed=seed))
    points = draw(done, seed=seed)
    spent = time.process_time() - start
    places = draw(done, count=PLACES, seed=10_000 + seed)
    to_metres = city.world.projection.to_metres
    return Map(to_metres(points.coordinates), to_metres(places.coordinates), spent)


def ask(city: City, column: Column, shown: Map, asker: Asker, kept: Fraction) -> tuple[ColumnAnswers, list[Known], int]:
    """Ask for the histogram, then for as many regions as seem worth it, with what is left but for `kept`."""
    people, bins, whole = len(shown.xy), len(column.axis), shown.regions(0)
    histogram = asker.tabulate(city, column, whole, column.share * column.histogram)
    left = column.share * (1 - column.histogram - kept)
    if column.time:
        # Every city's rhythm follows place: the whole city is outline enough.
        outline, known = histogram, list[Known]()
        law = project_to_total(histogram.values.astype(np.float64), people)
        levels = region_levels(people, float(left), effective_bins(law))
    else:
        first = column.share * OUTLINE
        left -= first
        outline = asker.tabulate(city, column, shown.regions(region_levels(people, float(first), bins)), first)
        known = [(histogram.values.astype(np.float64), histogram.variance)]
        levels = levels_worth_asking(outline, column.axis, left, people)
    places = asker.tabulate(city, column, shown.regions(levels), left)
    return ColumnAnswers(column.axis, outline, places), known, levels


def keep_one(city: City, column: Column, shown: Map, seed: int) -> Ints:
    """Return a code for each synthetic point."""
    answers, known, levels = ask(city, column, shown, Asker(seed), Fraction(0))
    regions = shown.regions(levels)
    law = learn_column(answers, shown.people(regions), *known)
    return assign(walk(shown.xy), regions.locate(shown.xy), law, np.random.default_rng(seed))[0]


def keep_two(city: City, first: Column, second: Column, shown: Map, seed: int, *known: Known) -> tuple[Ints, Ints]:
    """Return two codes for each synthetic point."""
    asker, rng, bins = Asker(seed), np.random.default_rng(seed), len(second.axis)
    of_first, first_known, levels = ask(city, first, shown, asker, Fraction(0))
    of_second, second_known, more = ask(city, second, shown, asker, PAIRS)
    cells = first.codes * bins + second.codes
    pairs = asker.count(cells, len(first.axis) * bins, second.share * PAIRS, "pairs")
    regions = shown.regions(max(levels, more))
    law = learn_column(of_first, shown.people(regions), *first_known)
    joint = learn_next_column(law, first.axis, of_second, pairs, *second_known, *known)
    order, region = walk(shown.xy), regions.locate(shown.xy)
    one = assign(order, region, law, rng)[0]
    two = assign(order, region * len(first.axis) + one, joint.reshape(-1, bins), rng)[0]
    return one, two


def keep_dates(city: City, hour: Column, weekday: Column, share: Fraction, shown: Map, seed: int) -> tuple[Ints, Ints]:
    """Return hour and date of each synthetic point: dates are counted for the whole city, and drawn by weekday."""
    dates, weekday_of, variance = count_dates(city, share, seed)
    law = project_to_total(dates, float(len(shown.xy)))
    sums = np.asarray(np.bincount(weekday_of, law, 7), dtype=np.float64), variance * len(dates) / 7
    one, two = keep_two(city, hour, weekday, shown, seed, sums)
    by_weekday = np.where(weekday_of == np.arange(7)[:, None], law, 0.0)
    return one, assign(walk(shown.xy), two, by_weekday, np.random.default_rng(seed))[0]


def count_dates(city: City, share: Fraction, seed: int) -> tuple[Floats, Ints, float]:
    """Return the noisy people and the weekday of every date of the public period, and the variance of the noise."""
    first, last = (int(np.datetime64(day, "D").astype(np.int64)) for day in PERIODS[city.name])
    counted = Asker(20_000 + seed).count(city.seconds // 86400 - first, last - first, share, "dates")
    return counted.values.astype(np.float64), np.arange(first, last) % 7, counted.variance


def without_place(column: Column, shown: Map, seed: int) -> Ints:
    """Return codes drawn from the whole city's noisy histogram: the lower bar."""
    counts = Asker(seed).count(column.codes, len(column.axis), column.share, "histogram").values
    law = np.maximum(counts, 0).astype(np.float64)[None]
    return assign(walk(shown.xy), np.zeros(len(shown.xy), dtype=np.int64), law, np.random.default_rng(seed))[0]


def squares(city: City, xy: Floats, codes: Ints, bins: int, cell: float, offset: tuple[float, float]) -> Floats:
    """Count points in squares and bins: (squares, bins)."""
    west, south, east, north = city.world.bounds
    rows, columns = int((north - south) / cell) + 2, int((east - west) / cell) + 2
    index = np.floor((xy - (west, south) + offset) / cell).astype(np.int64)
    square = np.clip(index[:, 0], 0, columns - 1) * rows + np.clip(index[:, 1], 0, rows - 1)
    return np.bincount(square * bins + codes, minlength=rows * columns * bins).reshape(-1, bins).astype(np.float64)


def both_counted(
    city: City, real: Ints, xy: Floats, codes: Ints, bins: int, cell: float
) -> list[tuple[Floats, Floats]]:
    """Count real and synthetic points on grids at random offsets."""
    return [
        (squares(city, city.xy, real, bins, cell, offset), squares(city, xy, codes, bins, cell, offset))
        for offset in np.random.default_rng(0).uniform(0, cell, (OFFSETS, 2))
    ]


def cell_error(city: City, real: Ints, xy: Floats, codes: Ints, bins: int, cell: float = 500.0) -> float:
    """Return the sum of |real - synthetic| over squares and bins, over the real total."""
    pairs = both_counted(city, real, xy, codes, bins, cell)
    return float(np.mean([np.abs(a - b).sum() / len(real) for a, b in pairs]))


def profile_distance(city: City, real: Ints, xy: Floats, codes: Ints, bins: int, cell: float = 1000.0) -> float:
    """Return the total variation between the profiles of squares, weighted by real people; 1 where one is missing."""
    found = []
    for a, b in both_counted(city, real, xy, codes, bins, cell):
        people, others = a.sum(axis=1), b.sum(axis=1)
        apart = np.abs(a / np.maximum(people, 1)[:, None] - b / np.maximum(others, 1)[:, None]).sum(axis=1) / 2
        found.append(float((np.where(others > 0, apart, 1.0) * people).sum() / people.sum()))
    return float(np.mean(found))


def total_error(real: Ints, codes: Ints, bins: int) -> float:
    """Return the sum of |real - synthetic| over the bins of the whole city, over the real total."""
    return float(np.abs(np.bincount(real, minlength=bins) - np.bincount(codes, minlength=bins)).sum() / len(real))


def following_place(city: City) -> Ints:
    """Return a made-up category of six values that follows place: patches of about 1.5 km, nine in ten records."""
    rng = np.random.default_rng(2026)
    west, south, east, north = city.world.bounds
    sites = rng.uniform((west, south), (east, north), (60, 2))
    nearest = np.argmin(((city.xy[:, None] - sites) ** 2).sum(axis=2), axis=1)
    return np.where(rng.random(len(city.xy)) < 0.9, nearest % 6, rng.integers(0, 6, len(city.xy))).astype(np.int64)


def ignoring_place(city: City) -> Ints:
    """Return a made-up category of six values that ignores place."""
    shares = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    return np.random.default_rng(2027).choice(6, len(city.xy), p=shares).astype(np.int64)


def hour_column(city: City, share: str) -> Column:
    """Return the hour of the day."""
    return Column(city.hour, circle_axis(24), Fraction(share))


def list_column(codes: Ints, share: str) -> Column:
    """Return a category."""
    return Column(codes, list_axis(int(codes.max()) + 1), Fraction(share), time=False)


Figures = dict[str, float]


def figures(city: City, column: Column, shown: Map, codes: Ints, seed: int, prefix: str = "") -> Figures:
    """Return the errors of one column, beside those of codes that ignore place."""
    bins = len(column.axis)
    alone = without_place(column, shown, seed)
    return {
        f"{prefix}500 m × bin": cell_error(city, column.codes, shown.xy, codes, bins),
        f"{prefix}1 km TV": profile_distance(city, column.codes, shown.xy, codes, bins),
        f"{prefix}city": total_error(column.codes, codes, bins),
        f"{prefix}500 m without place": cell_error(city, column.codes, shown.xy, alone, bins),
        f"{prefix}1 km without place": profile_distance(city, column.codes, shown.xy, alone, bins),
    }


def measure_one(city: City, column: Column, seed: int) -> Figures:
    """Keep one column and measure it."""
    shown = release(city, 1 - column.share, seed)
    start = time.process_time()
    codes = keep_one(city, column, shown, seed)
    spent = time.process_time() - start
    return {**map_figures(city, column.share, seed), "CPU": 1 + spent / shown.seconds} | figures(
        city, column, shown, codes, seed
    )


def map_figures(city: City, share: Fraction, seed: int) -> Figures:
    """Return the error of the map beside that of the whole epsilon."""
    return {"NCE 100 m": map_error(city, 1 - share, seed), "whole": map_error(city, Fraction(1), seed)}


@cache
def map_error(city: City, epsilon: Fraction, seed: int) -> float:
    """Return the error in cells of 100 m."""
    return shifted_cell_error(Comparison(city.xy, release(city, epsilon, seed).xy, city.world), cell=100.0)


def measure_two(city: City, first: Column, second: Column, seed: int) -> Figures:
    """Keep two columns and measure each, and both together in the whole city."""
    share = first.share + second.share
    shown = release(city, 1 - share, seed)
    one, two = keep_two(city, first, second, shown, seed)
    bins = len(second.axis)
    pairs, real = one * bins + two, first.codes * bins + second.codes
    return {
        **map_figures(city, share, seed),
        **figures(city, first, shown, one, seed, "first "),
        **figures(city, second, shown, two, seed, "second "),
        "both 500 m": cell_error(city, real, shown.xy, pairs, len(first.axis) * bins),
        "both city": total_error(real, pairs, len(first.axis) * bins),
    }


def hour_of_week(city: City, seed: int) -> Figures:
    """Hour of week at 20 %: hours and weekdays by place, and both together."""
    hour = hour_column(city, "13/100")
    return measure_two(city, hour, Column(city.weekday, circle_axis(7), Fraction("7/100")), seed)


def dated(city: City, seed: int) -> Figures:
    """A timestamp by the hour at 12 %: hours by place, weekdays by place, dates for the whole city."""
    first, last = (int(np.datetime64(day, "D").astype(np.int64)) for day in PERIODS[city.name])
    total, week = Fraction("12/100"), Fraction("1/100")
    shown = release(city, 1 - total, seed)
    # Enough that the mean day is off by a fortieth, but never more than a sixth of the whole.
    share = min(max(Fraction(40 * (last - first), len(shown.xy)).limit_denominator(1000), total / 60), total / 6)
    hour = Column(city.hour, circle_axis(24), total - week - share, histogram=2 * HISTOGRAM)
    weekday = Column(city.weekday, circle_axis(7), week, histogram=2 * HISTOGRAM)
    hours, dates = keep_dates(city, hour, weekday, share, shown, seed)
    real = city.seconds // 86400 - first
    return {
        **map_figures(city, total, seed),
        **figures(city, hour, shown, hours, seed),
        **figures(city, weekday, shown, (dates + first) % 7, seed, "weekday "),
        "days": total_error(real, dates, last - first),
    }


CASES: dict[str, Callable[[City, int], Figures]] = {
    "hour": lambda city, seed: measure_one(city, hour_column(city, "12/100"), seed),
    "hour 10%": lambda city, seed: measure_one(city, hour_column(city, "10/100"), seed),
    "base": lambda city, seed: measure_one(city, list_column(city.kind, "5/100"), seed),
    "follows place": lambda city, seed: measure_one(city, list_column(following_place(city), "5/100"), seed),
    "ignores place": lambda city, seed: measure_one(city, list_column(ignoring_place(city), "5/100"), seed),
    "hour and base": lambda city, seed: measure_two(
        city, hour_column(city, "10/100"), list_column(city.kind, "5/100"), seed
    ),
    "hour and follows place": lambda city, seed: measure_two(
        city, hour_column(city, "10/100"), list_column(following_place(city), "5/100"), seed
    ),
    "hour of week": hour_of_week,
    "dated": dated,
}


def main(seeds: int, cases: list[str]) -> None:
    """Print the means of each city and case."""
    for name in BOUNDS:
        city = load(name)
        for case in cases or CASES:
            if "base" in case and not city.kind.any():
                continue
            found: list[Any] = [CASES[case](city, seed) for seed in range(1, seeds + 1)]
            means = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
            means["NCE ratio"] = means["NCE 100 m"] / means["whole"]
            print(f"{name} | {case} | " + " | ".join(f"{key} {value:.4f}" for key, value in means.items()), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:])
