"""Put a template, its style, its script and its data into one file that needs nothing else."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from pointveil.files.whole import write_whole
from pointveil.statement import Statement

ASSETS = files("pointveil.evaluation.report") / "assets"
SCRIPTS = ("maps.js", "charts.js", "page.js")


def compose(title: str, banner: str, kind: str, data: dict[str, Any]) -> str:
    """Return a whole page.

    Parameters
    ----------
    title, banner
        Of the page; the banner stays in sight.
    kind
        "report" or "release": what the page is, for its style and script.
    data
        What the script draws, ready for JSON.
    """
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


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def write_page(path: Path, page: str) -> None:
    """Write a page that appears whole or not at all."""

    def write(new: Path) -> None:
        new.write_text(page, encoding="utf-8")

    write_whole(path, write)


def statement_data(statement: Statement | None) -> dict[str, Any] | None:
    """Return what a page shows of a statement: nothing in it tells about a person."""
    if statement is None:
        return None
    content = statement.model_dump(mode="json", by_alias=True)
    return {
        "words": statement.in_plain_words,
        "rehearsal": statement.rehearsal,
        "epsilon": statement.guarantee.epsilon,
        "unit": statement.guarantee.unit,
        "method": statement.method.name if statement.method else None,
        "made": statement.made,
        "questions": [
            {"purpose": one.purpose, "question": one.question, "cells": one.cells, "epsilon": one.epsilon}
            for one in statement.questions
        ],
        "unprotected": list(statement.unprotected),
        "not_promised": list(statement.not_promised),
        "json": json.dumps(content, indent=2, ensure_ascii=False),
    }
