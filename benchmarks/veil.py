"""Time veil against finding each point's nearest road with shapely's tree, in the same run.

Run: POINTVEIL_DATA=FOLDER python benchmarks/veil.py. The public raster is made beforehand, as it is kept on disk.
"""

import os
import sys
import time
from pathlib import Path

import shapely

from pointveil.releases import draw, survey
from pointveil.vault import Vault
from pointveil.world import World

BOUNDS = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}


def main(folder: Path) -> None:
    for name, bounds in BOUNDS.items():
        water = folder / name / "water.geojson"
        world = World.make(
            bounds, roads=folder / name / "roads.parquet", out_of_bounds=water if water.exists() else None
        )
        points = folder / name / "points.parquet"
        real = Vault.rehearse(points, world, epsilon=1, seed=1).exact_points()
        draw(survey(Vault.rehearse(points, world, epsilon=1, seed=1), "veil"), seed=1)

        began = time.process_time()
        draw(survey(Vault.rehearse(points, world, epsilon=1, seed=2), "veil"), seed=1)
        ours = time.process_time() - began
        assert world.roads is not None  # noqa: S101 - these cities have roads
        began = time.process_time()
        shapely.STRtree(world.roads.lines_m).nearest(shapely.points(real))
        theirs = time.process_time() - began
        print(f"{name:10} veil {ours:5.2f} s CPU, STRtree.nearest {theirs:5.2f} s CPU, ratio {ours / theirs:4.2f}")


if __name__ == "__main__":
    if "POINTVEIL_DATA" not in os.environ:
        sys.exit("Set POINTVEIL_DATA to the folder with the three cities.")
    main(Path(os.environ["POINTVEIL_DATA"]))
