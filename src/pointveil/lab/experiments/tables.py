"""One tidy table of all results, and Markdown tables of means and spreads."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
        "epsilon": float(_number(run.epsilon)),
        "seed": run.seed,
    }
    return [
        {**common, "measure": name, "value": result["values"].get(name), "reason": result["reasons"].get(name)}
        for name in (*ALWAYS, *sorted(run.measures))
        if name in result["values"] or name in result["reasons"]
    ]


def _number(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def write_table(table: pa.Table, path: Path) -> None:
    """Write the tidy table as Parquet."""
    new = path.with_name(f".{path.name}.new")
    pq.write_table(table, new, compression="zstd")
    new.replace(path)


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
        self._groups: dict[tuple[Any, ...], list[float]] = {}
        self.keys: list[tuple[Any, ...]] = []
        names = ("experiment", "city", "method", "label", "epsilon", "measure")
        for row in table.to_pylist():
            if row["value"] is not None:
                self._groups.setdefault(tuple(row[name] for name in names), []).append(row["value"])
        self.keys = list(self._groups)

    def find(
        self, experiment: str, city: str, method: str, measure: str, *, label: str = "", epsilon: float = 1.0
    ) -> Summary | None:
        """Return the mean and the spread, or nothing if it was not measured."""
        values = self._groups.get((experiment, city, method, label, epsilon, measure))
        if values is None:
            return None
        return Summary(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))

    def some(self, experiment: str, column: int) -> list[Any]:
        """Return the distinct values of a column of the keys in one experiment, in their order."""
        return list(dict.fromkeys(key[column] for key in self.keys if key[0] == experiment))

    def cities(self, experiment: str) -> list[str]:
        """Return the cities of an experiment."""
        return self.some(experiment, 1)

    def methods(self, experiment: str) -> list[str]:
        """Return the methods of an experiment."""
        return self.some(experiment, 2)


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


MAIN = (("nce_100", 0, 3), ("medd", 1, 2), ("cpu_seconds", 2, 2))
"""Measure, its place in the paper's rows, and digits."""


def main_table(results: Results, measure: str, *, experiment: str = "main") -> str:
    """Return the paper's main table for one measure: paper, as published, and ours, city by city."""
    place, digits = next((place, digits) for name, place, digits in MAIN if name == measure)
    paper, cities = printed()["main"], results.cities(experiment)
    names = [name for name in results.methods(experiment) if not name.endswith(PUBLISHED)]
    head = ["method", *(f"{city}: {what}" for city in cities for what in ("paper", "as published", "private"))]
    rows = []
    for name in names:
        row = [f"`{name}`"]
        for city in cities:
            claimed = paper[city].get(name)
            row += [
                "–" if claimed is None else f"{claimed[place]:,.{digits}f}",
                show(results.find(experiment, city, name + PUBLISHED, measure), digits),
                show(results.find(experiment, city, name, measure), digits),
            ]
        rows.append(row)
    return markdown(head, rows)


def facilities_table(results: Results, *, experiment: str = "facilities", choose: int = 20) -> str:
    """Return the paper's table of facility location."""
    paper = printed()["facilities"]
    measures = [f"{name}(choose={choose})" for name in ("most_influential", "least_distance_greedy")]
    head = [
        "method",
        *(f"{name}: {what}" for name in ("Max-Inf", "Min-Dist") for what in ("paper", "as published", "private")),
    ]
    rows = []
    for name in [name for name in results.methods(experiment) if not name.endswith(PUBLISHED)]:
        row = [f"`{name}`"]
        for place, measure in enumerate(measures):
            claimed = paper.get(name)
            row += [
                "–" if claimed is None else f"{claimed[place]:.2f}",
                show(results.find(experiment, "beijing", name + PUBLISHED, measure), 2),
                show(results.find(experiment, "beijing", name, measure), 2),
            ]
        rows.append(row)
    return markdown(head, rows)


def plain_table(results: Results, experiment: str, measures: Sequence[str], digits: int = 3) -> str:
    """Return methods by cities, for measures that the paper gives no numbers for."""
    cities = results.cities(experiment)
    head = ["method", *(f"{city}: {measure}" for city in cities for measure in measures)]
    rows = [
        [f"`{name}`", *(show(results.find(experiment, city, name, m), digits) for city in cities for m in measures)]
        for name in results.methods(experiment)
    ]
    return markdown(head, rows)


def variants_table(results: Results, experiment: str, measure: str, digits: int = 3) -> str:
    """Return variants by cities: one line for each split or parameter."""
    cities = results.cities(experiment)
    kinds = dict.fromkeys((key[2], key[3]) for key in results.keys if key[0] == experiment)
    rows = [
        [
            f"`{method}`",
            label or "as it is",
            *(show(results.find(experiment, city, method, measure, label=label), digits) for city in cities),
        ]
        for method, label in kinds
    ]
    return markdown(["method", "variant", *cities], rows)


def series_table(results: Results, experiment: str, city: str, measures: Mapping[str, str], digits: int = 3) -> str:
    """Return methods by measures in one city; `measures` maps the head of a column to a measure."""
    rows = [
        [f"`{name}`", *(show(results.find(experiment, city, name, measure), digits) for measure in measures.values())]
        for name in results.methods(experiment)
    ]
    return markdown(["method", *measures], rows)


def epsilon_table(results: Results, experiment: str, city: str, measure: str, digits: int = 3) -> str:
    """Return methods by epsilon in one city."""
    epsilons = sorted(results.some(experiment, 4))
    rows = [
        [f"`{name}`", *(show(results.find(experiment, city, name, measure, epsilon=e), digits) for e in epsilons)]
        for name in results.methods(experiment)
    ]
    return markdown(["method", *(f"ε = {epsilon:g}" for epsilon in epsilons)], rows)


TABLES: dict[str, Callable[..., str]] = {
    "main": main_table,
    "facilities": facilities_table,
    "plain": plain_table,
    "variants": variants_table,
    "series": series_table,
    "epsilon": epsilon_table,
}
