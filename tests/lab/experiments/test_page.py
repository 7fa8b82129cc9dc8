"""The page of results: text by people, numbers by the table."""

import re
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointveil.lab.experiments.tables import SCHEMA, Results

ROOT = Path(__file__).parents[3]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "make_results.py"))


def test_the_page_and_its_summary_are_what_the_table_says(tmp_path: Path) -> None:
    results = Results(pq.read_table(ROOT / "docs" / "results.parquet"))

    SCRIPT["_write_summary"](results, tmp_path / "results.csv")

    assert SCRIPT["write_page"](results) == (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert (tmp_path / "results.csv").read_bytes() == (ROOT / "docs" / "results.csv").read_bytes()


def test_a_page_without_results_is_not_written() -> None:
    with pytest.raises(StopIteration):
        SCRIPT["write_page"](Results(pa.Table.from_pylist([], schema=SCHEMA)))


def test_the_page_has_the_papers_number_for_every_cell_of_its_main_table() -> None:
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")

    for number in ("0.360", "0.285", "0.152", "0.200", "27.83", "0.94", "1,336.85", "16.87"):
        assert re.search(rf"\| {re.escape(number)} \|", text), number
    assert "$" not in text
