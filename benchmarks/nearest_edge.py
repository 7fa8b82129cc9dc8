"""Compare the nearest-edge search with shapely's tree, in one run: ratios, not seconds.

    POINTVEIL_DATA=… python benchmarks/nearest_edge.py [points] [copies]

Reads the roads of Beijing in the data folder; `copies` > 1 lays so many copies of the city side by side: 57 make
a network of a million edges. Without the folder, a street grid of about the same size is invented. Times are those of
the processor, so that other work on the machine hardly matters; the tree is timed before and after the search.
"""

import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import shapely

from pointveil.geography import Network, World
from pointveil.geography.projection import Floats

BEIJING = (116.330, 39.862, 116.450, 39.954)
METRES = "EPSG:32650"
SAMPLE = 20_000
CHUNK = 1_000_000


def city() -> World:
    folder = os.environ.get("POINTVEIL_DATA")
    if folder:
        return World.make(BEIJING, roads=Path(folder) / "beijing" / "roads.parquet")
    rng = np.random.default_rng(0)
    corners = np.stack(np.meshgrid(np.arange(96), np.arange(96)), axis=-1) * 107.0 + rng.normal(0, 15, (96, 96, 2))
    across = np.stack([corners[:, :-1], corners[:, 1:]], axis=2).reshape(-1, 2, 2)
    along = np.stack([corners[:-1], corners[1:]], axis=2).reshape(-1, 2, 2)
    return World.make((0, 0, 10_200, 10_200), crs=METRES, roads=shapely.linestrings(np.concatenate([across, along])))


def tile(world: World, copies: int) -> World:
    """Lay copies of a city side by side."""
    side = math.ceil(math.sqrt(copies))
    _, _, width, height = world.bounds
    lines = Network.of(world).edges.lines
    places = [(number % side * width, number // side * height) for number in range(copies)]
    moved = [shapely.transform(lines, lambda xy, place=place: xy + place) for place in places]
    box = (0.0, 0.0, width * side, height * math.ceil(copies / side))
    return World.make(box, crs=METRES, roads=np.concatenate(moved))


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def tree_seconds(tree: shapely.STRtree, xy: Floats) -> float:
    """Return how long the tree takes for one point."""
    points = shapely.points(xy)
    return seconds(lambda: tree.query_nearest(points, all_matches=False, return_distance=True)) / len(xy)


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(points: int, copies: int) -> None:
    world = city() if copies == 1 else tile(city(), copies)
    network = Network.of(world)
    print(f"{len(network):,} edges, {len(network.segments):,} segments; {memory():.2f} GB used")
    rng = np.random.default_rng(1)
    sample = rng.random((SAMPLE, 2)) * world.bounds[2:]
    tree = shapely.STRtree(network.edges.lines)
    slow = [tree_seconds(tree, sample)]
    build = seconds(lambda: network.candidates)
    grid = network.candidates
    expected = tree.query_nearest(shapely.points(sample), all_matches=False, return_distance=True)[1]
    assert np.abs(grid.nearest(sample)[1] - expected).max() < 1e-6  # noqa: S101 - exact, or not worth timing
    spent = 0.0
    for begin in range(0, points, CHUNK):
        xy = rng.random((min(CHUNK, points - begin), 2)) * world.bounds[2:]
        spent += seconds(lambda xy=xy: grid.nearest(xy))  # type: ignore[misc]
    slow.append(tree_seconds(tree, sample))
    each = sum(slow) / len(slow)
    print(f"search tree: {1 / each:,.0f} points/s; candidate grid: {points / spent:,.0f} points/s")
    print(f"ratio {each * points / spent:.1f}; with building the grid once {each * points / (spent + build):.1f}")
    size = (grid.candidates.nbytes + grid.first.nbytes + grid.children.nbytes) / 1e6
    print(f"building is worth {build / each:,.0f} points of the tree; {size:.0f} MB; {memory():.2f} GB in all")


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*(given + [1_000_000, 1][len(given) :]))
