"""Every page is wrapped in one style, and wrapping changes nothing but line breaks."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "wrap_docs.py"))
wrap = SCRIPT["wrap"]

PAGES = SCRIPT["pages"]()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_page_is_wrapped(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert text == wrap(text), f"run: python scripts/wrap_docs.py {page.relative_to(ROOT)}"


def test_generated_pages_are_left_alone() -> None:
    names = {page.relative_to(ROOT).as_posix() for page in SCRIPT["pages"]()}

    assert {"README.md", "docs/roads.md", "src/pointveil/vault/noise.md"} <= names
    assert not {"docs/cli.md", "docs/results.md"} & names


WORDS = "word " * 30
LEFT_ALONE = {
    "table": f"| a | {WORDS}|\n| --- | --- |\n| b | {WORDS}|\n",
    "fenced code": f"```python\n{WORDS}x\n\n- {WORDS}x\n```\n",
    "indented code": f"text\n\n    {WORDS}x\n",
    "heading": f"# {WORDS}x\n",
    "link definition": f"[name]: https://example.org/{'x' * 100} '{WORDS}'\n",
    "html": f"<p>\n{WORDS}x\n</p>\n",
    "hard line breaks": "one  \ntwo\\\nthree\n",
    "quote": "> one\n>\n> - two\n",
    "code in a list": f"- one\n\n  ```console\n  $ {WORDS}x\n  ```\n\n  two\n- three\n",
    "nested list": "1. one\n   - two\n     1. three\n2. four\n\n   five\n\nsix\n",
    "paragraph after a list": "- one\n\ntwo\n",
    "two spaces in code": "`a  b`\n",
}


@pytest.mark.parametrize("kind", LEFT_ALONE)
def test_wrapping_leaves_it_alone(kind: str) -> None:
    assert wrap(LEFT_ALONE[kind]) == LEFT_ALONE[kind]


LONG = {
    "paragraph": (f"{WORDS}\n{WORDS}\n", ""),
    "item": (f"- {WORDS}\n", "  "),
    "number": (f"10. {WORDS}\n", "    "),
    "nested item": (f"- a\n  - {WORDS}\n", "    "),
    "second paragraph of an item": (f"- a\n\n  {WORDS}\n", "  "),
    "lazy item": (f"- {WORDS}\n{WORDS}\n", "  "),
    "quote": (f"> {WORDS}\n> {WORDS}\n", "> "),
    "item in a quote": (f"> - {WORDS}\n", ">   "),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_lines_are_wrapped_under_their_first_word(kind: str) -> None:
    text, indent = LONG[kind]

    lines = wrap(text).splitlines()

    assert max(map(len, lines)) <= 100
    assert lines[-1].startswith(f"{indent}word")
    assert wrap(text).split().count("word") == text.split().count("word")
    assert wrap(wrap(text)) == wrap(text)


def test_short_lines_are_joined() -> None:
    assert wrap("- one\n  two\nthree\n") == "- one two three\n"


@pytest.mark.parametrize(
    "whole", ["`pointveil demo --epsilon 0.5`", "[link](page.md 'a title')", '<a href="x" title="y z">', "``a ` b``"]
)
def test_a_line_never_breaks_inside(whole: str) -> None:
    for before in range(60, 100):
        assert any(
            whole.rsplit("](", maxsplit=1)[-1] in line for line in wrap(f"{'x' * before} {whole} y\n").splitlines()
        )


@pytest.mark.parametrize("word", ["- a", "+ a", "* a", "1. a", "2021) a", "# a", "> a", "|Z| a", "``` a", "<p> a", "-"])
def test_a_line_never_begins_with_what_would_be_read_as_something_else(word: str) -> None:
    for before in range(80, 104):
        lines = wrap(f"a {'x' * (before - 2)} {word}\n").splitlines()
        assert not any(line.startswith(word) for line in lines), before
