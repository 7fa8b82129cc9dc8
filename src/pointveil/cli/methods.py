"""pointveil methods: the table of methods, and when to use which."""

import typer

from pointveil.cli.common import Json, print_json


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(methods)


def methods(json: Json = False) -> None:
    """Show every method with its split of epsilon, its cost in questions, and when to use it."""
    from pointveil.methods import DEFAULT_METHOD, METHODS

    rows = [
        {
            "method": name,
            "split": {purpose: str(part) for purpose, part in method.shares().items()},
            "questions": len(method.purposes),
            "needs_roads": method.partitioner.needs_roads,
            "default": name == DEFAULT_METHOD,
            "when": method.when,
        }
        for name, method in METHODS.items()
    ]
    if json:
        print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("method", "epsilon goes to", "questions", "when to use it")
    for row in rows:
        split = ", ".join(
            f"{purpose} {float(METHODS[str(row['method'])].shares()[purpose]):.0%}"
            for purpose in METHODS[str(row["method"])].purposes
        )
        star = " (default)" if row["default"] else ""
        table.add_row(f"{row['method']}{star}", split, str(row["questions"]), str(row["when"]))
    Console().print(table)
