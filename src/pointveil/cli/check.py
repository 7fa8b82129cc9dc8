"""pointveil check: what a release would use, and what looks wrong, at no cost."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.cli import common
from pointveil.cli.common import print_json, tell
from pointveil.cli.options import about_data, taking

if TYPE_CHECKING:
    from pointveil.checking import Checked

SIGNS = {"refused": "✗", "warning": "!", "note": "·"}


@taking(about_data)
def check(
    points: common.Points,
    world: common.WorldFile,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", help="Privacy budget that you intend to spend.")] = "1",
    quiet: common.Quiet = False,
    json: common.Json = False,
    **options: Any,
) -> None:
    """Say which columns a release would use and what looks wrong, before anything is charged.

    Looks at names, types, coordinate systems and your ledger, and at no record: it costs nothing. Exits with 0, or
    with 2 if a release would be refused.

    pointveil check trips.parquet --world porto.gpkg --person taxi_id
    """
    from pointveil.checking import check as look_at

    found = look_at(points, world, epsilon=epsilon, **options)
    if json:
        print_json(found.to_dict())
    else:
        _show(found, quiet=quiet)
    if not found.ok:
        raise typer.Exit(2)


def _show(found: "Checked", *, quiet: bool) -> None:
    """Print what would be used, then every finding, then what is left in the ledger."""
    if found.format is not None:
        names = ("x", "y") if len(found.columns) == 2 else ("geometry",)
        used = ", ".join(f"{name} = {column}" for name, column in zip(names, found.columns, strict=True))
        tell(f"  ✓ {found.format} with {used}, in {found.crs}", quiet=quiet)
        tell(f"  ✓ a world around {found.place}", quiet=quiet)
        tell(f"  ✓ protects {found.unit}", quiet=quiet)
        tell(f"  ✓ keeps {', '.join(found.kept)}", quiet=quiet or not found.kept)
    for finding in found.findings:
        tell(f"  {SIGNS[finding.level]} {finding.text}", quiet=quiet and finding.level == "note")
    if found.account is not None:
        left, cap = (f"{float(amount):g}" for amount in (found.account.left, found.account.cap))
        new = "" if found.account.charges else ": nothing was charged to it so far"
        tell(f"  · ledger: epsilon {left} of {cap} is left for '{found.dataset}'{new}", quiet=quiet)
    tell("No record was read, and nothing was charged.", quiet=quiet)
