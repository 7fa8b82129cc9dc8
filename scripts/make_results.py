"""Run every experiment of the paper, then write docs/results.md with its figures and the table behind them.

    POINTVEIL_DATA=<folder with the cities> python scripts/make_results.py [--workers N] [--only METHOD] [--only-write]

Runs that are in results/ already are kept: delete that folder after a change of a method. With --only, one method is
run, and what docs/results.parquet says of all others stays: for when nothing else has changed.
"""

import argparse
import csv
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from pointveil.demo import city, draw_comparison
from pointveil.lab.experiments import Plan, runs_of, work_through
from pointveil.lab.experiments.cities import find_data, load_city
from pointveil.lab.experiments.figures import draw_all
from pointveil.lab.experiments.runs import make_points
from pointveil.lab.experiments.tables import KEYS, PUBLISHED, Results, Summary, gather, write_table

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
    options.add_argument("--only", metavar="METHOD", help="run this method, and keep what is written of the others")
    given = options.parse_args()
    plans = [Plan.read(path) for path in sorted((ROOT / "experiments").glob("*.toml")) if path.stem != "quick"]
    to_run = plans if given.only is None else [_only(given.only, plan) for plan in plans]
    if not given.only_write:
        failures = work_through(to_run, given.out, data=find_data(None), workers=given.workers, tell=_tell)
        print(*failures, sep="\n", file=sys.stderr)
    table = gather(plans, given.out)
    if given.only is not None:
        table = _beside(pq.read_table(DOCS / "results.parquet"), table)
    results = Results(table)
    write_table(table, DOCS / "results.parquet")
    _write_summary(results, DOCS / "results.csv")
    draw_all(results, DOCS / "images")
    _draw_visual(next(plan for plan in plans if plan.name == "visual"), DOCS / "images" / "results-visual.png")
    (DOCS / "results.md").write_text(write_page(results), encoding="utf-8")


def _only(method: str, plan: Plan) -> Plan:
    """Return the plan with this method alone, if it has it."""
    methods = tuple(name for name in plan.all_methods() if name == method)
    return plan.model_copy(
        update={"methods": methods, "variants": tuple(one for one in plan.variants if one.method == method)}
    )


def _beside(old: pa.Table, new: pa.Table) -> pa.Table:
    """Return the new table, and of the old one the methods that were not run anew in the same experiment."""
    done = {(row["experiment"], row["method"]) for row in new.select(["experiment", "method"]).to_pylist()}
    stays = [(row["experiment"], row["method"]) not in done for row in old.select(["experiment", "method"]).to_pylist()]
    return pa.concat_tables([new, old.filter(pa.array(stays))])


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
        "yardstick": plain_table(results, "yardstick", "nce_shifted_100", "another_sample", "effective_sample_size"),
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


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(summary: Summary | None, digits: int = 3) -> str:
    """Return a number for a table, or a dash."""
    return "–" if summary is None else summary.text(digits)


def printed() -> dict[str, Any]:
    """Return the numbers that the paper prints."""
    return tomllib.loads((ROOT / "scripts" / "paper.toml").read_text(encoding="utf-8"))


def by_method(results: Results, experiment: str, columns: Mapping[str, Mapping[str, Any]], digits: int = 3) -> str:
    """Return methods by columns; a column is a head, and what `Results.find` is asked beside the method."""
    rows = [
        [f"`{name}`", *(show(results.find(experiment, method=name, **where), digits) for where in columns.values())]
        for name in results.some(experiment, "method")
    ]
    return markdown(["method", *columns], rows)


def plain_table(results: Results, experiment: str, *measures: str) -> str:
    """Return methods by cities, for measures that the paper gives no numbers for."""
    cities = results.some(experiment, "city")
    where = {f"{city}: {measure}": {"city": city, "measure": measure} for city in cities for measure in measures}
    return by_method(results, experiment, where)


def series_table(results: Results, experiment: str, city: str, measure: str, sizes: Iterable[int]) -> str:
    """Return methods by size in one city; `measure` has braces where the size stands in its name."""
    where = {str(size): {"city": city, "measure": measure.format(size)} for size in sizes}
    return by_method(results, experiment, where, digits=2)


def epsilon_table(results: Results, experiment: str, city: str, measure: str) -> str:
    """Return methods by epsilon in one city."""
    epsilons = sorted(results.some(experiment, "epsilon"))
    where = {f"ε = {epsilon:g}": {"city": city, "measure": measure, "epsilon": epsilon} for epsilon in epsilons}
    return by_method(results, experiment, where)


def variants_table(results: Results, experiment: str, measure: str) -> str:
    """Return variants by cities: one line for each split or parameter."""
    cities = results.some(experiment, "city")
    rows = [
        [
            f"`{method}`",
            label or "as it is",
            *(show(results.find(experiment, city, method, measure, label=label)) for city in cities),
        ]
        for method, label in results.some(experiment, "method", "label")
    ]
    return markdown(["method", "variant", *cities], rows)


Claims = Mapping[str, Sequence[float]]


def beside_paper(
    results: Results, experiment: str, columns: Mapping[str, tuple[str, str, Claims, int]], digits: int
) -> str:
    """Return what the paper prints, its method as published, and ours, side by side.

    Parameters
    ----------
    columns
        By head: the city, the measure, the paper's rows by method, and the place of the number in them.
    """
    head = ["method", *(f"{what}: {side}" for what in columns for side in ("paper", "as published", "private"))]
    rows = []
    for name in results.some(experiment, "method"):
        if not name.endswith(PUBLISHED):
            row = [f"`{name}`"]
            for city, measure, paper, place in columns.values():
                row += [
                    f"{paper[name][place]:,.{digits}f}" if name in paper else "–",
                    show(results.find(experiment, city, name + PUBLISHED, measure), digits),
                    show(results.find(experiment, city, name, measure), digits),
                ]
            rows.append(row)
    return markdown(head, rows)


MAIN = {"nce_100": (0, 3), "medd": (1, 2), "cpu_seconds": (2, 2)}
"""Measure → its place in the paper's rows, and digits."""


def main_table(results: Results, measure: str, *, experiment: str = "main") -> str:
    """Return the paper's main table for one measure, city by city."""
    place, digits = MAIN[measure]
    paper = printed()["main"]
    columns = {city: (city, measure, paper[city], place) for city in results.some(experiment, "city")}
    return beside_paper(results, experiment, columns, digits)


def facilities_table(results: Results) -> str:
    """Return the paper's table of facility location: 20 crossings chosen in Beijing."""
    measures = {"Max-Inf": "most_influential(choose=20)", "Min-Dist": "least_distance_greedy(choose=20)"}
    paper = printed()["facilities"]
    columns = {name: ("beijing", measure, paper, place) for place, (name, measure) in enumerate(measures.items())}
    return beside_paper(results, "facilities", columns, 2)


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
