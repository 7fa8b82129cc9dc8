"""pointveil demo: the whole thing on a built-in city."""

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo() -> None:
    """Synthesize a built-in city with every method, offline, in seconds."""
