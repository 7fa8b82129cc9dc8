"""pointveil survey: ask the vault once, draw as often as you like."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli import common
from pointveil.cli.common import given, parse_columns, parse_split, print_json, stage, tell


def survey(
    points: Annotated[Path, typer.Argument(help="Private file of points.")],
    output: Annotated[Path, typer.Argument(help="Survey to write.")],
    world: common.WorldFile,
    epsilon: common.Epsilon,
    method: common.Method = None,
    person: common.Person = None,
    max_points: common.MaxPoints = None,
    columns: common.Columns = None,
    crs: common.Crs = None,
    split: common.Split = None,
    ledger: common.LedgerFile = None,
    dataset: common.Dataset = None,
    request: common.Request = None,
    noise: common.Noise = None,
    key: common.KeyFile = None,
    force: common.Force = False,
    quiet: common.Quiet = False,
    json: common.Json = False,
) -> None:
    """Save the noisy answers. Points can then be drawn from that file, without the data, as often as you like.

    pointveil survey trips.parquet porto.survey --world porto.gpkg --epsilon 1
    """
    from pointveil.releases import release_survey

    options = given(
        method=method, split=parse_split(split), columns=parse_columns(columns), crs=crs, person=person,
        max_points=max_points, noise=noise, ledger=ledger, dataset=dataset, request=request,
        key=key,
    )  # fmt: skip
    with stage("Asking the vault", quiet=quiet):
        made = release_survey(points, world, epsilon=epsilon, output=output, force=force, **options)
    if json:
        print_json({"output": str(output), "statement": made.statement.model_dump(mode="json", by_alias=True)})
        return
    tell(f"Wrote the survey to {output}. Draw from it with: pointveil draw {output} FILE", quiet=quiet)
    tell(str(made.statement), quiet=quiet)
