"""Run every experiment of the paper, then write docs/results.md with its figures and the table behind them.

    POINTVEIL_DATA=<folder with the cities> python scripts/make_results.py [--workers N] [--only-write]

Runs that are in results/ already are kept: delete that folder after a change of a method.
"""

import argparse
import csv
import os
import sys
from pathlib import Path

import pyarrow as pa
from PIL import Image

from pointveil.demo import city, draw_comparison
from pointveil.lab.experiments import Plan, runs_of, work_through
from pointveil.lab.experiments.cities import find_data, load_city
from pointveil.lab.experiments.figures import draw_all
from pointveil.lab.experiments.page import fill
from pointveil.lab.experiments.runs import make_points
from pointveil.lab.experiments.tables import Results, gather, write_table

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WIDTH = 1500  # pixels of the visual comparison


def main() -> None:
    """Run, gather, draw, write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=ROOT / "results")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options.add_argument("--only-write", action="store_true", help="run nothing; write from what is there")
    given = options.parse_args()
    plans = [Plan.read(path) for path in sorted((ROOT / "experiments").glob("*.toml")) if path.stem != "quick"]
    if not given.only_write:
        failures = work_through(plans, given.out, data=find_data(None), workers=given.workers, tell=_tell)
        print(*failures, sep="\n", file=sys.stderr)
    table = gather(plans, given.out)
    results = Results(table)
    write_table(table, DOCS / "results.parquet")
    _write_summary(results, DOCS / "results.csv")
    draw_all(results, DOCS / "images")
    _draw_visual(next(plan for plan in plans if plan.name == "visual"), DOCS / "images" / "results-visual.png")
    template = (ROOT / "experiments" / "results-template.md").read_text(encoding="utf-8")
    (DOCS / "results.md").write_text(fill(template, results), encoding="utf-8")


def _tell(done: int, of: int) -> None:
    print(f"\r{done} of {of} runs are done", end="" if done < of else "\n", file=sys.stderr, flush=True)


def _write_summary(results: Results, path: Path) -> None:
    """Write mean, spread and number of seeds of everything."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["experiment", "city", "method", "variant", "epsilon", "measure", "mean", "spread", "seeds"])
        for experiment, place, method, label, epsilon, measure in results.keys:
            found = results.find(experiment, place, method, measure, label=label, epsilon=epsilon)
            if found is not None:
                numbers = (f"{found.mean:.6g}", f"{found.spread:.3g}", found.seeds)
                writer.writerow([experiment, place, method, label, epsilon, measure, *numbers])


def _draw_visual(plan: Plan, path: Path) -> None:
    """Draw real beside synthetic, of the built-in city only: its people are invented."""
    drawn = {}
    for run in runs_of(plan):
        loaded = load_city(run.where, None, run.input)
        drawn[run.method] = loaded.world.projection.to_metres(make_points(run, loaded).coordinates)
    draw_comparison(city(), loaded.real, drawn, path)
    with Image.open(path) as image:
        small = image.convert("RGB").resize(
            (WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS
        )
    small.quantize(64).save(path, format="PNG", optimize=True)


if __name__ == "__main__":
    pa.set_cpu_count(1)
    main()
