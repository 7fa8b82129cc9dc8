"""pointveil experiment: run plans, and make one table of their results."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Quiet, tell
from pointveil.errors import InputError


def experiment(
    plans: Annotated[list[Path], typer.Argument(help="Plans (TOML files).")],
    out: Annotated[Path, typer.Argument(help="Folder for the results; existing results are kept.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder with the cities (default: the environment variable POINTVEIL_DATA)."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Number of processes (default: all cores).")] = None,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures (needs matplotlib).")] = True,
    quiet: Quiet = False,
) -> None:
    """Run experiments on cities with real points, and collect the results in one tidy table.

    No noise protects the results: keep them to yourself, or use public data. You can stop at any time; the next start
    continues where this one stopped.

    pointveil experiment experiments/quick.toml results/
    """
    from pointveil.lab.experiments import Plan, work_through
    from pointveil.lab.experiments.cities import find_data
    from pointveil.lab.experiments.tables import gather, write_table

    if workers is not None and workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}.")
    if out.is_file():
        raise InputError(f"{out} is a file; give a folder for the results.")
    read = [Plan.read(path) for path in plans]
    folder = find_data(data)
    out.mkdir(parents=True, exist_ok=True)
    with _progress(quiet=quiet) as told:
        failures = work_through(read, out, data=folder, workers=workers or os.cpu_count() or 1, tell=told)
    table = gather(read, out)
    write_table(table, out / "results.parquet")
    tell(f"Wrote {len(table):,} numbers to {out / 'results.parquet'}. They are not private.", quiet=quiet)
    if figures:
        _draw(table, out, quiet=quiet)
    if failures:
        shown = "\n  ".join(failures[:5])
        raise InputError(
            f"{len(failures)} runs failed; the others are kept. The next start runs only these:\n  {shown}"
        )


def _draw(table: object, out: Path, *, quiet: bool) -> None:
    from pointveil.errors import MissingExtraError
    from pointveil.lab.experiments.figures import draw_all
    from pointveil.lab.experiments.tables import Results

    try:
        written = draw_all(Results(table), out / "figures")
    except MissingExtraError as missing:
        tell(f"No figures: {missing}", quiet=quiet)
        return
    if written:
        tell(f"Drew {', '.join(path.name for path in written)} in {out / 'figures'}.", quiet=quiet)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show how many runs are done and how long the rest will take."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, of: _say(done, of, quiet=quiet)
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    # By default it shows a bar and the time that is left.
    with Progress(*Progress.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("Runs", total=None)
        began: list[int] = []

        def show(done: int, of: int) -> None:
            if not began:  # what was there before must not make us look fast
                began.append(done)
            progress.update(task, completed=done - began[0], total=of - began[0])

        yield show


def _say(done: int, of: int, *, quiet: bool) -> None:
    """Say now and then how far it is, where there is no terminal."""
    if done in {0, of} or done % max(1, of // 10) == 0:
        tell(f"{done} of {of} runs are done.", quiet=quiet)
