"""Processor time of readings by Spark, against those of one thread here, one after the other in the same minutes.

Run by scale.py, where pyspark and Java are installed: python cluster.py FILE WORLD WORKERS
"""

import json
import os
import sys
from pathlib import Path
from statistics import median
from time import process_time

from pointveil.cells import Grid
from pointveil.engines import LocalEngine, SparkEngine, Tally
from pointveil.formats import open_points
from pointveil.formats.spark import session
from pointveil.vault.cleaning import Cleaner
from pointveil.world import World

READINGS = 4  # the first makes the digest, too; of the others the median counts
SIDE = 256


def processor_seconds() -> float:
    """Return what this process, all that it started and all that these started took so far, the ended ones too."""
    parents, taken = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent, *rest = stat.read_text().rpartition(")")[2].split()
        except FileNotFoundError:  # it ended just now
            continue
        parents[int(stat.parent.name)], taken[int(stat.parent.name)] = int(parent), sum(map(int, rest[9:13]))
    ours, before = {os.getpid()}, set[int]()
    while ours != before:
        before, ours = ours, ours | {child for child, parent in parents.items() if parent in ours}
    return float(sum(taken[each] for each in ours) / os.sysconf("SC_CLK_TCK"))


def main(path: str, world_file: str, workers: str) -> None:
    """Print, as JSON, what starting Spark took, and what the first and another reading of each engine."""
    world, before = World.read(world_file), processor_seconds()
    spark = session(f"local-cluster[{workers},1,2048]")
    sources = {
        "here": open_points(path),
        "files": open_points(path, engine="spark"),
        "frame": open_points(spark.read.parquet(path)),
    }
    start, taken = processor_seconds() - before, {name: list[float]() for name in sources}
    cleaner = Cleaner.of(world, sources["here"].layout.crs)
    engines = {name: (LocalEngine if name == "here" else SparkEngine)(each, cleaner) for name, each in sources.items()}
    answers = set()
    for _ in range(READINGS):
        for name, engine in engines.items():
            # What Java does on the side meanwhile is not ours.
            clock = process_time if name == "here" else processor_seconds
            before = clock()
            grid = Grid(world.bounds, SIDE, SIDE)
            answers.add(engine.sums([Tally(grid, len(grid))])[0].tobytes())
            taken[name].append(clock() - before)
    if len(answers) > 1:
        raise SystemExit("Spark counted otherwise than this machine.")
    print(json.dumps([start, {name: [each[0], median(each[1:])] for name, each in taken.items()}]))


if __name__ == "__main__":
    main(*sys.argv[1:])
