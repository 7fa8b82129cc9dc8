"""pointveil plan: how good a release would be, before any data are touched."""

from typing import TYPE_CHECKING, Annotated

import typer

from pointveil.cli.common import Json, Quiet, WorldFile, given, parse_keeps, print_json, print_table, stage

if TYPE_CHECKING:
    from pointveil.planning import Plan

BAR = 20  # signs for a release that is worth a whole real sample


def plan(
    world: WorldFile,
    points_about: Annotated[
        int | None, typer.Option("--points-about", help="About how many points the file has; a guess will do.")
    ] = None,
    persons: Annotated[
        int | None, typer.Option("--persons", help="About how many persons are in it, to protect people.")
    ] = None,
    per_person: Annotated[
        int | None, typer.Option("--per-person", help="About how many points a person has; with --persons.")
    ] = None,
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="What to try, separated by commas.")
    ] = "1/4,1/2,1,2,4",
    max_points: Annotated[
        str | None,
        typer.Option("--max-points", help="Points used of one person to try, separated by commas (default: 1,2,4,…)."),
    ] = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help="Method (default: veil).")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Column to keep, as for 'synthesize': what it costs is taken off."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Foretell the error of a release by epsilon, from a crowd that is invented in your own world.

    No data are touched, and nothing is charged: do this before you decide on epsilon, and never decide by looking at
    the private points. "Worth" is the size of a real sample of the same people that would be as good in squares of
    100 m, per point of the file.

    pointveil plan --world porto.gpkg --points-about 50000
    """
    from pointveil.errors import InputError
    from pointveil.planning import plan as foretell

    try:
        limits = None if max_points is None else [int(part) for part in max_points.split(",")]
    except ValueError:
        raise InputError(f"--max-points needs whole numbers separated by commas, not '{max_points}'.") from None
    options = given(
        points=points_about, persons=persons, per_person=per_person, max_points=limits, method=method,
        keep=parse_keeps(keep, None),
    )  # fmt: skip
    with stage("Inventing a crowd", quiet=quiet or json):
        found = foretell(world, epsilons=epsilon.split(","), **options)
    if json:
        print_json(found.to_dict())
    elif quiet:
        print(found.recommendation)
    else:
        _show(found)


def _show(found: "Plan") -> None:
    """Print a table with a chart of what each release is worth, then the recommendation."""
    by_person = any(forecast.max_points is not None for forecast in found.forecasts)
    columns = ("a count within 500 m", "off by", "in the right 100 m square", "worth a real sample of its size", "")
    rows = []
    for each in found.forecasts:
        bar = "█" * round(BAR * each.worth)
        told = "would probably stop: hardly more than noise" if each.stops else bar
        numbers = f"{each.count:,}", f"{each.count_error:,.0f}", f"{each.right_square:.0%}", f"{each.worth:.0%}"
        rows.append((each.epsilon, *[str(each.max_points)] * by_person, *numbers, told))
    print_table(("epsilon", *["points of a person"] * by_person, *columns), rows)
    print(found.recommendation)
    print(found.caveat)
