"""One tidy table of all results, and the means and spreads in it."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pointveil.files.whole import write_whole
from pointveil.lab.experiments.plan import Plan
from pointveil.lab.experiments.runs import Shelf, runs_of

COLUMNS = ("experiment", "city", "input", "method", "label", "epsilon", "seed", "measure", "value", "reason")
NUMBERS = {"epsilon": pa.float64(), "seed": pa.int32(), "value": pa.float64()}
SCHEMA = pa.schema([(name, NUMBERS.get(name, pa.string())) for name in COLUMNS])
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
    common = {name: getattr(run, name) for name in ("city", "input", "method", "label", "seed")}
    common |= {"experiment": experiment, "epsilon": float(Fraction(run.epsilon))}
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
        spread = ("value", "stddev", pc.VarianceOptions(ddof=1))
        numbers = [("value", "mean"), spread, ("value", "count"), ("row", "min")]
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
