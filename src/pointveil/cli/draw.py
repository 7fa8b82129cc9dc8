"""pointveil draw: points from a survey, at no cost."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Json, KeyFile, Quiet, open_key, print_json, stage, tell


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(draw)


def draw(
    survey: Annotated[Path, typer.Argument(help="The survey to draw from.")],
    output: Annotated[Path, typer.Argument(help="The synthetic file to write.")],
    count: Annotated[int | None, typer.Option("--count", help="How many points, if not as many as were there.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The same seed gives the same points.")] = None,
    key: KeyFile = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Draw synthetic points from a survey; it costs nothing, as often as you like.

    pointveil draw porto.survey synthetic.geojson --seed 7
    """
    from pointveil.cli.release import check_points_output
    from pointveil.releases import draw as draw_points
    from pointveil.surveys import Survey

    check_points_output(output, survey)
    signing = open_key(key)
    with stage("Drawing points", quiet=quiet):
        synthetic = draw_points(Survey.read(survey), count=count, seed=seed)
    statement = synthetic.write(output, key=signing)
    if json:
        print_json(
            {
                "output": str(output),
                "rows": len(synthetic),
                "statement": statement.model_dump(mode="json", by_alias=True),
            }
        )
        return
    tell(f"Wrote {len(synthetic):,} synthetic points to {output}, and the statement beside it.", quiet=quiet)
