"""pointveil audit: try to break the guarantee."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointveil.cli.common import Force, Json, Quiet, print_json, stage, tell
from pointveil.errors import InputError, VerificationError

if TYPE_CHECKING:
    from pointveil.lab.audit import Effort, Subject
    from pointveil.lab.audit.report import Row


def audit(
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="Method to audit (default: all); may be repeated.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", help="Releases per pair of neighbours (default: 28); 120 or more also tries larger cities."
        ),
    ] = None,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Also audit deliberately broken methods: all must be caught.")
    ] = False,
    persons: Annotated[
        bool, typer.Option("--persons", help="Also audit every method with people as the protected unit.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Draw the result as a picture, in this file.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option("--table", help="Write the result as a Markdown table, to this file.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Try to tell neighbouring datasets apart better than epsilon allows, using invented data only.

    Exits with 0 if no guarantee was refuted and every mutant was caught, and with 4 otherwise. A guarantee that
    holds is refuted by mistake at most once in a million tests.

    pointveil audit --method ugrid-uni --runs 1000
    """
    from pointveil.files.whole import check_target, refuse_existing
    from pointveil.lab.audit import FAST, effort_for, subjects
    from pointveil.lab.audit.mutants import MUTANTS
    from pointveil.lab.audit.report import draw_picture, to_markdown

    if runs is not None and runs < 20:
        raise InputError(f"--runs must be at least 20, not {runs}.")
    for output in (table, picture):
        if output is not None:
            refuse_existing(check_target(output), force=force)
    effort = FAST if runs is None else effort_for(runs)
    chosen = _choose(subjects(persons=persons), method)
    rows = {"methods": [_audit(subject, effort, quiet=quiet or json) for subject in chosen]}
    if mutants:
        rows["mutants"] = [_audit(each, FAST, quiet=quiet or json, until_flagged=True) for each in MUTANTS.values()]
    if table is not None:
        table.write_text("\n".join(to_markdown(group) for group in rows.values()), encoding="utf-8")
    if picture is not None:
        draw_picture(picture, rows)
    if json:
        print_json({name: [vars(row) for row in group] for name, group in rows.items()})
    _judge(rows)
    tell("No guarantee was refuted" + (", and every mutant was caught." if mutants else "."), quiet=quiet or json)


def _choose(known: "dict[str, Subject]", wanted: list[str] | None) -> "list[Subject]":
    for name in wanted or ():
        if name not in known:
            raise InputError(f"There is nothing called '{name}' to audit. Choose from: {', '.join(known)}.")
    return [known[name] for name in wanted or known]


def _audit(subject: "Subject", effort: "Effort", *, quiet: bool, until_flagged: bool = False) -> "Row":
    from pointveil.lab.audit import audit as attack
    from pointveil.lab.audit.report import summarize

    with stage(f"Attacking {subject.name}", quiet=quiet):
        row = summarize(list(attack(subject, effort, until_flagged=until_flagged)))
    verdict = "REFUTED" if row.flagged else "stands"
    tell(
        f"  {row.subject:36} claimed {row.claim:g}, refuted up to {row.bound:5.2f}  {verdict:7}  "
        f"{row.trials:>9,} trials; {row.case}",
        quiet=quiet,
    )
    return row


def _judge(rows: "dict[str, list[Row]]") -> None:
    broken = [row.subject for row in rows["methods"] if row.flagged]
    missed = [row.subject for row in rows.get("mutants", []) if not row.flagged]
    if broken:
        raise VerificationError(
            f"The guarantee of {', '.join(broken)} was refuted. Do not release anything made with it."
        )
    if missed:
        raise VerificationError(f"The audit missed {', '.join(missed)}: it is too weak to be trusted.")
