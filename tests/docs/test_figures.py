"""Figures and lists on hand-written pages are right."""

import math
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([\d.]+) \| ([\d.,]+) \| (.*%) \|$", flags=re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "choosing-epsilon.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_beliefs_grow_by_the_factor_of_epsilon(row: tuple[str, str, str]) -> None:
    """Presence is one step, with three beliefs in a row; whereabouts are two steps, with one belief."""
    epsilon, factor, beliefs = float(row[0]), row[1].replace(",", ""), re.findall(r"([\d.]+) %", row[2])
    presence = len(beliefs) == 3
    odds = math.exp(epsilon if presence else 2 * epsilon)

    assert float(factor) == pytest.approx(odds, rel=0.005)
    for before, after in zip((0.01, 0.1, 0.5) if presence else (0.5,), beliefs, strict=True):
        digits = len(after.partition(".")[2])
        assert f"{100 * before * odds / (1 - before + before * odds):.{digits}f}" == after


def test_both_tables_of_beliefs_are_read() -> None:
    assert Counter(row[2].count("%") for row in ROWS) == {3: 6, 1: 5}


@pytest.mark.parametrize("image", sorted((ROOT / "docs" / "images").iterdir()), ids=lambda image: image.name)
def test_every_figure_is_made_by_a_script_or_a_command_and_shown(image: Path) -> None:
    makers = [
        *ROOT.glob("scripts/*.py"),
        *ROOT.glob("benchmarks/*.py"),
        ROOT / "src/pointveil/lab/experiments/figures.py",
        ROOT / "Makefile",
    ]
    name = re.escape(image.stem.removeprefix("results-"))

    assert any(re.search(rf"\b{name}\b", maker.read_text(encoding="utf-8")) for maker in makers)
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    assert any(f"images/{image.name}" in page.read_text(encoding="utf-8") for page in pages)


def test_each_version_has_one_list_of_each_kind() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    for version in text.split("\n## ")[1:]:
        assert re.findall(r"^### (.*)$", version, flags=re.MULTILINE) == ["Added", "Changed", "Fixed", "Privacy"]
