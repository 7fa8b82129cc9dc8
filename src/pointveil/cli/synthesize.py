"""pointveil synthesize: from a private file to a synthetic one."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli import common
from pointveil.cli.common import given, parse_columns, parse_split, stage, tell_points


def synthesize(
    points: Annotated[Path, typer.Argument(help="Private file of points.")],
    output: Annotated[Path, typer.Argument(help="Synthetic file to write.")],
    world: common.WorldFile,
    epsilon: common.Epsilon,
    method: common.Method = None,
    person: common.Person = None,
    max_points: common.MaxPoints = None,
    columns: common.Columns = None,
    crs: common.Crs = None,
    count: common.Count = None,
    seed: common.Seed = None,
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
    """Make a synthetic file in the same format, with a statement beside it.

    All of epsilon is charged to the ledger, on disk, before the data are asked anything.

    pointveil synthesize trips.parquet synthetic.parquet --world porto.gpkg --epsilon 1
    """
    from pointveil.releases import release

    options = given(
        method=method, split=parse_split(split), columns=parse_columns(columns), crs=crs, person=person,
        max_points=max_points, noise=noise, ledger=ledger, dataset=dataset, request=request, count=count, seed=seed,
        key=key,
    )  # fmt: skip
    with stage("Synthesizing", quiet=quiet):
        made = release(points, world, epsilon=epsilon, output=output, force=force, **options)
    tell_points(made, output, quiet=quiet, json=json)
