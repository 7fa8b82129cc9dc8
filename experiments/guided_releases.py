"""What a prior is worth, and that an unrelated one does no harm: releases of Beijing's taxis with and without.

Run: POINTVEIL_DATA=FOLDER python experiments/guided_releases.py [SEEDS]. The private records are 158,260 of half the
taxis on the later days; the earlier releases are of the other half on the earlier days, so that no taxi and no day is
in both. Prints the error in cells of 100 m (random grids) at epsilon 1, and how it differs from that without a prior
with the same seeds. Everything is a rehearsal: repeatable, and not private.
"""

import dataclasses
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pointveil.cells.arrays import Floats
from pointveil.evaluation import MEASURES, Comparison
from pointveil.methods import METHODS
from pointveil.releases import synthesize
from pointveil.synthetic import SyntheticPoints
from pointveil.vault import Rehearsal, Vault
from pointveil.world import Prior, World

BEIJING = (116.330, 39.862, 116.450, 39.954)
PORTO = (-8.635, 41.123, -8.576, 41.168)
RECORDS, MANY = 158_260, 800_000
EARLIER = 4  # days of the seven
SOURCE = {"name": "prior", "kind": "public points", "file_sha256": "0" * 64}


def split(path: Path) -> tuple[Floats, Floats]:
    """Return the records of some taxis on later days, and those of the others on earlier days, each shuffled."""
    table = pq.read_table(path)
    taxi, day = table["taxi_id"].to_numpy(), table["ts"].to_numpy().astype("datetime64[D]").astype(np.int64)
    places = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])
    rng = np.random.default_rng(0)
    ours = rng.permutation(taxi.max() + 1)[taxi] % 2 == 0
    later = day >= day.min() + EARLIER
    return rng.permutation(places[ours & later]), rng.permutation(places[~ours & ~later])


def released(records: Floats, world: World, seed: int) -> tuple[Rehearsal, SyntheticPoints]:
    """Return the vault and the release of these records."""
    table = pa.table({"lon": records[:, 0], "lat": records[:, 1]})
    vault = Vault.rehearse(table, world, epsilon=1, seed=seed)
    return vault, synthesize(vault, METHODS["veil"], seed=seed)


def priors(folder: Path, world: World, theirs: Floats) -> dict[str, Floats]:
    """Return the coordinates of each prior by its name."""
    west, south, east, north = BEIJING
    one = released(theirs[:RECORDS], world, 1001)[1].coordinates
    table = pq.read_table(folder / "porto" / "points.parquet", columns=["lon", "lat"])
    porto = World.make(PORTO, roads=folder / "porto" / "roads.parquet")
    there = released(np.column_stack([table["lon"], table["lat"]]), porto, 1003)[1].coordinates
    share = (there - PORTO[:2]) / (np.array(PORTO[2:]) - PORTO[:2])
    return {
        f"an earlier release of {RECORDS:,} records": one,
        f"one of {len(theirs[:MANY]):,} records": released(theirs[:MANY], world, 1002)[1].coordinates,
        "Porto's release, moved and scaled": share * (np.array(BEIJING[2:]) - BEIJING[:2]) + BEIJING[:2],
        "an even one": np.random.default_rng(1).uniform((west, south), (east, north), (RECORDS, 2)),
        "the earlier release, mirrored": np.column_stack([west + east - one[:, 0], one[:, 1]]),
    }


def main(seeds: int) -> None:
    """Print one row for each prior."""
    folder = Path(os.environ["POINTVEIL_DATA"])
    world = World.make(BEIJING, roads=folder / "beijing" / "roads.parquet")
    ours, theirs = split(folder / "beijing" / "points_all.parquet")
    print(f"{len(ours):,} records of some taxis on later days, {len(theirs):,} of the others on earlier days\n")

    def error(seen: World, seed: int) -> float:
        vault, synthetic = released(ours[:RECORDS], seen, seed)
        real = vault.exact_points()
        return MEASURES["nce_shifted_100"](Comparison(real, world.projection.to_metres(synthetic.coordinates), world))

    without = np.array([error(world, seed) for seed in range(1, seeds + 1)])
    print(f"| prior | NCE | difference |\n| --- | --- | --- |\n| none | {without.mean():.4f} | – |", flush=True)
    for name, coordinates in priors(folder, world, theirs).items():
        xy = world.projection.to_metres(coordinates)
        seen = dataclasses.replace(world, prior=Prior.of(xy, world.size, SOURCE))
        found = np.array([error(seen, seed) for seed in range(1, seeds + 1)])
        spread = float((found / without).std(ddof=1)) / np.sqrt(seeds) if seeds > 1 else 0.0
        print(f"| {name} | {found.mean():.4f} | {found.mean() / without.mean() - 1:+.2%} ± {spread:.2%} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
