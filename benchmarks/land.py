"""Time the tests of points against plain shapely, in one run on one core.

Usage: python benchmarks/land.py [MILLIONS]
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from pointveil.cells import Floats, Grid
from pointveil.world import World

BOX = (10.0, 50.0, 10.2, 50.1)
SAMPLE = 500_000  # points for shapely, which prepares the land by itself


def main(millions: float) -> None:
    rng = np.random.default_rng(1)
    plain, city = World.make(BOX), World.make(BOX, out_of_bounds=lake(5000, rng))
    xy = rng.uniform((0, 0), city.bounds[2:], (int(millions * 1e6), 2))
    coordinates = city.projection.from_metres(xy)
    sample = xy[:SAMPLE]
    agree = np.array_equal(city.on_land(sample), shapely.contains_xy(city.land, sample[:, 0], sample[:, 1]))

    plainly = speed(lambda points: shapely.contains_xy(city.land, points[:, 0], points[:, 1]), sample)
    print(f"{'shapely.contains_xy':30}{plainly:7.1f} M points/s")
    for name, work, points in [
        ("on_land, lake of 5000 corners", city.on_land, xy),
        ("on_land, box", plain.on_land, xy),
        ("Grid.locate, 300 × 300", Grid(city.bounds, 300, 300).locate, xy),
        ("to_metres", city.projection.to_metres, coordinates),
        ("snap", city.snap, coordinates),
    ]:
        rate = speed(work, points)
        print(f"{name:30}{rate:7.1f} M points/s{rate / plainly:9.1f} × contains_xy")
    print("the same answers as contains_xy:", agree)


def lake(corners: int, rng: np.random.Generator) -> Any:
    """Return a lake with many bays."""
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    radius = 0.03 + 0.006 * np.sin(17 * angle) + 0.0005 * rng.random(corners)
    return shapely.Polygon(np.column_stack([10.1 + radius * np.cos(angle), 50.05 + radius * np.sin(angle)]))


def speed(work: Callable[[Floats], Any], points: Floats) -> float:
    """Return the best of three, in millions of points per second of processor time, after a warm-up."""
    work(points[:10])
    seconds = []
    for _ in range(3):
        start = time.process_time()
        work(points)
        seconds.append(time.process_time() - start)
    return len(points) / min(seconds) / 1e6


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
