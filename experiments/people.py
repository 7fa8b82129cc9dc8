"""How good releases by person are: a made-up scooter file, and taxis against all of their points.

Run: POINTVEIL_DATA=FOLDER python experiments/people.py [SEEDS] [FILE …]. Prints, for each file at epsilon 1, what a
person counts for, how many points there seem to be, the error in cells of 100 m and 500 m beside all real points
(random grids, both sides scaled to the same sum), and metres to the nearest street. Everything is a rehearsal:
repeatable, and not private.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import scooter_city

from pointveil.evaluation import Comparison
from pointveil.lab.experiments.cities import load_city
from pointveil.lab.experiments.plan import CITIES
from pointveil.releases import draw, survey
from pointveil.vault import Vault
from pointveil.world import World

FILES = {"scooters in Porto": ("porto", None), "taxis of Porto": ("porto", "points.parquet"),
         "taxis of Beijing": ("beijing", "points_all.parquet")}  # fmt: skip


def load(city: str, name: str | None, data: Path) -> tuple[World, Any, str]:
    """Return the world, a table of records, and the column that says whose each is."""
    loaded = load_city(CITIES[city], data, "as given")
    if name is None:
        places = np.column_stack([loaded.points["lon"], loaded.points["lat"]])
        return loaded.world, scooter_city.make(places), "user"
    return loaded.world, pq.read_table(data / city / name, columns=["lon", "lat", "taxi_id"]), "taxi_id"


def error(compared: Comparison, cell: float) -> float:
    """Return the error in square cells, each side scaled to a sum of one; the mean over ten random grids."""
    pairs = compared.shifted_cell_counts(cell)
    return float(np.mean([np.abs(real / real.sum() - made / made.sum()).sum() for real, made in pairs]))


def main(seeds: int, files: list[str]) -> None:
    """Print one row for each file."""
    data = Path(os.environ["POINTVEIL_DATA"])
    print("| file | K | points, ± | NCE 100 m | NCE 500 m | metres to a street, real | synthetic |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for title in files or FILES:
        world, records, person = load(*FILES[title], data)
        real = Vault.rehearse(records, world, epsilon=1, seed=0).exact_points()
        found, counted = [], []
        for seed in range(1, seeds + 1):
            surveyed = survey(Vault.rehearse(records, world, epsilon=1, seed=seed, person=person))
            xy = world.projection.to_metres(draw(surveyed, seed=seed).coordinates)
            compared = Comparison(real, xy, world)
            found.append(
                [
                    error(compared, 100),
                    error(compared, 500),
                    *(float(np.median(each)) for each in compared.road_distances),
                ]
            )
            assert surveyed.statement.people is not None
            counted.append(surveyed.statement.people)
        limits = sorted({people.max_points for people in counted})
        points = f"{np.median([people.points for people in counted]):,.0f} of {len(real):,}"
        margin = f"{np.median([people.points_margin or 0 for people in counted]):,.0f}"
        at100, at500, near, made = np.mean(found, axis=0)
        row = (title, ", ".join(map(str, limits)), f"{points} ± {margin}", f"{at100:.4f}", f"{at500:.4f}",
               f"{near:.1f}", f"{made:.1f}")  # fmt: skip
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10, sys.argv[2:])
