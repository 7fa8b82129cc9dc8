"""pointveil evaluate: how good synthetic points are, for the owner's eyes only."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointveil.cli.common import Columns, Crs, Json, Quiet, WorldFile, open_world, parse_columns, stage, tell

if TYPE_CHECKING:
    from pointveil.evaluation import Evaluation
    from pointveil.evaluation.inputs import Pair

LEVELS = {"good": "[green]●[/]", "fair": "[yellow]●[/]", "poor": "[red]●[/]", "none": "[dim]○[/]"}


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    real: Annotated[Path, typer.Argument(help="The private points.")],
    synthetic: Annotated[Path, typer.Argument(help="The synthetic points.")],
    world: WorldFile,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page with maps, for your eyes only: it has real points.")
    ] = None,
    release_report: Annotated[
        Path | None,
        typer.Option("--release-report", help="Write a page to share with the release: nothing of the real points."),
    ] = None,
    columns: Columns = None,
    crs: Crs = None,
    seed: Annotated[int, typer.Option("--seed", help="Chooses grid shifts, crossings and samples.")] = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare synthetic points with the real ones by every measure: for the owner's eyes only.

    No noise protects these numbers. Do not share them, and do not choose a method or an epsilon by them on the data to
    be released. --columns and --crs are about the private file.

    pointveil evaluate trips.parquet synthetic.parquet --world porto.gpkg --report report.html
    """
    from pointveil.evaluation.inputs import read_both
    from pointveil.evaluation.release_report import write_release_report
    from pointveil.evaluation.report import write_report
    from pointveil.releases import check_output

    for output in (report, release_report):
        if output is not None:
            check_output(output, source=real, world=world)
            check_output(output, source=synthetic)
    with stage("Reading the points", quiet=quiet or json):
        pair = read_both(real, synthetic, open_world(world), columns=parse_columns(columns), crs=crs)
    if release_report is not None:
        with stage("Writing the page for the release", quiet=quiet or json):
            write_release_report(release_report, pair.synthetic, pair.world, pair.statement)
        tell(f"Wrote {release_report}: it may go with the release.", quiet=quiet or json)
    with stage("Measuring", quiet=quiet or json):
        result = pair.evaluate(seed=seed)
    for warning in pair.warnings(result):
        tell(f"Warning: {warning}")
    if report is not None:
        with stage("Writing the report", quiet=quiet or json):
            write_report(report, pair, result)
        tell(f"Wrote {report}: it CONTAINS REAL POINTS, do not share it.", quiet=quiet or json)
    if json:
        print(result.to_json())
        return
    if not quiet:
        _show(pair, result)


def _show(pair: "Pair", result: "Evaluation") -> None:
    """Print the answers at a glance, then every number with how to read it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from pointveil.evaluation.readings import lines
    from pointveil.evaluation.report import glance

    console = Console()
    console.print(f"[bold red]{result.banner.upper()}[/] (numbers about real people, without noise)")
    left_out = f" ({result.real_left_out:,} more are not on land)" if result.real_left_out else ""
    console.print(f"{result.real_points:,} real points{left_out}, {result.synthetic_points:,} synthetic ones\n")
    table = Table.grid(padding=(0, 1))
    for card in glance(pair, result):
        table.add_row(LEVELS[card.level], card.question, f"[bold]{escape(card.answer)}[/]", escape(card.sentence))
    console.print(table)
    table = Table("measure", "value", "best", "how to read it")
    for line in lines(result):
        values = "\n".join(f"{size}: {value}" if size else value for size, value in line.values)
        table.add_row(line.name, values or "–", line.best, escape(line.reading))
    console.print(table)
