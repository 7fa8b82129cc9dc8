"""What several commands share: options, progress, and how results are told."""

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.errors import InputError, PointveilWarning, shown

if TYPE_CHECKING:
    from pointveil.synthetic import SyntheticPoints

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
WorldFile = Annotated[
    Path, typer.Option("--world", "-w", help="File with the public world, made by 'pointveil world'.")
]
Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon", "-e", help="Privacy budget of this release, such as 1, 0.5 or 1/3; smaller is more private."
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", help="Names of the columns with x (longitude) and y (latitude): LON,LAT.")
]
Crs = Annotated[
    str | None,
    typer.Option("--crs", help="Coordinate system of the points, if the file does not say (default: EPSG:4326)."),
]
Method = Annotated[
    str | None,
    typer.Option("--method", "-m", help="Method that makes the points (default: veil); see 'pointveil methods'."),
]
Person = Annotated[
    str | None, typer.Option("--person", help="Column with the person's id; protects people instead of single points.")
]
MaxPoints = Annotated[
    int | None, typer.Option("--max-points", help="Use at most this many points per person (default: 8).")
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="Share of epsilon for each purpose, such as shape=0.3,count=0.7 for agrid-uni; see 'pointveil methods'.",
    ),
]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="Ledger file (default: the one in your data directory).")
]
Dataset = Annotated[
    str | None, typer.Option("--dataset", help="Name of the dataset in the ledger (default: the file's name).")
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="File of the private key that signs (default: the one in your data directory, if any)."),
]
Noise = Annotated[
    str | None,
    typer.Option("--noise", help="Noise sampler: 'exact' (default: our own) or 'opendp' (needs that extra)."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
Request = Annotated[
    str | None,
    typer.Option("--request", help="A name for this request: repeated, it gives the same release and is charged once."),
]
Count = Annotated[int | None, typer.Option("--count", help="Number of points to draw (default: the noisy total).")]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed for drawing; the same seed gives the same points (default: random).")
]


@contextmanager
def stage(text: str, *, quiet: bool) -> Iterator[None]:
    """Print warnings as lines and, on a terminal, show what is going on and for how long; nothing about the data."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PointveilWarning)
        warnings.showwarning = _tell_warning
        if quiet or not sys.stderr.isatty():
            with told_when_stopped():
                yield
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(text, total=None)
            log, steps = logging.getLogger("pointveil"), logging.Handler()
            steps.emit = lambda record: progress.update(task, description=record.getMessage())  # type: ignore[method-assign]
            log.setLevel(logging.INFO)
            log.addHandler(steps)
            try:
                with told_when_stopped():
                    yield
            finally:
                log.removeHandler(steps)


@contextmanager
def told_when_stopped() -> Iterator[None]:
    """Say what was charged when somebody stops the command from the keyboard."""
    try:
        yield
    except KeyboardInterrupt as stop:
        tell(" ".join(getattr(stop, "__notes__", ())))
        raise


def _tell_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, PointveilWarning):  # the text of any other may quote a real point, so it is not shown
        tell(f"Warning: {message}")


def tell(text: str, *, quiet: bool = False) -> None:
    """Print a line for people, on the error stream so that results stay clean."""
    if not quiet:
        print(shown(text), file=sys.stderr)


def print_json(content: Any) -> None:
    """Print a result for machines."""
    print(shown(json.dumps(content, indent=2, ensure_ascii=False)))


def parse_columns(text: str | None) -> tuple[str, str] | None:
    """Return the two names in "LON,LAT"."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError(f"--columns needs two names separated by a comma, such as LON,LAT, not '{text}'.")
    return names[0], names[1]


def parse_bounds(text: str) -> tuple[float, float, float, float]:
    """Return the four numbers in "W,S,E,N"."""
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--bounds needs four numbers, west,south,east,north, not '{text}'.") from None
    return west, south, east, north


def parse_split(text: str | None) -> dict[str, str] | None:
    """Return the parts in "count=0.6,place=0.4"."""
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    if not all(equals for _, equals, _ in parts):
        raise InputError(f"--split needs parts such as count=0.6,place=0.4, not '{text}'.")
    return {purpose.strip(): value.strip() for purpose, _, value in parts}


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: the library has the defaults."""
    return {name: value for name, value in options.items() if value is not None}


def tell_points(synthetic: "SyntheticPoints", output: Path, *, quiet: bool, json: bool) -> None:
    """Say what was written."""
    if json:
        statement = synthetic.statement.model_dump(mode="json", by_alias=True)
        print_json({"output": str(output), "rows": len(synthetic), "statement": statement})
        return
    tell(f"Wrote {len(synthetic):,} synthetic points to {output}, and the statement beside it.", quiet=quiet)
    tell(str(synthetic.statement), quiet=quiet)


def open_world(path: Path) -> Any:
    """Read the public world."""
    from pointveil.world import World

    return World.read(path)
