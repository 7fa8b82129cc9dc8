"""Measure what keeping columns gives and costs, on three cities.

Run: POINTVEIL_DATA=FOLDER python scripts/measure_columns.py [SEEDS] [CASE …]. Prints a row of a Markdown table for each
city and case: the error of the map in cells of 100 m over that of a release without columns, and for each thing that
the columns say the error in cells of 500 m and bin and the distance between profiles in cells of 1 km, each followed in
brackets by that of columns drawn without looking at the place. Epsilon is 1 in all. Releases are rehearsals:
repeatable, and not private.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pointveil.columns import Category, Column, Time
from pointveil.evaluation import measure_all
from pointveil.evaluation.measures.kept_columns import place_and_bin_error
from pointveil.evaluation.points import compare
from pointveil.releases import draw, survey
from pointveil.synthetic import SyntheticPoints
from pointveil.vault import Vault
from pointveil.world import World

Ints = NDArray[np.int64]

BOUNDS = {
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
}
PERIODS = {
    "manhattan": "2014-04-01/2014-07-01",
    "beijing": "2008-02-02/2008-02-09",
    "porto": "2013-07-01/2014-12-22",
}
BASES = ("B02512", "B02598", "B02617", "B02682", "B02764")
MADE_UP = ("a", "b", "c", "d", "e", "f")
PLACES = ("place_and_bin_500", "profile")


@dataclass(frozen=True, eq=False)
class City:
    """A city's world, and its records. Not private."""

    name: str
    world: World
    table: pa.Table

    @property
    def has_base(self) -> bool:
        """Whether its records have a category of their own."""
        return "base" in self.table.column_names


def load(name: str) -> City:
    """Read a city, and make up two categories: one that follows place, and one that ignores it."""
    folder = Path(os.environ["POINTVEIL_DATA"], name)
    water = folder / "water.geojson"
    world = World.make(BOUNDS[name], roads=folder / "roads.parquet", out_of_bounds=water if water.exists() else None)
    table = pq.read_table(folder / "points.parquet")
    for column, codes in (("follows", following_place(table, world)), ("ignores", ignoring_place(table))):
        table = table.append_column(column, pa.array(np.array(MADE_UP)[codes]))
    return City(name, world, table)


def following_place(table: pa.Table, world: World) -> Ints:
    """Return a made-up category of six values that follows place: patches of about 1.5 km, nine in ten records."""
    xy = world.projection.to_metres(np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()]))
    rng = np.random.default_rng(2026)
    west, south, east, north = world.bounds
    sites = rng.uniform((west, south), (east, north), (60, 2))
    nearest = np.concatenate(
        [
            ((xy[a:b, None] - sites) ** 2).sum(axis=2).argmin(axis=1)
            for a, b in pairwise([*range(0, len(xy), 4096), len(xy)])
        ]
    )
    return np.where(rng.random(len(xy)) < 0.9, nearest % 6, rng.integers(0, 6, len(xy))).astype(np.int64)


def ignoring_place(table: pa.Table) -> Ints:
    """Return a made-up category of six values that ignores place."""
    shares = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    return np.random.default_rng(2027).choice(6, len(table), p=shares).astype(np.int64)


def hours(city: City, **options: Any) -> Time:
    """Return the time of day."""
    return Time("ts", PERIODS[city.name], resolution="hour-of-day", **options)


def keep(city: City, case: str) -> tuple[Column, ...]:
    """Return what a case keeps."""
    return {
        "hour of day": (hours(city),),
        "hour of day, 20 %": (hours(city, share="1/5"),),
        "timestamp by the hour": (Time("ts", PERIODS[city.name]),),
        "hour of week, 20 %": (Time("ts", PERIODS[city.name], resolution="hour-of-week", share="1/5"),),
        "base": (Category("base", BASES),),
        "follows place": (Category("follows", MADE_UP),),
        "ignores place": (Category("ignores", MADE_UP),),
        "hour of day, 10 %, and base": (hours(city, share="1/10"), Category("base", BASES)),
    }[case]


CASES = (
    "hour of day",
    "hour of day, 20 %",
    "timestamp by the hour",
    "hour of week, 20 %",
    "base",
    "follows place",
    "ignores place",
    "hour of day, 10 %, and base",
)


def release(city: City, columns: tuple[Column, ...], seed: int) -> tuple[SyntheticPoints, float]:
    """Release a city once, and say how many CPU seconds that took."""
    began = time.process_time()
    vault = Vault.rehearse(city.table, city.world, epsilon=1, seed=seed, columns=("lon", "lat"), keep=columns)
    points = draw(survey(vault), seed=seed)
    return points, time.process_time() - began


@cache
def without_columns(city: City, seed: int) -> tuple[float, float]:
    """Return the error of the map of a release without columns, and its CPU seconds."""
    points, seconds = release(city, (), seed)
    result = measure_all(compare(city.table, points, city.world, columns=("lon", "lat")), ["nce_shifted_100"])
    return result.values["nce_shifted_100"], seconds


def measure(city: City, case: str, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the figures of one release."""
    whole, before = without_columns(city, seed)
    columns = keep(city, case)
    points, seconds = release(city, columns, seed)
    compared = compare(city.table, points, city.world, columns=("lon", "lat"))
    asked = [*PLACES, "nce_shifted_100", *(["two_columns"] if compared.bins("pair") else [])]
    result = measure_all(compared, [*asked, *(["daily_totals"] if compared.bins("date") else [])])
    yield "NCE 100 m", result.values.pop("nce_shifted_100")  # type: ignore[attr-defined]
    yield "without columns", whole
    yield "CPU", seconds / before
    for name, value in result.values.items():
        yield name, value
        if name in result.without_place:
            yield f"({name})", result.without_place[name]
    if "hour of week" in case:
        yield "500 m × 168 bins", place_and_bin_error(compared, bins=compared.bins("pair")[0])


def main(seeds: int, cases: list[str]) -> None:
    """Print the means of each city and case."""
    for name in BOUNDS:
        city = load(name)
        release(city, (), 0)  # so that what is worked out once for a city is not timed
        for case in cases or CASES:
            if "base" in case and not city.has_base:
                continue
            found = [dict(measure(city, case, seed)) for seed in range(1, seeds + 1)]
            means = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
            figures = " | ".join(f"{key} {value:.4f}" for key, value in means.items())
            ratio = means["NCE 100 m"] / means["without columns"]
            print(f"{name} | {case} | × {ratio:.3f} | {figures}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:])
