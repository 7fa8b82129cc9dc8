"""pointveil evaluate: how good synthetic points are, for the owner's eyes only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointveil.cli.common import (
    Columns,
    Crs,
    Force,
    Json,
    Points,
    Quiet,
    WorldFile,
    open_world,
    parse_columns,
    stage,
    tell,
)
from pointveil.errors import InputError

if TYPE_CHECKING:
    from pointveil.evaluation import Evaluation
    from pointveil.evaluation.results import Progress

LEVELS = {"good": "[green]●[/]", "fair": "[yellow]●[/]", "poor": "[red]●[/]", "none": "[dim]○[/]"}


def evaluate(
    real: Points,
    synthetic: Annotated[str, typer.Argument(help="Synthetic file or folder of points, or its address.")],
    world: WorldFile,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page with maps, for your eyes only: it contains real points."),
    ] = None,
    release_report: Annotated[
        Path | None,
        typer.Option(
            "--release-report", help="Write a page to share with the release; it shows nothing of the real points."
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population", help="File with all the points that the real ones are a sample of, if you have it."
        ),
    ] = None,
    columns: Columns = None,
    crs: Crs = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed for grid shifts, crossings and samples.")] = 0,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare synthetic points with the real ones by every measure, for the owner's eyes only.

    No noise protects these figures. Do not share them, and do not use them to choose a method or an epsilon for the
    same data. --columns and --crs describe the private file.

    pointveil evaluate trips.parquet synthetic.parquet --world porto.gpkg --report report.html
    """
    from pointveil.evaluation import evaluate as compare_by_every_measure
    from pointveil.evaluation.points import form, kept_columns, read_points, stated
    from pointveil.evaluation.report.release import write_release_report
    from pointveil.files.whole import refuse_existing
    from pointveil.orders import check_output

    silent = quiet or json
    for output in (report, release_report):
        if output is not None:
            check_output(output, source=real, world=world)
            check_output(output, source=synthetic)
            refuse_existing(output, force=force)
            if output.suffix.lower() not in {".html", ".htm"}:
                raise InputError(f"A report is a page for a browser: name it .html, not {output.name}.")
    place = open_world(world)
    if release_report is not None:
        with stage("Writing the page for the release", quiet=silent):
            about = stated(synthetic)
            points = read_points(synthetic, place, **form(about), keep=kept_columns(about))
            write_release_report(release_report, points, place, about)
        tell(f"Wrote {release_report}: you may share it with the release.", quiet=silent)
    with _measuring(quiet=silent) as progress:
        result = compare_by_every_measure(
            real, synthetic, place, columns=parse_columns(columns), crs=crs, seed=seed, population=population,
            progress=progress,
        )  # fmt: skip
    for warning in result.warnings():
        tell(f"Warning: {warning}")
    if report is not None:
        with stage("Writing the report", quiet=silent):
            result.report(report, force=force)
        tell(f"Wrote {report}: it CONTAINS REAL POINTS; do not share it.", quiet=silent)
    if json:
        print(result.to_json())
    elif not quiet:
        _show(result)


@contextmanager
def _measuring(*, quiet: bool) -> Iterator["Progress | None"]:
    """Show on a terminal which measure is being worked out, and how many are done; nothing about the data."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Reading the points", total=None)
        yield lambda done, total, title: bar.update(
            task, completed=done, total=total, description=f"Measuring: {title}"
        )


def _show(result: "Evaluation") -> None:
    """Print the answers at a glance, then every number with how to read it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from pointveil.evaluation.report.readings import cards
    from pointveil.evaluation.results import lines

    console = Console()
    console.print(f"[bold red]{result.banner.upper()}[/] (numbers about real people, without noise)")
    left_out = f" ({result.real_left_out:,} more are not on land)" if result.real_left_out else ""
    console.print(f"{result.real_points:,} real points{left_out}, {result.synthetic_points:,} synthetic ones\n")
    table = Table.grid(padding=(0, 1))
    for card in cards(result):
        table.add_row(LEVELS[card.level], card.question, f"[bold]{escape(card.answer)}[/]", escape(card.sentence))
    console.print(table)
    table = Table("measure", "value", "best", "how to read it")
    for line in lines(result):
        values = "\n".join(f"{size}: {value}" if size else value for size, value in line.values)
        table.add_row(line.name, values or "–", line.best, escape(line.reading))
    console.print(table)
