"""pointveil table: counts with margins from a survey or a release, at no cost."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Force, Json, Quiet, print_json, stage, tell


def table(
    survey: Annotated[Path, typer.Argument(help="Survey to count from, or a release with its statement.")],
    output: Annotated[Path, typer.Argument(help="Table to write: .csv, .geojson, .gpkg or .parquet.")],
    by: Annotated[
        str, typer.Option("--by", help="Areas: h3:9 for cells of H3 (needs that extra), or a file of polygons.")
    ],
    time: Annotated[
        str | None, typer.Option("--time", help="Kept column with a time; counts each of its bins.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Count people area by area, with margins, from a survey or a release; as often as you like, at no cost.

    Each row has the columns of its area, and count, margin, low and high: nine in ten intervals hold the count of the
    real file. Areas outside of the world have no margin.

    pointveil table porto.survey hexagons.gpkg --by h3:9
    """
    from pointveil.counting import why_none
    from pointveil.tabling import opened
    from pointveil.tabling import table as count

    with stage("Counting", quiet=quiet or json):
        counted = count(survey, output, by=by, time=time, force=force)
    known = counted["margin"].null_count < len(counted)
    if json:
        names = counted.column_names
        print_json({"output": str(output), "rows": len(counted), "columns": names, "margins": known})
    else:
        why = "" if known else f", with {why_none(opened(survey).statement)}"
        rows = "1 count" if len(counted) == 1 else f"{len(counted):,} counts"
        tell(f"Wrote {rows} to {output}{why}.", quiet=quiet)
