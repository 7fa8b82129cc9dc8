"""Whether any release is much worse than most: 60 seeds on a made-up address city and on a wide box with few records.

Run: POINTVEIL_DATA=FOLDER python experiments/unlucky_releases.py [SEEDS]; without the folder only the made-up city is
measured. Prints the median, the worst and their ratio of the error in cells of 500 m and 100 m (random grids), at
epsilon 1. Everything is a rehearsal: repeatable, and not private.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import address_city
import numpy as np
import pyarrow.parquet as pq

from pointveil.evaluation import MEASURES, Comparison
from pointveil.methods import METHODS
from pointveil.releases import synthesize
from pointveil.vault import Vault
from pointveil.world import World

PORTO = (-8.635, 41.123, -8.576, 41.168)
WIDER, FEW = 5, 10_000  # times as wide and high, and records


def cities() -> Iterator[tuple[str, World, Any]]:
    """Yield the name, world and records of each city."""
    yield "addresses", *address_city.make()
    if folder := os.environ.get("POINTVEIL_DATA"):
        yield "wide box", *wide_box(Path(folder, "porto"))


def wide_box(folder: Path) -> tuple[World, Any]:
    """Return some of Porto's records, in the middle of a much wider box."""
    west, south, east, north = PORTO
    x, y = (west + east) / 2, (south + north) / 2
    wide, high = (WIDER * (east - west) / 2, WIDER * (north - south) / 2)
    world = World.make((x - wide, y - high, x + wide, y + high), roads=folder / "roads.parquet")
    records = pq.read_table(folder / "points.parquet", columns=["lon", "lat"])
    return world, records.take(np.random.default_rng(0).choice(len(records), FEW, replace=False))


def main(seeds: int) -> None:
    """Print one row for each city and size of cell."""
    print("| city | cell | median | worst | worst / median |\n| --- | --- | --- | --- | --- |")
    for name, world, records in cities():
        found = []
        for seed in range(1, seeds + 1):
            vault = Vault.rehearse(records, world, epsilon=1, seed=seed)
            synthetic = synthesize(vault, METHODS["veil"], seed=seed)
            compared = Comparison(vault.exact_points(), world.projection.to_metres(synthetic.coordinates), world)
            found.append([MEASURES[f"nce_shifted_{cell}"](compared) for cell in (100, 500)])
        for cell, errors in zip((100, 500), np.array(found).T, strict=True):
            middle, worst = float(np.median(errors)), float(errors.max())
            print(f"| {name} | {cell} m | {middle:.4f} | {worst:.4f} | {worst / middle:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
