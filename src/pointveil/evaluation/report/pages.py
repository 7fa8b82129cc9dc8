"""Put a template, its style, its script and its data into one file that needs nothing else."""

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pointveil.files.whole import write_whole
from pointveil.statement import Statement
from pointveil.world import World

ASSETS = files("pointveil.evaluation.report") / "assets"
SCRIPTS = ("maps.js", "charts.js", "page.js")
SHOWN = ("purpose", "question", "cells", "epsilon")  # of a question in a statement


def compose(title: str, banner: str, kind: str, data: dict[str, Any]) -> str:
    """Return a whole page that draws `data`; `kind`, "report" or "release", chooses its style and script."""
    parts = {
        "TITLE": escape(title),
        "BANNER": escape(banner),
        "KIND": escape(kind),
        "STYLE": _read("page.css"),
        "SCRIPT": "\n".join(_read(name) for name in SCRIPTS),
        # A "<" in a name must not end the element.
        "DATA": json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
    }
    page = _read("page.html")
    for name, text in parts.items():
        page = page.replace(f"@@{name}@@", text)
    return page


def titled(name: str, world: World) -> str:
    """Return a title of files, and of the place if it has a name."""
    return f"{name} · {world.name}" if world.name else name


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def write_page(path: Path, page: str) -> None:
    """Write a page that appears whole or not at all."""
    write_whole(path, lambda new: new.write_text(page, encoding="utf-8"))


def statement_data(statement: Statement | None) -> dict[str, Any] | None:
    """Return what a page shows of a statement: nothing in it tells about a person."""
    if statement is None:
        return None
    content = statement.model_dump(mode="json", by_alias=True)
    return {
        "words": statement.promise,
        "rehearsal": statement.rehearsal,
        "epsilon": statement.guarantee.epsilon,
        "unit": statement.guarantee.unit,
        "method": statement.method.name if statement.method else None,
        "made": statement.made,
        "questions": [{name: getattr(one, name) for name in SHOWN} for one in statement.questions],
        "unprotected": list(statement.unprotected),
        "not_promised": list(statement.not_promised),
        "json": json.dumps(content, indent=2, ensure_ascii=False),
    }
