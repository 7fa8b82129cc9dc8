"""Compare the nearest-edge search with shapely's tree, in one run: ratios, not seconds.

    POINTVEIL_DATA=… python benchmarks/nearest_edge.py [points] [copies] [city]

Reads the roads of Beijing, or of another city in the data folder; `copies` > 1 lays so many copies of the city side by
side: 57 of Beijing make a network of a million edges. Without the folder, a street grid of about the same size is
invented. Points are spread evenly over the box, and, for a city as it is, also taken from its own. Times are those of
the processor, so that other work on the machine matters less; the tree is timed before and after the search.
"""

import math
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import shapely

from pointveil.cells import Floats
from pointveil.network import Network
from pointveil.world import World

CITIES = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}
FOLDER = os.environ.get("POINTVEIL_DATA")
METRES = "EPSG:32650"
SAMPLE = 20_000
CHUNK = 1_000_000


def city(name: str) -> World:
    if FOLDER:
        return World.make(CITIES[name], roads=Path(FOLDER) / name / "roads.parquet")
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


def even(world: World, count: int) -> Floats:
    return np.random.default_rng(1).random((count, 2)) * world.bounds[2:]


def own(world: World, name: str, count: int) -> Floats:
    """Return so many of the city's points within its box, some of them several times."""
    table = pq.read_table(Path(FOLDER or "") / name / "points.parquet")
    xy = world.projection.to_metres(np.column_stack([table["lon"], table["lat"]]))
    inside = xy[((xy >= 0) & (xy < world.bounds[2:])).all(axis=1)]
    return np.asarray(inside[np.random.default_rng(1).integers(0, len(inside), count)])


def compare(network: Network, xy: Floats, build: float) -> None:
    """Print how many times as fast as the tree the search is."""
    tree, sample = shapely.STRtree(network.edges.lines), xy[:SAMPLE]
    expected = tree.query_nearest(shapely.points(sample), all_matches=False, return_distance=True)[1]
    assert np.abs(network.distances(sample) - expected).max() < 1e-6  # noqa: S101 - exact, or not worth timing
    slow = [tree_seconds(tree, sample)]
    chunks = [xy[begin : begin + CHUNK] for begin in range(0, len(xy), CHUNK)]
    spent = sum(seconds(lambda chunk=chunk: network.distances(chunk)) for chunk in chunks)  # type: ignore[misc]
    slow.append(tree_seconds(tree, sample))
    each = sum(slow) / len(slow)
    print(f"search tree: {1 / each:,.0f} points/s; candidate grid: {len(xy) / spent:,.0f} points/s")
    print(f"ratio {each * len(xy) / spent:.1f}; with building the grid once {each * len(xy) / (spent + build):.1f}")
    print(f"building is worth {build / each:,.0f} points of the tree")


def main(points: int, copies: int, name: str) -> None:
    world = city(name) if copies == 1 else tile(city(name), copies)
    network = Network.of(world)
    before = memory()
    build = seconds(lambda: network.streets)
    print(f"{len(network):,} edges, {len(network.streets.segments):,} segments; {before:.2f} GB used before the search")
    compare(network, even(world, points), build)
    if FOLDER and copies == 1:
        print("the city's own points:")
        compare(network, own(world, name, points), build)
    grid = network.streets.search
    size = (grid.candidates.nbytes + grid.first.nbytes + grid.children.nbytes) / 1e6
    print(f"{size:.0f} MB; {memory():.2f} GB in all")


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(int(given.get(1, "1000000")), int(given.get(2, "1")), given.get(3, "beijing"))
