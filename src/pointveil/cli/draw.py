"""pointveil draw: points from a survey, at no cost."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Count, Json, KeyFile, Quiet, Seed, given, stage, tell_points


def draw(
    survey: Annotated[Path, typer.Argument(help="The survey to draw from.")],
    output: Annotated[Path, typer.Argument(help="The synthetic file to write.")],
    count: Count = None,
    seed: Seed = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw synthetic points from a survey; it costs nothing, as often as you like.

    pointveil draw porto.survey synthetic.geojson --seed 7
    """
    from dataclasses import replace

    from pointveil.releases import check_output
    from pointveil.releases import draw as draw_points
    from pointveil.surveys import Survey

    check_output(output, source=survey)
    with stage("Drawing points", quiet=quiet):
        synthetic = draw_points(Survey.read(survey), count=count, seed=seed)
        statement = synthetic.write(output, **given(key=key))
    tell_points(replace(synthetic, statement=statement), output, quiet=quiet, json=json)
