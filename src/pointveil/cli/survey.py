"""pointveil survey: ask the vault once, draw for ever."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import (
    Columns,
    Crs,
    Dataset,
    Epsilon,
    Json,
    LedgerFile,
    MaxPoints,
    Noise,
    Person,
    Quiet,
    Split,
    WorldFile,
    print_json,
    tell,
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(survey)


def survey(
    points: Annotated[Path, typer.Argument(help="The private file of points.")],
    output: Annotated[Path, typer.Argument(help="The survey to write.")],
    world: WorldFile,
    epsilon: Epsilon,
    method: Annotated[str | None, typer.Option("--method", "-m", help="See 'pointveil methods'.")] = None,
    person: Person = None,
    max_points: MaxPoints = None,
    columns: Columns = None,
    crs: Crs = None,
    split: Split = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    noise: Noise = "exact",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Save the noisy answers: points can then be drawn from the file for ever, without the data.

    pointveil survey trips.parquet porto.survey --world porto.gpkg --epsilon 1
    """
    from pointveil.cli.release import Request, answer, check_output
    from pointveil.methods import DEFAULT_METHOD

    check_output(output, points)
    asked = Request(
        points, world, epsilon, method or DEFAULT_METHOD, split, columns, crs, person, max_points, noise,
        ledger, dataset, None, None, None, quiet,
    )  # fmt: skip
    answered = answer(asked)
    answered.survey.write(output)
    answered.finish({"file": output.name}, keep=False)
    if json:
        print_json(
            {
                "output": str(output),
                "statement": answered.survey.statement.model_dump(mode="json", by_alias=True),
            }
        )
        return
    tell(f"Wrote the survey to {output}. Draw from it with: pointveil draw {output} FILE", quiet=quiet)
    tell(str(answered.survey.statement), quiet=quiet)
