"""Write the table of files in docs/review-the-vault.md: every file that may be handed a real record."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "review-the-vault.md"
PACKAGE = ROOT / "src" / "pointveil"
ROOMS = ("vault", "cells", "engines", "formats")
BEGIN, END = "<!-- files: made by scripts/make_review_table.py -->\n", "<!-- end of files -->\n"


def table() -> str:
    """Return the table: the lines of each room, then of each of its files, with the file's own first sentence."""
    rows = ["| file | lines | |", "| --- | --: | --- |"]
    for room in ROOMS:
        texts = {path: path.read_text(encoding="utf-8") for path in sorted((PACKAGE / room).rglob("*.py"))}
        rows.append(f"| **{room}/** | **{sum(map(_lines, texts.values())):,}** | **{len(texts)} files** |")
        rows += [_row(path, text) for path, text in texts.items()]
    return "\n".join([*rows, ""])


def page() -> str:
    """Return the whole page with a fresh table."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def _row(path: Path, text: str) -> str:
    name = path.relative_to(PACKAGE).as_posix()
    sentence = text.splitlines()[0].strip('"')
    return f"| [`{name}`](../src/pointveil/{name}) | {_lines(text)} | {sentence} |"


def _lines(text: str) -> int:
    return len(text.splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
