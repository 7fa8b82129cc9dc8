"""pointveil survey: ask the vault once, draw as often as you like."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pointveil.cli import common
from pointveil.cli.common import json_of, print_json, stage, tell, tell_charge
from pointveil.cli.options import about_data, about_release, ask_cap, dataset_name, taking


@taking(about_data, about_release)
def survey(
    points: common.Points,
    output: Annotated[Path, typer.Argument(help="Survey to write.")],
    world: common.WorldFile,
    epsilon: common.Epsilon,
    force: common.Force = False,
    quiet: common.Quiet = False,
    json: common.Json = False,
    **options: Any,
) -> None:
    """Save the noisy answers. Points can then be drawn from that file, without the data, as often as you like.

    pointveil survey trips.parquet porto.survey --world porto.gpkg --epsilon 1
    """
    from pointveil.releases import release_survey

    ask_cap(points, options)
    with stage("Asking the vault", quiet=quiet):
        made = release_survey(points, world, epsilon=epsilon, output=output, force=force, **options)
    if json:
        print_json({"output": str(output), "statement": json_of(made.statement)})
        return
    tell(f"Wrote the survey to {output}. Draw from it with: pointveil draw {output} FILE", quiet=quiet)
    tell(str(made.statement), quiet=quiet)
    tell_charge(made.statement, dataset_name(points, options), options.get("ledger"), quiet=quiet)
