"""The page of results: text by people, numbers by the table."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pointveil.lab.experiments.page import DIRECTIVE, DIRECTIVES, fill
from pointveil.lab.experiments.tables import SCHEMA, Results

ROOT = Path(__file__).parents[3]


def results() -> Results:
    rows: list[dict[str, Any]] = [
        {
            "experiment": "main", "city": "porto", "input": "as is", "method": "ugrid-uni", "label": "",
            "epsilon": 1.0, "seed": seed, "measure": "nce_100", "value": 0.1 + seed / 10, "reason": None,
        }
        for seed in range(3)
    ]  # fmt: skip
    return Results(pa.Table.from_pylist(rows, schema=SCHEMA))


def test_words_in_braces_become_numbers() -> None:
    text = fill("NCE is {{value main porto ugrid-uni nce_100 2}} over {{seeds main}} seeds.", results())

    assert text == "NCE is 0.20 ± 0.10 over 3 seeds."


def test_a_word_that_nobody_knows_stops_it() -> None:
    with pytest.raises(KeyError):
        fill("{{wish main}}", results())


def test_the_template_uses_known_words_only() -> None:
    template = (ROOT / "experiments" / "results-template.md").read_text()

    assert {found[1] for found in DIRECTIVE.finditer(template)} <= set(DIRECTIVES)
    assert template.count("{{") == len(DIRECTIVE.findall(template))


def test_the_page_has_the_papers_number_for_every_cell_of_its_main_table() -> None:
    page = ROOT / "docs" / "results.md"
    text = page.read_text()

    for number in ("0.360", "0.285", "0.152", "0.200", "27.83", "0.94", "1,336.85", "16.87"):
        assert re.search(rf"\| {re.escape(number)} \|", text), number
    assert "{{" not in text
