"""pointveil synthesize: from a private file to a synthetic one."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import (
    Columns,
    Crs,
    Dataset,
    Epsilon,
    Json,
    KeyFile,
    LedgerFile,
    MaxPoints,
    Noise,
    Person,
    Quiet,
    Split,
    WorldFile,
    open_key,
    print_json,
    stage,
    tell,
)

ALMOST_NONE = 100
"""Points times epsilon below which noise is all there may be; the number of synthetic points is itself noisy."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(synthesize)


def synthesize(
    points: Annotated[Path, typer.Argument(help="The private file of points.")],
    output: Annotated[Path, typer.Argument(help="The synthetic file to write.")],
    world: WorldFile,
    epsilon: Epsilon,
    method: Annotated[str | None, typer.Option("--method", "-m", help="See 'pointveil methods'.")] = None,
    person: Person = None,
    max_points: MaxPoints = None,
    columns: Columns = None,
    crs: Crs = None,
    count: Annotated[int | None, typer.Option("--count", help="How many points to draw, if not as many.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the drawing; the noise has none.")] = None,
    split: Split = None,
    ledger: LedgerFile = None,
    dataset: Dataset = None,
    request: Annotated[
        str | None,
        typer.Option("--request", help="A name for this request: repeated, it gives the same release."),
    ] = None,
    noise: Noise = "exact",
    key: KeyFile = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make a synthetic file in the same format, with a statement beside it.

    The whole epsilon is charged to the ledger, durably, before any question is asked of the data.

    pointveil synthesize trips.parquet synthetic.parquet --world porto.gpkg --epsilon 1
    """
    from pointveil.cli.release import Request, answer, check_points_output
    from pointveil.methods import DEFAULT_METHOD
    from pointveil.releases import draw

    check_points_output(output, points)
    signing = open_key(key)
    asked = Request(
        points, world, epsilon, method or DEFAULT_METHOD, split, columns, crs, person, max_points, noise,
        ledger, dataset, request, count, seed, quiet,
    )  # fmt: skip
    answered = answer(asked)
    with stage("Drawing points", quiet=quiet):
        synthetic = draw(answered.survey, count=count, seed=answered.seed)
    with stage("Writing", quiet=quiet):
        statement = synthetic.write(output, key=signing)
    answered.finish({"file": output.name, "rows": len(synthetic)}, keep=request is not None)
    if json:
        print_json(
            {
                "output": str(output),
                "rows": len(synthetic),
                "statement": statement.model_dump(mode="json", by_alias=True),
            }
        )
        return
    if count is None and len(synthetic) * float(Fraction(statement.guarantee.epsilon)) < ALMOST_NONE:
        tell(
            "Warning: hardly any point is on the land of this world. Are --columns, --crs and --person right?",
            quiet=quiet,
        )
    asked_for = {question.purpose for question in statement.questions}
    if "shape" in answered.survey.method.purposes and "shape" not in asked_for:
        tell(
            "Note: few people for this epsilon, so the map is coarse; a larger epsilon or a smaller --max-points "
            "would show more.",
            quiet=quiet,
        )
    tell(f"Wrote {len(synthetic):,} synthetic points to {output}, and the statement beside it.", quiet=quiet)
    tell(str(statement), quiet=quiet)
