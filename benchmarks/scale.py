"""Processor time and memory of whole releases, against a streaming copy of the same file in the same run.

Run: python benchmarks/scale.py [methods] [formats] [spark] [postgis] [peers] [--millions 0.1,1,10] [--data FOLDER]

Everything runs in a process of its own; figures are processor seconds (user and system), never the clock's, of the
best of `--rounds` runs, and peak memory. `--data` is a folder with beijing/points_all.parquet, points.parquet and
roads.parquet; larger files are jittered copies of it, made in a temporary folder. Without it a made-up city serves.
Peers are run in environments of their own below `--peers`, made if they are missing, and left out with the reason if
they cannot be. Spark is left out where it or Java is missing, and PostGIS without `--postgis`, the address of a
database, where tables called pointveil_benchmark and pointveil_benchmark_again are made. Tables go to the standard
output, and the figure to the file named with --figure.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pointveil.world import World

BOUNDS = (116.330, 39.862, 116.450, 39.954)
SECTIONS = ("methods", "formats", "spark", "postgis", "peers")
METHODS = ("ugrid-uni", "veil", "road")
SUFFIXES = (".parquet", ".geoparquet", ".csv", ".fgb", ".gpkg", ".geojson")
PEERS = {
    "OpenDP": ("opendp", "numpy", "pyarrow"),
    "diffprivlib": ("diffprivlib", "scikit-learn<1.6", "numpy<2.3", "pyarrow"),
    "Tumult": ("tmlt.analytics",),
    "SmartNoise": ("smartnoise-synth", "pyarrow"),
    "dpmm": ("dpmm", "pyarrow<20"),
    "MostlyAI": ("mostlyai[local]",),
}
# Cells along a side, and hours: a histogram of places and, in another release, one of places and hours; the others
# learn how columns hang together from one table.
SHAPES = {"OpenDP": ((256, 1), (32, 24)), "diffprivlib": ((256, 1), (32, 24)), "Tumult": ((256, 1), (32, 24))}
LEARNED = ((64, 24),)
HOURS = "ts=time:2008-02-02/2008-02-09@hour-of-day"
MOST = 600  # processor seconds for one peer
JITTER = 2e-4  # degrees: about 20 m
GROUP = 2**20
COPY = """
import sys, pyarrow.parquet as pq
with pq.ParquetFile(sys.argv[1]) as source, pq.ParquetWriter(sys.argv[2], source.schema_arrow) as target:
    for batch in source.iter_batches(2**20):
        target.write_batch(batch)
"""
READ = """
import sys
from pointveil.formats import open_points
print(sum(len(batch.coordinates) for batch in open_points(sys.argv[1]).batches()))
"""
RELEASE = "from pointveil.cli import main; main()"
WATCH = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, done.stderr[-300:]]))
"""


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    seconds: float  # of processor time
    megabytes: float  # at most


def measured(command: Sequence[object], rounds: int = 2) -> Cost:
    """Return what a command takes: the better of some runs."""
    best: list[Cost] = []
    for _ in range(rounds):
        watched = [sys.executable, "-c", WATCH, *map(str, command)]
        out = subprocess.run(watched, check=True, capture_output=True, text=True).stdout
        code, seconds, megabytes, said = json.loads(out.splitlines()[-1])
        if code:
            raise RuntimeError(said)
        best.append(Cost(seconds, megabytes))
    return min(best, key=lambda cost: cost.seconds)


@dataclass(frozen=True)
class City:
    """Points to draw from, and where they are."""

    folder: Path  # for everything that is made
    data: Path | None

    @property
    def world(self) -> Path:
        """The file of the world, made at the first call."""
        path = self.folder / "world.gpkg"
        if not path.exists():
            roads = [] if self.data is None else ["--roads", str(self.data / "beijing" / "roads.parquet")]
            bounds = ",".join(map(str, BOUNDS))
            subprocess.run([sys.executable, "-c", RELEASE, "world", path, "--bounds", bounds, *roads, "-q"], check=True)
        return path

    def points(self, millions: float) -> Path:
        """A file with so many points, in row groups as a real exporter would."""
        path = self.folder / f"points-{millions:g}.parquet"
        if not path.exists():
            rng, known = np.random.default_rng(1), self._known()
            schema = pa.schema([("lon", pa.float64()), ("lat", pa.float64())])
            with pq.ParquetWriter(path, schema) as file:
                for first in range(0, round(millions * 1e6), GROUP):
                    count = min(GROUP, round(millions * 1e6) - first)
                    xy = known[rng.integers(len(known), size=count)] + rng.normal(0, JITTER, (count, 2))
                    file.write_table(pa.table({"lon": np.round(xy[:, 0], 6), "lat": np.round(xy[:, 1], 6)}))
        return path

    def _known(self) -> NDArray[np.float64]:
        if self.data is None:
            rng = np.random.default_rng(1)
            centres = rng.uniform(BOUNDS[:2], BOUNDS[2:], (300, 2))
            return centres[rng.integers(300, size=10**6)] + rng.normal(0, 0.004, (10**6, 2))
        table = pq.read_table(self.data / "beijing" / "points_all.parquet", columns=["lon", "lat"])
        return np.column_stack([table["lon"], table["lat"]])

    def release(self, source: Path | str, target: Path | str, method: str, *more: object) -> list[object]:
        """The command that makes a release."""
        options = ("--world", self.world, "--epsilon", 1, "--method", method, "--unit", "point", "--force", "--quiet")
        book = ("--ledger", self.folder / "ledger.db", "--cap", 10**5)
        return [sys.executable, "-c", RELEASE, "synthesize", source, target, *options, *book, *more]


def methods(city: City, sizes: Sequence[float], rounds: int) -> Iterator[list[str]]:
    """Yield rows: each method at each size, its best run, and the median of what it took beside the copy in its round.

    Copy and methods take turns, because the pace of a machine that is not alone changes from minute to minute.
    """
    for millions in sizes:
        source, target = city.points(millions), city.folder / "out.parquet"
        commands: dict[str, list[object]] = {"copy": [sys.executable, "-c", COPY, source, target]}
        commands |= {method: city.release(source, target, method) for method in METHODS}
        turns = [{name: measured(command, 1) for name, command in commands.items()} for _ in range(rounds)]
        for name in commands:
            best = min((turn[name] for turn in turns), key=lambda cost: cost.seconds)
            ratio = median(turn[name].seconds / turn["copy"].seconds for turn in turns)
            yield [f"{millions:g} M", name, f"{best.seconds:.2f}", f"{ratio:.1f}", f"{best.megabytes:.0f}"]


def formats(city: City, rounds: int) -> Iterator[list[str]]:
    """Yield rows: a release of a million points from each format into the same one."""
    for suffix in SUFFIXES:
        source = city.folder / f"in{suffix}"
        subprocess.run(list(map(str, city.release(city.points(1), source, "ugrid-uni", "--count", 10**6))), check=True)
        cost = measured(city.release(source, city.folder / f"out{suffix}", "ugrid-uni"), rounds)
        yield [suffix, f"{cost.seconds:.2f}", f"{cost.megabytes:.0f}"]


def spark(city: City) -> Iterator[list[str]]:
    """Yield rows: what readings of 37 million points take here, and on clusters, the same minutes."""
    script = Path(__file__).with_name("cluster.py")
    for workers in (1, 2):
        command = [sys.executable, str(script), str(city.points(37)), str(city.world), str(workers)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            yield [str(workers), f"not run: {done.stderr.strip().splitlines()[-1][:150]}", "", "", ""]
            continue
        start, taken = json.loads(done.stdout.splitlines()[-1])
        for what, (first, other) in taken.items():
            ratios = (f"{one:.1f} ({one / here:.1f}×)" for one, here in zip((first, other), taken["here"], strict=True))
            yield [str(workers), what, *ratios, "" if what == "here" else f"{start:.0f}"]


def postgis(city: City, server: str | None, rounds: int) -> Iterator[list[str]]:
    """Yield rows: what the client takes to read 3.7 million points, and to make and write a release of them."""
    if server is None:
        yield ["not run: give --postgis", "", ""]
        return
    source, table = city.points(3.7), f"{server}?table=pointveil_benchmark"
    for place, target in ((source, city.folder / "out.parquet"), (table, f"{table}_again")):
        if place == table:
            measured(city.release(source, table, "ugrid-uni"), 1)
        name = "Parquet" if place == source else "PostGIS"
        yield [
            name,
            *(
                f"{measured(what, rounds).seconds:.2f}"
                for what in ([sys.executable, "-c", READ, place], city.release(source, target, "ugrid-uni"))
            ),
        ]


def peers(city: City, environments: Path, wanted: Sequence[str], rounds: int) -> Iterator[list[str]]:
    """Yield rows: what others take on the same city, and how many points stand in the wrong square, or hour."""
    if city.data is None:
        raise SystemExit("Peers are compared on real data: give --data.")
    for name in ("points", "points_all"):
        source, target = city.data / "beijing" / f"{name}.parquet", city.folder / "peer.parquet"
        size = f"{pq.read_metadata(source).num_rows:,}"
        for label, command in contenders(city, environments, wanted, source, target):
            if isinstance(command, str):
                yield [size, label, "-", "-", command, ""]
                continue
            try:
                cost = measured(command, rounds)
            except RuntimeError as problem:
                yield [size, label, "-", "-", f"failed: {str(problem).strip().splitlines()[-1][-150:]}", ""]
                continue
            yield [size, label, f"{cost.seconds:.1f}", f"{cost.megabytes:.0f}", *errors(source, target, city)]
        for label, made in baselines(source).items():
            pq.write_table(made, target)
            yield [size, label, "", "", *errors(source, target, city)]


def contenders(
    city: City, environments: Path, wanted: Sequence[str], source: Path, target: Path
) -> Iterator[tuple[str, list[object] | str]]:
    """Yield everyone's name and command, or why there is none."""
    for method in METHODS if "Pointveil" in wanted else ():
        for label, keep in {f"Pointveil {method}": (), f"Pointveil {method}, hours": ("--keep", HOURS)}.items():
            yield label, city.release(source, target, method, "--dataset", source.stem, *keep)
    for peer in (each for each in PEERS if each in wanted):
        python = environment(environments / peer.lower(), PEERS[peer])
        for side, hours in SHAPES.get(peer, LEARNED):
            label = f"{peer}, {side}² cells" + (f" × {hours} h" if hours > 1 else "")
            script = Path(__file__).with_name("peer.py")
            limit = ["prlimit", f"--cpu={MOST}"]
            peer_command: list[object] = [*limit, python, script, peer, source, target, 1, *BOUNDS, side, hours]
            yield label, python if isinstance(python, str) else peer_command


def environment(folder: Path, packages: Sequence[str]) -> Path | str:
    """Return the Python of an environment with these packages, or why there is none."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"not run: pip cannot install {packages[0]}"
    return python


def baselines(source: Path) -> dict[str, pa.Table]:
    """Return real points drawn anew, as good as chance allows, and each column by itself."""
    table, rng = pq.read_table(source, columns=["lon", "lat", "ts"]), np.random.default_rng(1)
    again = table.take(rng.integers(table.num_rows, size=table.num_rows))
    alone = {name: rng.permutation(table[name].to_numpy()) for name in table.column_names}
    return {"another real sample": again, "independent": pa.table(alone)}


def errors(real: Path, synthetic: Path, city: City) -> tuple[str, str]:
    """Return the NCE at 100 m, and that at 500 m and by the hour if the synthetic points have more than one hour."""
    from pointveil.columns import parse_keep
    from pointveil.evaluation.comparison import Comparison
    from pointveil.evaluation.measures.cell_error import shifted_cell_error
    from pointveil.evaluation.measures.kept_columns import place_and_bin_error
    from pointveil.evaluation.points import read_points

    world = World.read(city.world)
    keep = (parse_keep(HOURS),) if "ts" in pq.read_schema(synthetic).names else ()
    one, other = (read_points(path, world, columns=("lon", "lat"), keep=keep) for path in (real, synthetic))
    pair = Comparison(one.xy, other.xy, world, columns=keep, codes=(one.codes, other.codes))
    place = f"{shifted_cell_error(pair, cell=100.0):.3f}"
    if not keep or len(np.unique(other.codes[0])) == 1:
        return place, ""
    return place, f"{place_and_bin_error(pair, bins=pair.bins('part')[0], cell=500.0):.3f}"


def draw_figure(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Draw processor time and memory against the number of points."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for name in dict.fromkeys(row[1] for row in rows):
        own = [row for row in rows if row[1] == name]
        sizes = [float(row[0].split()[0]) for row in own]
        left.plot(sizes, [float(row[2]) for row in own], marker="o", label=name)
        right.plot(sizes, [float(row[4]) for row in own], marker="o", label=name)
    for axes, label in ((left, "processor seconds"), (right, "peak megabytes")):
        axes.set(xscale="log", xlabel="million points", ylabel=label)
    left.set_yscale("log")
    left.legend(frameon=False)
    figure.savefig(path)


def show(title: str, head: Sequence[str], rows: Iterator[list[str]]) -> list[list[str]]:
    """Print rows as a table in Markdown as they come, and return them."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}", flush=True)
    kept = []
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
        kept.append(row)
    return kept


def main(arguments: Any) -> None:
    """Measure what was asked for."""
    what = arguments.what or SECTIONS
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("XDG_DATA_HOME", name)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled, once
        city = City(Path(name), arguments.data)
        if "methods" in what:
            sizes = [float(size) for size in arguments.millions.split(",")]
            head = ("points", "what", "processor s", "times the copy", "peak MB")
            rows = show("Methods", head, methods(city, sizes, arguments.rounds))
            if arguments.figure:
                draw_figure(rows, arguments.figure)
        if "formats" in what:
            show("Formats, a million points", ("format", "processor s", "peak MB"), formats(city, arguments.rounds))
        if "spark" in what:
            head = ("workers", "what", "first reading, with digest", "each other", "start")
            show("Spark, 37 million points, processor s", head, spark(city))
        if "postgis" in what:
            names = ("format", "read", "release")
            show("PostGIS, 3.7 million points, processor s", names, postgis(city, arguments.postgis, arguments.rounds))
        if "peers" in what:
            columns = ("points", "who", "processor s", "peak MB", "NCE at 100 m", "at 500 m and by hour")
            show("Peers, epsilon 1", columns, peers(city, arguments.peers, arguments.who.split(","), arguments.rounds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=[*SECTIONS, []])
    parser.add_argument("--millions", default="0.1,1,10")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=os.environ.get("POINTVEIL_DATA"))
    parser.add_argument("--peers", type=Path, default=Path("peers"))
    parser.add_argument("--who", default=",".join(["Pointveil", *PEERS]), help="whom to compare, by commas")
    parser.add_argument("--postgis", help="address of a database with PostGIS that may be written to")
    parser.add_argument("--figure", type=Path)
    main(parser.parse_args())
