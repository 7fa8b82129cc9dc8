"""`pointveil evaluate --report` on Manhattan: processor time of this version against an older one, in one run.

Run: POINTVEIL_DATA=FOLDER python benchmarks/evaluate.py OLD_CHECKOUT. The world and the synthetic points are made once,
by the older version; then both evaluate them in turn, in processes of their own, so that a busy machine slows both.
Also prints which numbers differ.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent.parent
BOUNDS = "-74.0185,40.7008,-73.9127,40.877"
COMMAND = "from pointveil.cli import main; main()"
ROUNDS = 3


def run(checkout: Path, folder: Path, *arguments: object) -> tuple[float, str]:
    """Run a command of one version; return its processor seconds (user and system) and what it printed."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "XDG_DATA_HOME": str(folder / "data")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def main(old: Path, data: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder, points = Path(directory), data / "points.parquet"
        layers = ("--roads", data / "roads.parquet", "--water", data / "water.geojson")
        run(old, folder, "world", "world.gpkg", f"--bounds={BOUNDS}", *layers)
        options = ("--world", "world.gpkg")
        run(old, folder, "synthesize", points, "synthetic.parquet", *options, "--epsilon", 1, "--seed", 1)
        seconds: dict[Path, list[float]] = {old: [], HERE: []}
        values: dict[Path, dict[str, float]] = {}
        for number in range(ROUNDS):
            for checkout, times in seconds.items():
                report = f"report-{number}-{checkout == HERE}.html"  # a report is not written over another
                asked = (points, "synthetic.parquet", *options, "--report", report, "--json")
                taken, out = run(checkout, folder, "evaluate", *asked)
                times.append(taken)
                values[checkout] = {name: row["value"] for name, row in json.loads(out)["measures"].items()}
    before, now = min(seconds[old]), min(seconds[HERE])
    print(f"old {before:.2f} s, now {now:.2f} s of processor time: {now / before:.2f} (best of {ROUNDS} each)")
    for name, value in values[old].items():
        other = values[HERE].get(name)
        if other is None or abs(other - value) > 1e-9 * abs(value):
            print(f"{name}: {value} then, {other} now")
    print(f"{len(values[old])} measures then, {len(values[HERE])} now")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(os.environ["POINTVEIL_DATA"]).resolve() / "manhattan")
