"""Write docs/cli.md from the commands themselves."""

import inspect
from pathlib import Path
from typing import Any

import typer

from pointveil.cli import app

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

This page is made from the commands themselves by `scripts/make_cli_docs.py`; a test checks that it is fresh.

Exit codes: 0 done, 2 bad input or usage, 3 over budget, 4 not verified, 1 a fault in Pointveil. Results go to standard
output, words for people to standard error. An unforeseen fault shows no text of its own, because that might quote a
real point; `POINTVEIL_DEBUG=1` shows it to you.
"""


def page() -> str:
    """Return the whole page."""
    root: Any = typer.main.get_command(app)
    return "\n".join([HEAD, *(_section(("pointveil", name), command) for name, command in root.commands.items())])


def _section(path: tuple[str, ...], command: Any) -> str:
    if hasattr(command, "commands"):
        inner = [_section((*path, name), part) for name, part in command.commands.items()]
        return "\n".join([f"## {' '.join(path)}\n\n{command.help}\n", *inner])
    words = [*path, *(_usage(param) for param in command.params if param.param_type_name == "argument")]
    text = inspect.cleandoc(command.help or "")
    rows = [_row(param) for param in command.params]
    table = "\n".join(["| | |", "| --- | --- |", *rows]) if rows else ""
    return f"## {' '.join(path)}\n\n```console\n$ {' '.join(words)}\n```\n\n{text}\n\n{table}\n"


def _usage(param: Any) -> str:
    name = param.name.upper()
    return name if param.required else f"[{name}]"


def _row(param: Any) -> str:
    name = param.name.upper() if param.param_type_name == "argument" else ", ".join(param.opts)
    needed = " Required." if param.required and param.param_type_name != "argument" else ""
    return f"| `{name}` | {(getattr(param, 'help', '') or '').replace('|', '/')}{needed} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
