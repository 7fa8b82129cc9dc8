"""pointveil draw: points from a survey, at no cost."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import (
    Count,
    Force,
    Json,
    KeyFile,
    Output,
    Quiet,
    Seed,
    Threads,
    given,
    given_threads,
    stage,
    tell_points,
)


def draw(
    survey: Annotated[Path, typer.Argument(help="Survey to draw from.")],
    output: Output,
    count: Count = None,
    seed: Seed = None,
    key: KeyFile = None,
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw synthetic points from a survey, as often as you like, at no cost.

    pointveil draw porto.survey synthetic.geojson --seed 7
    """
    from pointveil.files.whole import refuse_same
    from pointveil.orders import check_output
    from pointveil.releases import draw as draw_points
    from pointveil.statement import find_key
    from pointveil.surveys import Survey
    from pointveil.synthetic import check_release

    signing = find_key(**given(given=key))
    target = check_output(output, key=signing)
    if isinstance(target, Path):
        refuse_same(target, {"the survey": survey})
    check_release(target, force=force)
    with stage("Drawing points", quiet=quiet):
        synthetic = draw_points(Survey.read(survey), count=count, seed=seed, threads=given_threads(threads))
        statement = synthetic.write(output, key=signing, force=force)
    tell_points(synthetic.with_statement(statement), output, quiet=quiet, as_json=json)
