"""Time every method, survey and drawing, against one np.histogram2d of the same points."""

import argparse
import os
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pointveil.demo import city, people
from pointveil.methods import METHODS
from pointveil.releases import draw, survey
from pointveil.vault import Vault
from pointveil.world import World

BEIJING = (116.330, 39.862, 116.450, 39.954)
BINS, WITHIN = 126, 20


def seconds_of_histogram(lonlat: NDArray[np.float64], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = process_time()
        np.histogram2d(lonlat[:, 0], lonlat[:, 1], bins=BINS)
        times.append(process_time() - began)
    return min(times)


def time_method(name: str, table: object, world: World, rounds: int) -> tuple[float, float]:
    times = []
    for seed in range(rounds):
        vault = Vault.rehearse(table, world, epsilon=1, seed=seed)
        began = process_time()
        found = survey(vault, name)
        between = process_time()
        draw(found, seed=seed)
        times.append((between - began, process_time() - between))
    return min(times, key=sum)


def read_points() -> tuple[str, object, World]:
    folder = os.environ.get("POINTVEIL_DATA")
    if folder:
        table = pq.read_table(Path(folder) / "beijing" / "points.parquet", columns=["lon", "lat"])
        return "Beijing", table, World.make(BEIJING)
    import pyarrow as pa

    world = city()
    lonlat = world.projection.from_metres(people(world))
    return "the demo city", pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1]}), world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", help="rows of METHODS; all that the world can serve if none is named")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many is told")
    options = parser.parse_args()

    place, table, world = read_points()
    lonlat = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])  # type: ignore[index]
    unit = seconds_of_histogram(lonlat, 2 * options.rounds)
    print(f"{len(lonlat):,} points of {place}; one histogram of {BINS} by {BINS} takes {1e3 * unit:.1f} ms of CPU time")
    print(f"{'method':<12}{'survey ms':>10}{'draw ms':>10}{'times':>8}")
    usable = [name for name, method in METHODS.items() if world.roads is not None or not method.needs_roads]
    for name in options.methods or usable:
        asked, drawn = time_method(name, table, world, options.rounds)
        ratio = (asked + drawn) / unit
        late = "" if ratio <= WITHIN else f"  more than {WITHIN}"
        print(f"{name:<12}{1e3 * asked:>10.0f}{1e3 * drawn:>10.0f}{ratio:>8.1f}{late}")


if __name__ == "__main__":
    main()
