"""Memory and time of veil in a box of 100 by 100 km with more than 200,000 edges.

Run: POINTVEIL_DATA=FOLDER python benchmarks/large_world.py [MILLIONS OF POINTS] [spread|cities]. The world is made of
copies of Beijing: twelve cities in empty country, or the whole box covered by copies three times as large.
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import shapely
from numpy.typing import NDArray

from pointveil.network import Network
from pointveil.releases import draw, survey
from pointveil.vault import Vault
from pointveil.world import World

BEIJING = (116.330, 39.862, 116.450, 39.954)
SIDE = 100_000.0
CORNER = 500_000.0
CRS = "EPSG:32633"
CITIES = 12
JITTER = 3.0


def copies(folder: Path, kind: str, count: int) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Return the lines and the points of all copies."""
    rng = np.random.default_rng(0)
    beijing = World.make(BEIJING, roads=folder / "beijing" / "roads.parquet")
    coordinates, line = shapely.get_coordinates(Network.of(beijing).edges.lines, return_index=True)
    people = Vault.rehearse(folder / "beijing" / "points.parquet", beijing, epsilon=1, seed=1).exact_points()
    people = people[beijing.on_land(people)]
    scale = 3.0 if kind == "spread" else 1.0
    step = scale * np.array(beijing.size)
    places = np.argwhere(np.ones(np.ceil(SIDE / step).astype(int)))
    if kind != "spread":
        places = rng.choice(places, CITIES, replace=False)
    corners = CORNER + places * step
    lines = [shapely.linestrings(coordinates * scale + corner, indices=line) for corner in corners]
    chosen = [people[rng.integers(len(people), size=count // len(corners))] * scale + corner for corner in corners]
    points = np.concatenate(chosen)
    return np.concatenate(lines), points + rng.normal(0, JITTER, points.shape)


def peak() -> float:
    """Return the most memory that the process has had so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(folder: Path, millions: float, kind: str) -> None:
    os.environ["POINTVEIL_CACHE"] = tempfile.mkdtemp()
    lines, xy = copies(folder, kind, round(millions * 1e6))
    people = pa.table({"x": xy[:, 0], "y": xy[:, 1]})
    box = (CORNER, CORNER, CORNER + SIDE, CORNER + SIDE)
    world = World.make(box, crs=CRS, roads=lines)
    print(f"{len(lines):,} edges, {len(xy):,} points; so far {peak():.1f} GB")
    for raster in ("made", "cached"):
        began = time.process_time()
        surveyed = survey(Vault.rehearse(people, world, epsilon=1, seed=1, columns=("x", "y"), crs=CRS), "veil")
        middle = time.process_time()
        draw(surveyed, seed=1)
        ended = time.process_time()
        print(f"raster {raster}: survey {middle - began:.0f} s CPU, draw {ended - middle:.0f} s, peak {peak():.1f} GB")


if __name__ == "__main__":
    if "POINTVEIL_DATA" not in os.environ:
        sys.exit("Set POINTVEIL_DATA to the folder with the three cities.")
    given = [*sys.argv[1:], *("1", "cities")[len(sys.argv) - 1 :]]
    main(Path(os.environ["POINTVEIL_DATA"]), float(given[0]), given[1])
