"""The options that several commands take, each said once: a group is a function of them, in the library's words."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from pointveil.cli.common import (
    Columns,
    Crs,
    KeyFile,
    LedgerFile,
    Threads,
    given,
    given_threads,
    parse_columns,
    parse_keeps,
    parse_split,
)

Group = Callable[..., dict[str, Any]]


def taking(*groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, in place of its last parameter `**options`, all that these groups take; a decorator."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [each for each in inspect.signature(command).parameters.values() if each.kind is not each.VAR_KEYWORD]
        theirs = [inspect.signature(group).parameters for group in groups]

        @wraps(command)
        def run(**values: Any) -> None:
            options: dict[str, Any] = {}
            for group, names in zip(groups, theirs, strict=True):
                options |= group(**{name: values.pop(name) for name in names})
            command(**values, **options)

        listed = [*own, *(each for parameters in theirs for each in parameters.values())]
        # What must be given comes first, and --force, --quiet and --json last.
        last = ("force", "quiet", "json")
        listed.sort(
            key=lambda each: (each.default is not each.empty, last.index(each.name) + 1 if each.name in last else 0)
        )
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [each.replace(kind=each.KEYWORD_ONLY) for each in listed]
        )
        return run

    return decorate


def about_data(
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="Method that makes the points (default: veil); see 'pointveil methods'."),
    ] = None,
    person: Annotated[
        str | None,
        typer.Option("--person", help="Column with the person's id; protects people instead of single points."),
    ] = None,
    max_points: Annotated[
        str | None,
        typer.Option(
            "--max-points",
            help="Let a person count as at most this many points (default: auto, from noisy numbers of points).",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", help="'point' confirms that single points are protected, whosever they are."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            help="Column to keep, as 'ts=time:2014-04-01/2014-07-01', 'kind=category:bus,tram', 'fare=number:0..100' "
            "or 'user=id'; may be repeated. What is written here is public: never take it from the data.",
        ),
    ] = None,
    keep_file: Annotated[
        Path | None,
        typer.Option("--keep-file", help="TOML file that declares the columns to keep; 'pointveil schema' starts one."),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            "--prior",
            help="What is already public about where people are, to guide veil: an earlier release or survey, or a "
            "file of public points. Never private points that were not paid for.",
        ),
    ] = None,
    columns: Columns = None,
    crs: Crs = None,
    ledger: LedgerFile = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="Name of the dataset in the ledger (default: the file's name).")
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option(
            "--cap", help="The most that may ever be spent on this dataset (default: 3); at its first release."
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Share of epsilon for each purpose, such as shape=0.3,count=0.7 for agrid-uni; see 'pointveil "
            "methods'.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option("--noise", help="Noise sampler: 'exact' (default: our own) or 'opendp' (needs that extra)."),
    ] = None,
) -> dict[str, Any]:
    """Return what is said about the private file, and where it is accounted for."""
    return given(
        method=method, person=person, max_points=max_points, unit=unit, columns=parse_columns(columns), crs=crs,
        keep=parse_keeps(keep, keep_file), ledger=ledger, dataset=dataset, cap=cap, split=parse_split(split),
        noise=noise, prior=prior,
    )  # fmt: skip


def about_release(
    request: Annotated[
        str | None,
        typer.Option(
            "--request", help="A name for this request: repeated, it gives the same release and is charged once."
        ),
    ] = None,
    small: Annotated[
        bool,
        typer.Option(
            "--small", help="Go on even if the noisy total is hardly more than noise; otherwise that stops the release."
        ),
    ] = False,
    owner: Annotated[str | None, typer.Option("--owner", help="Who answers for the release; recorded.")] = None,
    purpose: Annotated[str | None, typer.Option("--purpose", help="What the release is for; recorded.")] = None,
    period: Annotated[
        str | None,
        typer.Option("--period", help="Period the data are about, such as 2026-03-01/2026-03-31; recorded."),
    ] = None,
    note: Annotated[str | None, typer.Option("--note", help="Anything else to be recorded with the release.")] = None,
    key: KeyFile = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            help="What reads the file: 'local' (default) or 'spark' (needs that extra), which also draws the parts of "
            "a folder.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", help="Master of the Spark cluster, such as 'local[4]' or spark://host:7077."),
    ] = None,
    threads: Threads = None,
) -> dict[str, Any]:
    """Return what is said about a release that is charged."""
    return given(
        request=request, key=key, small=small or None, owner=owner, purpose=purpose, period=period, note=note,
        engine=engine, master=master,
        threads=given_threads(threads),
    )  # fmt: skip


def dataset_name(points: str, options: dict[str, Any]) -> str:
    """Return under which name a release of these points is charged."""
    from pointveil.files.places import public_name

    return str(options.get("dataset") or public_name(points))


def ask_cap(points: str, options: dict[str, Any]) -> None:
    """Ask for the cap, on a terminal, if a dataset is charged for the first time; nobody else is ever asked."""
    if "cap" in options or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from pointveil.ledger import DEFAULT_CAP, Ledger

    name = dataset_name(points, options)
    if Ledger(**given(path=options.get("ledger"))).find(name) is None:
        question = f"This is the first release of '{name}'. How much epsilon may ever be spent on it?"
        options["cap"] = typer.prompt(question, default=str(DEFAULT_CAP), err=True)
