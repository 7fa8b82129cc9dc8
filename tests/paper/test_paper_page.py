"""docs/paper.md names code that exists, and every method."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from pointveil.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "paper.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`(pointveil(?:\.\w+)+)`", PAGE)))


def test_the_page_names_code() -> None:
    assert len(NAMES) > 15


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    try:
        import_module(name)
    except ModuleNotFoundError:
        owner, _, kind = module.rpartition(".")
        found = getattr(import_module(owner), kind) if kind[:1].isupper() else import_module(module)
        assert hasattr(found, attribute), f"docs/paper.md names {name}"


def test_every_numbered_equation_has_a_row() -> None:
    rows = re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)

    assert [int(row) for row in rows] == list(range(1, 16))


def test_the_methods_page_has_every_method() -> None:
    page = (DOCS / "methods.md").read_text(encoding="utf-8")

    assert [name for name in METHODS if not re.search(rf"(?<!\w){name}\b", page)] == []
