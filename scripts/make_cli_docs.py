"""Write docs/cli.md from the commands themselves."""

import inspect
from pathlib import Path
from typing import Any

import typer

from pointveil.cli import app

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"
HEAD = """# Command line

This page is generated from the commands by `scripts/make_cli_docs.py`; a test checks that it is up to date.

Exit codes: 0 done, 2 bad input or usage, or a disk that fails, 3 over budget, 4 not verified, 5 stopped early because
the noisy total is hardly more than noise (one per cent was charged, nothing written), 1 a bug in Pointveil, or too
little memory. Results go to standard output, messages to standard error. For a bug, Pointveil prints only the kind of
error, because its text might quote a real point; `POINTVEIL_DEBUG=1` shows all of it.
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
    text = f"{(getattr(param, 'help', '') or '').replace('|', '/')}{needed}"
    if param.default is not None and not isinstance(param.default, bool):
        text = f"{text.removesuffix('.')} (default: {param.default})."
    return f"| `{name}` | {text} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
