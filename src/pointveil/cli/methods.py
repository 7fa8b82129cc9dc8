"""pointveil methods: the table of methods, and when to use which."""

from typing import Any

from pointveil.cli.common import Json, print_json, print_table


def methods(json: Json = False) -> None:
    """Show every method: how it splits epsilon, how many questions it asks, and when to use it."""
    from pointveil.methods import DEFAULT_METHOD, METHODS

    measured = read_measured()
    rows = [
        {
            "method": name,
            "split": method.split_texts(),
            "questions": len(method.purposes),
            "needs_roads": method.needs_roads,
            "default": name == DEFAULT_METHOD,
            "when": method.when,
            "measured_error": measured["errors"].get(name),
        }
        for name, method in METHODS.items()
    ]
    if json:
        print_json(rows)
        return
    shown = []
    for row, method in zip(rows, METHODS.values(), strict=True):
        split = ", ".join(f"{purpose} {float(part):.0%}" for purpose, part in method.shares().items())
        star = " (default)" if row["default"] else ""
        error = "" if row["measured_error"] is None else f"{row['measured_error']:.3f}"
        shown.append((f"{row['method']}{star}", split, str(row["questions"]), error, str(row["when"])))
    caption = f"error: {measured['what']}, measured at epsilon {measured['epsilon']} on {measured['city']}"
    print_table(("method", "epsilon goes to", "questions", "error", "when to use it"), shown, caption=caption)


def read_measured() -> dict[str, Any]:
    """Return how well each method did on the demo city, as scripts/measure_methods.py wrote it down."""
    import json
    from importlib.resources import files

    content: dict[str, Any] = json.loads((files("pointveil") / "measured.json").read_text(encoding="utf-8"))
    return content
