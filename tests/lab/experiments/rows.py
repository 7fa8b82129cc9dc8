"""Rows of the tidy table, made up."""

from typing import Any

import pyarrow as pa

from pointveil.lab.experiments.tables import SCHEMA, Results


def made_up(**changes: Any) -> dict[str, Any]:
    row = {
        "experiment": "main", "city": "porto", "input": "as is", "method": "ugrid-uni", "label": "", "epsilon": 1.0,
        "seed": 0, "measure": "nce_100", "value": 0.1, "reason": None,
    }  # fmt: skip
    return {**row, **changes}


def results_of(*rows: dict[str, Any]) -> Results:
    return Results(pa.Table.from_pylist(list(rows), schema=SCHEMA))
