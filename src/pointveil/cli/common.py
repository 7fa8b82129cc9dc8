"""What several commands share: options, progress, and how results are told."""

import json
import logging
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.errors import InputError, PointveilWarning, shown
from pointveil.files.places import without_secrets

if TYPE_CHECKING:
    from pointveil.statement import Statement
    from pointveil.synthetic import SyntheticPoints

Points = Annotated[
    str,
    typer.Argument(
        help="Private file of points; or a folder, a pattern such as 'trips/*.parquet', or an address "
        "(file://, s3://, gs://, postgresql://…?table=NAME)."
    ),
]
Output = Annotated[
    str, typer.Argument(help="Synthetic file to write; without a suffix, a folder of parts; or an address.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only warnings and errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
WorldFile = Annotated[
    Path, typer.Option("--world", "-w", help="File with the public world, made by 'pointveil world'.")
]
Columns = Annotated[
    str | None, typer.Option("--columns", help="Names of the columns with x (longitude) and y (latitude): LON,LAT.")
]
Crs = Annotated[
    str | None,
    typer.Option("--crs", help="Coordinate system of the points, if the file does not say (default: EPSG:4326)."),
]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="Ledger file (default: the one in your data directory).")
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="File of the private key that signs (default: the one in your data directory, if any)."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
Epsilon = Annotated[
    str,
    typer.Option(
        "--epsilon", "-e", help="Privacy budget of this release, such as 1, 0.5 or 1/3; smaller is more private."
    ),
]
Count = Annotated[
    int | None,
    typer.Option("--count", help="Number of points to draw (default: the noisy total). Never type the true number."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Seed for drawing; the same seed gives the same points (default: random).")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", help="How many threads to work with (default: all processors); the result is the same."),
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


def print_table(
    columns: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None, caption: str | None = None
) -> None:
    """Print a table for people; what is in it is shown as it is, for a bracket is no markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=title, caption=caption)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


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


def parse_keeps(texts: list[str] | None, file: Path | None) -> list[Any] | None:
    """Return the columns that are declared by options and in a file."""
    from pointveil.columns import parse_keep, read_keep_file

    declared = [*([] if file is None else read_keep_file(file)), *map(parse_keep, texts or ())]
    return declared or None


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: the library has the defaults."""
    return {name: value for name, value in options.items() if value is not None}


def given_threads(threads: int | None) -> int | None:
    """Return how many threads were asked for; Arrow, which reads files, takes no more either."""
    if threads is not None and threads > 0:
        import pyarrow as pa

        pa.set_cpu_count(threads)
    return threads


def tell_points(synthetic: "SyntheticPoints", output: str, *, quiet: bool, as_json: bool) -> None:
    """Say what was written."""
    output = without_secrets(output)
    if as_json:
        print_json({"output": output, "rows": len(synthetic), "statement": json_of(synthetic.statement)})
        return
    tell(f"Wrote {len(synthetic):,} synthetic points to {output}, and the statement beside it.", quiet=quiet)
    tell(str(synthetic.statement), quiet=quiet)


def json_of(statement: "Statement") -> Any:
    """Return a statement as it stands in its file."""
    return json.loads(statement.to_json())


def tell_charge(statement: "Statement", dataset: str, ledger: Path | None, *, quiet: bool) -> None:
    """Say what was spent under this name so far, and what is left: a balance of the content would tell of the data."""
    if statement.ledger is None:
        return
    from fractions import Fraction

    from pointveil.ledger import Ledger

    spent, left = Fraction(statement.ledger.spent_after), ""
    with suppress(InputError):  # the release is made: that the ledger cannot be read now takes nothing from it
        cap = Ledger(**given(path=ledger)).named_cap(dataset)
        left = f"; {float(max(cap - spent, Fraction(0))):g} of {float(cap):g} is left"
    tell(f"Spent under the name '{dataset}' so far: epsilon {float(spent):g}{left}.", quiet=quiet)


def open_world(path: Path) -> Any:
    """Read the public world."""
    from pointveil.world import World

    return World.read(path)
