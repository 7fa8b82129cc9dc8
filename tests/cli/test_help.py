"""Every command explains itself."""

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pointveil.cli import app


def paths(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [path, *(found for name, part in inner.items() for found in paths(part, (*path, name)))]


@pytest.mark.parametrize("path", paths(typer.main.get_command(app)), ids=lambda path: " ".join(path) or "pointveil")
def test_help_is_shown(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "--help"])

    assert shown.exit_code == 0, shown.exception
    assert "--help" in shown.output
