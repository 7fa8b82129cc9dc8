"""Ten million points, Parquet to synthetic Parquet, against a plain copy of the same file.

Run: python benchmarks/release.py [POINTS]. Prints processor time as a ratio, and peak memory. Both run in processes of
their own, in one run, so that a busy machine slows both.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pointveil.world import World

BOUNDS = (116.330, 39.862, 116.450, 39.954)
COPY = "import sys, pyarrow.parquet as pq; pq.write_table(pq.read_table(sys.argv[1]), sys.argv[2])"
RELEASE = "from pointveil.cli import main; main()"


def make_points(path: Path, count: int) -> None:
    """Write invented points, in row groups as a real exporter would."""
    rng = np.random.default_rng(1)
    centres = rng.uniform(BOUNDS[:2], BOUNDS[2:], (300, 2))
    xy = centres[rng.integers(300, size=count)] + rng.normal(0, 0.004, (count, 2))
    table = pa.table({"lon": np.round(xy[:, 0], 6), "lat": np.round(xy[:, 1], 6)})
    pq.write_table(table, path, row_group_size=2**20)


def measure(code: str, *arguments: object) -> tuple[float, float]:
    """Return processor seconds and peak megabytes of a Python process of its own."""
    script = (
        "import json, resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True)\n"
        "usage = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps([usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))"
    )
    command = [sys.executable, "-c", script, sys.executable, "-c", code, *map(str, arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, megabytes = json.loads(out.splitlines()[-1])
    return seconds, megabytes


def main(count: int) -> None:
    """Time a copy and a release of the same file, twice each, and print the best ratio."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        points, world = folder / "points.parquet", folder / "world.gpkg"
        make_points(points, count)
        World.make(BOUNDS).write(world)
        options = (
            "--world",
            world,
            "--epsilon",
            1,
            "--method",
            "ugrid-uni",
            "--ledger",
            folder / "ledger.db",
            "--quiet",
        )
        copies = [measure(COPY, points, folder / "copy.parquet") for _ in range(2)]
        releases = [measure(RELEASE, "synthesize", points, folder / "out.parquet", *options) for _ in range(2)]
    copy, release = min(copies), min(releases)
    print(f"{count:,} points, Parquet to Parquet, ugrid-uni")
    print(f"  plain copy   {copy[0]:6.1f} s CPU  {copy[1]:6.0f} MB")
    print(f"  release      {release[0]:6.1f} s CPU  {release[1]:6.0f} MB")
    print(f"  ratio        {release[0] / copy[0]:6.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
