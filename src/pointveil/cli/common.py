"""What several commands share: options, progress, and how results are told."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.errors import InputError

if TYPE_CHECKING:
    from pointveil.methods import Method

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing unless something is wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
WorldFile = Annotated[Path, typer.Option("--world", "-w", help="The public world, made by 'pointveil world'.")]
Epsilon = Annotated[str, typer.Option("--epsilon", "-e", help="What may be spent, such as 1, 0.5 or 1/3.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Names of the x (longitude) and y (latitude) columns: LON,LAT."),
]
Crs = Annotated[
    str | None,
    typer.Option("--crs", help="The points' coordinate system, if the file does not say (else EPSG:4326)."),
]
Person = Annotated[str | None, typer.Option("--person", help="The column that says whose point it is.")]
MaxPoints = Annotated[
    int | None, typer.Option("--max-points", help="How many points of one person are used (8 unless said).")
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="Parts of epsilon by purpose, such as shape=0.3,count=0.7 for agrid-uni; see 'pointveil methods'.",
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger's file, instead of the one in your data directory."),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="The dataset's name in the ledger, instead of the file's name."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key", help="The private key that signs, instead of the one in your data directory, if any."),
]
Noise = Annotated[str, typer.Option("--noise", help="'exact' (our own sampler) or 'opendp' (needs that extra).")]


@contextmanager
def stage(text: str, *, quiet: bool) -> Iterator[None]:
    """Show what is going on, and for how long, on a terminal; says nothing about the data."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


def tell(text: str, *, quiet: bool = False) -> None:
    """Print a line for people, on the error stream so that results stay clean."""
    if not quiet:
        print(text, file=sys.stderr)


def print_json(content: Any) -> None:
    """Print a result for machines."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def parse_columns(text: str | None) -> tuple[str, str] | None:
    """Return the two names in "LON,LAT"."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise InputError(f"--columns wants two names with a comma between them, such as LON,LAT, not '{text}'.")
    return names[0], names[1]


def parse_bounds(text: str) -> tuple[float, float, float, float]:
    """Return the four numbers in "W,S,E,N"."""
    try:
        west, south, east, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"--bounds wants four numbers, west,south,east,north, not '{text}'.") from None
    return west, south, east, north


def parse_method(name: str, split: str | None) -> "Method":
    """Return the method with this name and split."""
    from pointveil.methods import find_method

    method = find_method(name)
    if split is None:
        return method
    parts = {}
    for part in split.split(","):
        purpose, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"--split wants parts such as count=0.6,place=0.4, not '{split}'.")
        parts[purpose.strip()] = value.strip()
    return method.with_split(parts)


def open_world(path: Path) -> Any:
    """Read the public world."""
    from pointveil.world import World

    return World.read(path)


def open_key(path: Path | None) -> Any:
    """Return the key that signs: the one that was named, else the user's own, else none."""
    from pointveil.statement import SigningKey, default_key_path

    own = path or default_key_path()
    return SigningKey.read(own) if path is not None or own.is_file() else None


def check_person(person: str | None, max_points: int | None) -> int:
    """Return how many points of one person are used."""
    if person is None and max_points is not None:
        raise InputError("--max-points needs --person: whose points should be counted?")
    if max_points is not None and max_points < 1:
        raise InputError(f"--max-points must be at least 1, not {max_points}.")
    return 8 if max_points is None else max_points
