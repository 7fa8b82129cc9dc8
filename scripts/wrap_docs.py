"""Wrap paragraphs and list items at 100 columns, in place, in the pages given or else in all."""

import re
import sys
import textwrap
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parent.parent
WIDTH = 100
GENERATED = {"docs/cli.md", "docs/results.md"}
GLUE = "\ue000"  # stands for a space at which a line must not break

FENCE = r"`{3}|~{3}"
HTML = r"</?[A-Za-z][\w-]*(?:[\s/>]|$)|<!--"
AS_IS = r"#{1,6}(?:\s|$)|\||\[[^\]]+\]:\s|(?:-{3,}|={3,}|\*{3,}|_{3,})\s*$"
MARKER = r"(?:[-*+]|\d{1,9}[.)])"
ITEM = re.compile(rf"\s*{MARKER}\s{{1,4}}(?=\S)")
START = re.compile(rf"\s*(?:{FENCE}|{HTML}|{AS_IS}|>|{MARKER}(?:\s|$))")
UNBREAKABLE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)]*\)|<[A-Za-z/!][^>]*>")


def pages() -> list[Path]:
    """Every page that is written by hand."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.md")]
    return sorted(page for page in found if page.relative_to(ROOT).as_posix() not in GENERATED)


def wrap(text: str) -> str:
    """Return the page with its paragraphs wrapped; wrapping it again changes nothing."""
    return "".join(f"{line}\n" for line in _wrap(text.splitlines(), WIDTH))


def _wrap(lines: list[str], width: int) -> list[str]:
    made: list[str] = []
    while lines:
        block, wrapped = _block(lines, width)
        made += wrapped
        lines = lines[len(block) :]
    return made


def _block(lines: list[str], width: int) -> tuple[list[str], list[str]]:
    """Return the first block, and what becomes of it."""
    first, rest = lines[0], lines[1:]
    if fence := re.match(rf"\s*({FENCE})", first):
        inside = list(takewhile(lambda line: not line.strip().startswith(fence[1]), rest))
        return (block := lines[: len(inside) + 2]), block
    if re.match(rf"\s*(?:{HTML})", first):
        return (block := list(takewhile(str.strip, lines))), block
    if not first.strip() or first.startswith("    ") or re.match(rf"\s*(?:{AS_IS})", first):
        return [first], [first.rstrip()]
    if first.startswith(">"):
        block = list(takewhile(lambda line: line.startswith(">"), lines))
        quoted = _wrap([re.sub(r"^> ?", "", line) for line in block], width - 2)
        return block, [f"> {line}".rstrip() for line in quoted]
    if item := ITEM.match(first):
        block, indent = _item(lines, item.end()), " " * item.end()
        text = textwrap.indent("\n".join(_wrap(block, width - len(indent))), indent)
        return block, (item[0] + text[len(indent) :]).split("\n")
    block = [first, *takewhile(lambda line: line.strip() and not START.match(line), rest)]
    return block, _paragraph(block, width)


def _item(lines: list[str], indent: int) -> list[str]:
    """Return a list item without its marker: all that is indented as far, and its paragraph's lazy lines."""
    body = [lines[0][indent:]]
    for number, line in enumerate(lines[1:], 1):
        following = next((later for later in lines[number:] if later.strip()), "")
        lazy = line.strip() and body[-1] and not START.match(body[-1]) and not START.match(line)
        if not (lazy or following[:indent].isspace()):
            break
        body.append(line[indent:] if line[:indent].isspace() else line.lstrip())
    return body


def _paragraph(lines: list[str], width: int) -> list[str]:
    made: list[str] = []
    for part in re.split(r"(?<=  )\n|(?<=\\)\n", "\n".join(lines)):  # at hard line breaks
        text = UNBREAKABLE.sub(lambda span: span[0].replace(" ", GLUE), re.sub(r"\n\s*", " ", part))
        text = re.sub(rf" +(?={START.pattern})", GLUE, re.sub(" +", " ", text))
        filled = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        made += "\n".join(filled).replace(GLUE, " ").split("\n")
        made[-1] += "  " * part.endswith("  ")
    return made


if __name__ == "__main__":
    for page in [Path(name) for name in sys.argv[1:]] or pages():
        page.write_text(wrap(page.read_text(encoding="utf-8")), encoding="utf-8")
