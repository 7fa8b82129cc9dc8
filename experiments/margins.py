"""Whether nine in ten intervals hold the true count, and whether a release is worth what its statement says.

Run: POINTVEIL_DATA=FOLDER python experiments/margins.py coverage CITY METHOD EPSILON SEEDS [FIRST SEED]
     POINTVEIL_DATA=FOLDER python experiments/margins.py on-real CITY METHOD EPSILON SEEDS [FIRST SEED]
     python experiments/margins.py slices SEEDS [FIRST SEED]
     POINTVEIL_DATA=FOLDER python experiments/margins.py worth SEEDS

`coverage` counts random circles centred on land in the real file and in releases of it, and prints a row for each
radius: the share of intervals that hold the true count, by thirds of the true count among circles with at least 20
people, and below that. Circles of one release are off together, so each share has a standard error from how it differs
between releases: * marks one outside of 88 to 92 % (below 20 people: under 88 %), ** one that is outside by more than
two standard errors. The last row says how many there are, and how many there would be with an oracle's margins, scaled
to hold in nine of ten circles of the other releases: that is the noise of the measurement alone. `on-real` prints the
same of margins that were rehearsed on the real people (at most 262,144), not on invented ones: what is then still
outside is not due to how people are invented.

Cities: beijing, porto, manhattan; helsinki (the demo) and those of made_up_cities.py, which need no data. `slices` does
so for hours of the day and for kinds of people in the demo city. `worth` compares effective samples with what all
records of Beijing tell. Everything is a rehearsal: repeatable, and not private.
"""

import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from made_up_cities import CITIES, table
from scipy.spatial import KDTree

import pointveil as pv
import pointveil.margins as rehearsal
from pointveil.demo import city as helsinki
from pointveil.demo.people import lives_of
from pointveil.demo.people import people as helsinki_people
from pointveil.demo.rhythms import KINDS
from pointveil.evaluation import Comparison
from pointveil.margins import Places, margins_of
from pointveil.vault import Vault
from pointveil.world import World

BOUNDS = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}
RADII = (100.0, 250.0, 500.0, 1000.0)
CIRCLES, LEAST, WANTED = 1000, 20, (0.88, 0.92)
SLICES, IN_SLICE = 8, 200  # slices of each column in a release, and circles in each
SIZES = (20_000, 40_000, 158_260, 400_000)


def load(name: str) -> tuple[World, Any]:
    """Return a city and its records."""
    if name in CITIES:
        return CITIES[name]()
    if name == "helsinki":
        return helsinki(), table(helsinki(), helsinki_people(helsinki()))
    folder = Path(os.environ["POINTVEIL_DATA"], name)
    water = {"out_of_bounds": folder / "water.geojson"} if (folder / "water.geojson").exists() else {}
    world = World.make(BOUNDS[name], roads=folder / "roads.parquet", **water)
    return world, pq.read_table(folder / "points.parquet", columns=["lon", "lat"])


class Held(NamedTuple):
    """How many of some intervals held, with the standard error, and by how much they are outside of what is wanted."""

    share: float
    error: float
    outside: float
    circles: int

    @classmethod
    def of(cls, seed: np.ndarray, held: np.ndarray, *, few: bool) -> "Held":
        """Return it for circles (n,) of releases with these seeds; of few people, more than wanted do no harm."""
        number = np.unique(seed, return_inverse=True)[1]
        circles, holding = np.bincount(number), np.bincount(number, held)
        share, releases = float(held.mean()), len(circles)
        # All circles of a release are one trial: they are off together. Few circles are no surer than chance allows.
        spread = releases / max(releases - 1, 1) * float(((holding - share * circles) ** 2).sum())
        error = max(spread**0.5 / len(held), (0.9 * 0.1 / len(held)) ** 0.5)
        outside = max(WANTED[0] - share, 0.0 if few else share - WANTED[1], 0.0)
        return cls(share, error, outside, len(held))

    @property
    def surely(self) -> bool:
        """Whether it is outside by more than its noise."""
        return self.outside > 2 * self.error

    def __str__(self) -> str:
        mark = " **" if self.surely else " *" if self.outside else ""
        return f"{self.share:.1%} ± {100 * self.error:.1f}{mark} ({self.circles:,})"


def on_real(surveyed: pv.Survey, real: np.ndarray) -> Any:
    """Return the margins of a survey, rehearsed on the real people."""
    usual = rehearsal._drawn

    def drawn(survey: Any, prepared: Any, count: int, rng: np.random.Generator) -> Any:
        return Places(real, ()) if prepared is survey.prepared else usual(survey, prepared, count, rng)

    with (
        patch.object(rehearsal, "_drawn", drawn),
        patch.object(rehearsal, "_clumped", lambda _, city, __: np.full(len(city.xy), 1 / len(city.xy))),
        patch.object(Places, "only", lambda places, _: places),
    ):
        return margins_of(surveyed)


def coverage(name: str, method: str, epsilon: str, seeds: int, first: int = 1000, *, real_people: bool = False) -> None:
    """Print how many intervals hold the true count."""
    world, records = load(name)
    rows, took = [], 0.0
    for seed in range(first, first + seeds):
        vault = Vault.rehearse(records, world, epsilon=epsilon, seed=seed)
        real, surveyed = vault.exact_points(), pv.survey(vault, method)
        margins = on_real(surveyed, real) if real_people else surveyed.statement.margins
        if margins is None:
            sys.exit("no margins")
        drawn = world.projection.to_metres(pv.draw(surveyed, seed=seed).coordinates)
        rng = np.random.default_rng(seed)
        centres = rng.uniform(world.bounds[:2], world.bounds[2:], (CIRCLES * 40, 2))
        centres = centres[world.on_land(centres)][:CIRCLES]
        trees = KDTree(real), KDTree(drawn)
        for radius in (each for each in RADII if each < max(world.size) / 2):
            true, told = (tree.query_ball_point(centres, radius, return_length=True) for tree in trees)
            off = np.abs(true - told) / margins.margin(told, np.pi * radius**2)
            rows.append(np.column_stack([np.full((len(true), 2), (radius, seed)), true, off]))
    start = time.process_time()
    margins_of(surveyed)  # once more, to see how long it takes
    took = time.process_time() - start
    worth = surveyed.statement.margins.effective_sample
    print(f"{name}, {method}, ε {epsilon}, {seeds} seeds, worth {worth}; margins took {took:.1f} s")
    _print_held(name, np.concatenate(rows))


def _print_held(name: str, found: np.ndarray) -> None:
    """Print a row for each radius from circles (n, 4): radius, seed, true count, error in margins."""
    judged = []
    for radius in np.unique(found[:, 0]):
        seed, true, off = found[found[:, 0] == radius, 1:].T
        ends = np.quantile(true[true >= LEAST], (0, 1 / 3, 2 / 3, 1)) if (true >= LEAST).any() else np.zeros(4)
        thirds = [(true >= max(low, LEAST)) & (true <= high) for low, high in pairwise(ends)]
        groups = [true < LEAST, true >= LEAST, *thirds]
        pairs = [_held(seed[group], off[group], few=not n) if group.any() else None for n, group in enumerate(groups)]
        told = (str(pair[0]) if pair else "–" for pair in pairs)
        print(f"| {name} | {radius:.0f} m | {' | '.join(told)} |", flush=True)
        judged += [pair for pair in (pairs[0], *pairs[2:]) if pair]
    for whose, held in zip(("of the release", "of an oracle"), zip(*judged, strict=True), strict=True):
        outside, surely = sum(one.outside > 0 for one in held), sum(one.surely for one in held)
        print(f"{name}, margins {whose}: of {len(held)} cells {outside} are outside, {surely} by more than noise")


def _held(seed: np.ndarray, off: np.ndarray, *, few: bool) -> tuple[Held, Held]:
    """Return how many intervals held, and how many would with an oracle's margins, from errors (n,) in margins."""
    wide_enough = np.ones(len(off))
    for each in np.unique(seed) if len(np.unique(seed)) > 1 else ():
        wide_enough[seed == each] = np.quantile(off[seed != each], 0.9)
    return Held.of(seed, off <= 1, few=few), Held.of(seed, off <= wide_enough, few=few)


def slices(seeds: int, first: int = 0) -> None:
    """Print how many intervals hold the true count of a few hours of the day, and of one kind of people."""
    world = helsinki()
    xy = helsinki_people(world)
    xy = xy[world.on_land(xy)]
    when, kind = lives_of(xy)
    records = table(world, xy).append_column("time", pa.array(when))
    records = records.append_column("kind", pa.array(np.array(list(KINDS))[kind]))
    keep = [pv.Time("time", "2026-06-01/2026-06-29", resolution="hour-of-day"), pv.Category("kind", list(KINDS))]
    true = {"time": when.astype("datetime64[h]").astype(np.int64) % 24, "kind": kind}
    rows = []
    for seed in range(first, first + seeds):
        made = pv.synthesize(Vault.rehearse(records, world, epsilon=1, seed=seed, keep=keep), seed=seed)
        assert made.kept is not None
        hours = made.kept["time"].to_numpy().astype("datetime64[h]").astype(np.int64) % 24
        kinds = np.array([list(KINDS).index(each) for each in made.kept["kind"].to_pylist()])
        drawn, rng = world.projection.to_metres(made.coordinates), np.random.default_rng(seed)
        for number, (name, told) in enumerate((("time", hours), ("kind", kinds))):
            for _ in range(SLICES):
                low = told[rng.integers(len(told))]
                high = low + (rng.integers(6) if name == "time" else 0)
                chosen = [(code >= low) & (code <= high) for code in (true[name], told)]
                trees = KDTree(xy[chosen[0]]), KDTree(drawn[chosen[1]])
                for radius in RADII[:3]:
                    centres = rng.uniform(world.bounds[:2], world.bounds[2:], (IN_SLICE * 20, 2))
                    centres = centres[world.on_land(centres)][:IN_SLICE]
                    real, counted = (tree.query_ball_point(centres, radius, return_length=True) for tree in trees)
                    margin = made.statement.margins.margin(counted, np.pi * radius**2, chosen[1].mean())  # type: ignore[union-attr]
                    held = np.abs(real - counted) <= margin
                    rows.append(np.column_stack([np.full((len(real), 3), (number, radius, seed)), real, held]))
    found = np.concatenate(rows)
    for number, radius in np.unique(found[:, :2], axis=0):
        release, real, held = found[(found[:, 0] == number) & (found[:, 1] == radius), 2:].T
        groups = (real < LEAST, (real >= LEAST) & (real < 5 * LEAST), real >= 5 * LEAST)
        told = (
            str(Held.of(release[group], held[group], few=not n)) if group.any() else "–"
            for n, group in enumerate(groups)
        )
        print(f"| {('hours', 'one kind')[int(number)]} | {radius:.0f} m | {' | '.join(told)} |", flush=True)


def worth(seeds: int) -> None:
    """Print effective samples of Beijing against all its records, measured and stated."""
    world, _ = load("beijing")
    everybody = pq.read_table(
        Path(os.environ["POINTVEIL_DATA"], "beijing", "points_all.parquet"), columns=["lon", "lat"]
    )
    whole = Vault.rehearse(everybody, world, epsilon=1, seed=0).exact_points()
    for size in SIZES:
        for epsilon in ("1/2", "1", "2"):
            ratios, stated = [], []
            for seed in range(seeds):
                rows = np.random.default_rng(seed).choice(len(everybody), size, replace=False)
                vault = Vault.rehearse(everybody.take(rows), world, epsilon=epsilon, seed=seed)
                sample, surveyed = vault.exact_points(), pv.survey(vault)
                drawn = world.projection.to_metres(pv.draw(surveyed, seed=seed).coordinates)
                ratios.append((_error(whole, sample, world) / _error(whole, drawn, world)) ** 2)
                stated.append(surveyed.statement.margins.effective_sample)  # type: ignore[union-attr]
            print(f"| {size:,} | {epsilon} | {np.mean(ratios):.2f} | {np.mean(stated):.2f} |", flush=True)


def _error(whole: np.ndarray, some: np.ndarray, world: World) -> float:
    pairs = Comparison(whole, some, world, 1).shifted_cell_counts(100.0, 5)
    return float(np.mean([np.abs(one / one.sum() - few / few.sum()).sum() for one, few in pairs]))


if __name__ == "__main__":
    if sys.argv[1] == "worth":
        worth(int(sys.argv[2]))
    elif sys.argv[1] == "slices":
        slices(*map(int, sys.argv[2:]))
    else:
        coverage(*sys.argv[2:5], *map(int, sys.argv[5:]), real_people=sys.argv[1] == "on-real")
