"""One tidy table of all results, and Markdown tables of means and spreads."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pointveil.files.whole import write_whole
from pointveil.lab.experiments.plan import Plan
from pointveil.lab.experiments.runs import Shelf, runs_of

SCHEMA = pa.schema(
    [
        ("experiment", pa.string()),
        ("city", pa.string()),
        ("input", pa.string()),
        ("method", pa.string()),
        ("label", pa.string()),
        ("epsilon", pa.float64()),
        ("seed", pa.int32()),
        ("measure", pa.string()),
        ("value", pa.float64()),
        ("reason", pa.string()),
    ]
)
ALWAYS = ("cpu_seconds", "points")
PUBLISHED = "-as-published"


def gather(plans: Iterable[Plan], out: Path) -> pa.Table:
    """Return one row for each number of each run of the plans; what has not been run is not in it."""
    shelf = Shelf(out / "runs")
    rows = [row for plan in plans for run in runs_of(plan) for row in _rows(plan.name, run, shelf.read(run))]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _rows(experiment: str, run: Any, result: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if result is None:
        return []
    common = {
        "experiment": experiment,
        "city": run.city,
        "input": run.input,
        "method": run.method,
        "label": run.label,
        "epsilon": float(Fraction(run.epsilon)),
        "seed": run.seed,
    }
    return [
        {**common, "measure": name, "value": result["values"].get(name), "reason": result["reasons"].get(name)}
        for name in (*ALWAYS, *sorted(run.measures))
        if name in result["values"] or name in result["reasons"]
    ]


def write_table(table: pa.Table, path: Path) -> None:
    """Write the tidy table as Parquet."""
    write_whole(path, lambda new: pq.write_table(table, new, compression="zstd"))


KEYS = ("experiment", "city", "method", "label", "epsilon", "measure")


@dataclass(frozen=True)
class Summary:
    """The mean of a number over seeds, and its standard deviation."""

    mean: float
    spread: float
    seeds: int

    def text(self, digits: int = 3) -> str:
        """Return "0.123 ± 0.004", with fewer digits for large numbers."""
        large = math.floor(math.log10(abs(self.mean))) if abs(self.mean) >= 10 else 0
        size = max(0, digits - large)
        mean = f"{self.mean:,.{size}f}"
        return mean if self.seeds < 2 else f"{mean} ± {self.spread:,.{size}f}"


class Results:
    """Answers "what was this measure for this method there?" from the tidy table."""

    def __init__(self, table: pa.Table) -> None:
        known = table.filter(pc.field("value").is_valid())
        known = known.append_column("row", pa.array(range(len(known))))  # groups come in no order of their own
        numbers = [
            ("value", "mean"),
            ("value", "stddev", pc.VarianceOptions(ddof=1)),
            ("value", "count"),
            ("row", "min"),
        ]
        groups = known.group_by(KEYS).aggregate(numbers).sort_by("row_min")
        self.summaries = {
            tuple(row[key] for key in KEYS): Summary(row["value_mean"], row["value_stddev"] or 0.0, row["value_count"])
            for row in groups.to_pylist()
        }

    def find(
        self, experiment: str, city: str, method: str, measure: str, *, label: str = "", epsilon: float = 1.0
    ) -> Summary | None:
        """Return the mean and the spread, or nothing if it was not measured."""
        return self.summaries.get((experiment, city, method, label, epsilon, measure))

    def some(self, experiment: str, *columns: str) -> list[Any]:
        """Return the distinct values of a column in one experiment, or of several as tuples, in their order."""
        wanted = itemgetter(*(KEYS.index(column) for column in columns))
        return list(dict.fromkeys(wanted(key) for key in self.summaries if key[0] == experiment))

    def seeds(self, experiment: str) -> int:
        """Return over how many seeds an experiment was repeated."""
        return next(summary.seeds for key, summary in self.summaries.items() if key[0] == experiment)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def show(summary: Summary | None, digits: int = 3) -> str:
    """Return a number for a table, or a dash."""
    return "–" if summary is None else summary.text(digits)


def printed() -> dict[str, Any]:
    """Return the numbers that the paper prints."""
    return tomllib.loads((files("pointveil.lab.experiments") / "paper.toml").read_text(encoding="utf-8"))


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
