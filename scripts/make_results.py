"""Run every experiment of the paper, then write docs/results.md with its figures and the table behind them.

    POINTVEIL_DATA=<folder with the cities> python scripts/make_results.py [--workers N] [--only-write]

Runs that are in results/ already are kept: delete that folder after a change of a method.
"""

import argparse
import csv
import os
import sys
from pathlib import Path
from string import Template

import pyarrow as pa
from PIL import Image

from pointveil.demo import city, draw_comparison
from pointveil.lab.experiments import Plan, runs_of, work_through
from pointveil.lab.experiments.cities import find_data, load_city
from pointveil.lab.experiments.figures import draw_all
from pointveil.lab.experiments.runs import make_points
from pointveil.lab.experiments.tables import (
    KEYS,
    Results,
    epsilon_table,
    facilities_table,
    gather,
    main_table,
    plain_table,
    series_table,
    variants_table,
    write_table,
)

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
WIDTH = 1500  # pixels of the visual comparison
RADII = (100, 250, 500, 1000, 2000)  # metres of the range queries
GRANULARITIES = (64, 128, 256, 512, 1024)  # cells along a side of the map
CHOICES = (5, 20, 40)  # how many facilities are chosen


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
    (DOCS / "results.md").write_text(write_page(results), encoding="utf-8")


def write_page(results: Results) -> str:
    """Return the page: its text is the template's, and every number comes from the results."""
    template = (ROOT / "experiments" / "results-template.md").read_text(encoding="utf-8")
    nce = ("nce_100", "nce_shifted_100")
    tables = {
        "main_seeds": results.seeds("main"),
        "epsilon_seeds": results.seeds("epsilon"),
        "main_nce": main_table(results, "nce_100"),
        "main_medd": main_table(results, "medd"),
        "main_seconds": main_table(results, "cpu_seconds"),
        "main_nce_shifted": plain_table(results, "main", "nce_shifted_100"),
        "main_total": plain_table(results, "main", "total_count"),
        "epsilon": epsilon_table(results, "epsilon", "porto", "nce_shifted_100"),
        "budget_splits": variants_table(results, "budget-splits", "nce_shifted_100"),
        "clusters": variants_table(results, "clusters", "nce_shifted_100"),
        "on_roads": plain_table(results, "on-roads", *nce),
        "larger_area": plain_table(results, "larger-area", *nce),
        "visual": plain_table(results, "visual", *nce, "medd"),
        "facilities": facilities_table(results),
        "max_inf": series_table(results, "facilities", "beijing", "most_influential(choose={})", CHOICES),
        "min_dist": series_table(results, "facilities", "beijing", "least_distance_greedy(choose={})", CHOICES),
    }
    for place in ("beijing", "porto", "manhattan"):
        tables[f"range_{place}"] = series_table(results, "range-queries", place, "range_{}", RADII)
        tables[f"hotspots_{place}"] = series_table(results, "hotspots", place, "hotspots_{}", GRANULARITIES)
    return Template(template).substitute(tables)


def _tell(done: int, of: int) -> None:
    print(f"\r{done} of {of} runs are done", end="" if done < of else "\n", file=sys.stderr, flush=True)


def _write_summary(results: Results, path: Path) -> None:
    """Write mean, spread and number of seeds of everything."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*("variant" if key == "label" else key for key in KEYS), "mean", "spread", "seeds"])
        for key, found in results.summaries.items():
            writer.writerow([*key, f"{found.mean:.6g}", f"{found.spread:.3g}", found.seeds])


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
