"""pointveil synthesize: from a private file to a synthetic one."""

from typing import Any

from pointveil.cli import common
from pointveil.cli.common import given, stage, tell, tell_charge, tell_points
from pointveil.cli.options import about_data, about_release, ask_cap, dataset_name, taking


@taking(about_data, about_release)
def synthesize(
    points: common.Points,
    output: common.Output,
    world: common.WorldFile,
    epsilon: common.Epsilon,
    count: common.Count = None,
    seed: common.Seed = None,
    force: common.Force = False,
    quiet: common.Quiet = False,
    json: common.Json = False,
    **options: Any,
) -> None:
    """Make a synthetic file in the same format, with a statement beside it.

    All of epsilon is charged to the ledger, on disk, before the data are asked anything.

    pointveil synthesize trips.parquet synthetic.parquet --world porto.gpkg --epsilon 1
    """
    from pointveil.releases import release

    options |= given(count=count, seed=seed)
    ask_cap(points, options)
    with stage("Synthesizing", quiet=quiet):
        made = release(points, world, epsilon=epsilon, output=output, force=force, **options)
    tell_points(made, output, quiet=quiet, as_json=json)
    if count is not None:
        tell(f"The statement says that {count:,} rows were your choice. Never choose the true number.", quiet=quiet)
    tell_charge(made.statement, dataset_name(points, options), options.get("ledger"), quiet=quiet or json)
