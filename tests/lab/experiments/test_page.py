"""The page of results: text by people, numbers by the table."""

import re
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.lab.experiments.rows import made_up, results_of

from pointveil.lab.experiments.tables import SCHEMA, Results
from pointveil.methods import METHODS

pytest.importorskip("PIL", reason="the script draws figures, which needs the extra figures")
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


def test_the_paper_prints_a_number_for_ten_methods_in_three_cities() -> None:
    paper = SCRIPT["printed"]()

    assert set(paper["main"]) == {"beijing", "porto", "manhattan"}
    for rows in paper["main"].values():
        assert set(rows) == set(METHODS) - {"veil"}
        assert all(len(row) == 3 for row in rows.values())
    assert paper["main"]["beijing"]["agrid-kde"] == [0.285, 8.84, 63.82]
    assert paper["facilities"]["road"] == [0.95, 1.0]


def test_the_main_table_shows_paper_published_and_private_side_by_side() -> None:
    results = results_of(made_up(), made_up(method="ugrid-uni-as-published", value=0.2), made_up(method="veil"))

    text = SCRIPT["main_table"](results, "nce_100")

    assert "| `ugrid-uni` | 0.165 | 0.200 | 0.100 |" in text
    assert "| `veil` | – | – | 0.100 |" in text


def test_tables_by_variant_and_by_epsilon() -> None:
    results = results_of(
        made_up(experiment="splits", label="10–90"),
        made_up(experiment="epsilon", epsilon=0.5),
        made_up(experiment="epsilon", epsilon=2.0, value=0.05),
    )

    assert "| `ugrid-uni` | 10–90 | 0.100 |" in SCRIPT["variants_table"](results, "splits", "nce_100")
    assert "| `ugrid-uni` | 0.100 | 0.050 |" in SCRIPT["epsilon_table"](results, "epsilon", "porto", "nce_100")


def test_markdown_has_a_line_under_its_head() -> None:
    assert SCRIPT["markdown"](["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
