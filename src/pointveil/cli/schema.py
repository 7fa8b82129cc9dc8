"""pointveil schema: start a file that declares the columns to keep."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Force, Json, Points, Quiet, print_json, tell


def schema(
    points: Points,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="TOML file to write (default: print it).")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Start a TOML file for --keep-file from the names and types of the columns; no record is looked at.

    Periods, lists and bounds are left blank: they are public, so only you can choose them. In CSV all columns are text,
    and the properties of GeoJSON cannot be listed, because they stand inside the records.

    pointveil schema trips.parquet --output keep.toml
    """
    from pointveil.errors import shown
    from pointveil.files.places import local_path, refuse_within
    from pointveil.files.whole import check_target, refuse_existing, refuse_same
    from pointveil.reading import read_schema

    found = read_schema(points)
    if output is not None:
        refuse_same(check_target(output), {"the private file itself": local_path(points)})
        refuse_within(output, points)
        refuse_existing(output, force=force)
        output.write_text(found["toml"], encoding="utf-8", newline="\n")
    if json:
        print_json(found)
    elif output is None:
        print(shown(found["toml"]), end="")
    else:
        tell(f"Wrote {output}. Fill in what is blank, and give it to synthesize or survey as --keep-file.", quiet=quiet)
