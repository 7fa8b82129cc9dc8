"""pointveil verify: check a release against its statement."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Json, Quiet, print_json, tell


def verify(
    release: Annotated[
        str, typer.Argument(help="Synthetic file or folder, with its statement beside it; its address; or a survey.")
    ],
    public_key: Annotated[
        str | None,
        typer.Option(
            "--public-key", help="Public key that must have signed the statement (the key itself, or a file)."
        ),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The owner's ledger, which must contain the charge.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say in plain words what epsilon means for one person.")
    ] = False,
    registry: Annotated[
        bool, typer.Option("--registry", help="Print the entry for the OpenDP deployments registry, as JSON.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check a release: the statement's signature and digest, its facts, and the hash of every file.

    Exits with 0 if everything is as stated, and with 4 if even one byte differs. For a survey, its answers, method,
    layout and world are checked.
    """
    from pointveil.errors import shown
    from pointveil.statement import explain as in_plain_words
    from pointveil.statement import registry_entry
    from pointveil.verification import verify as check

    verified = check(release, public_key=public_key, ledger=ledger)
    if registry:
        print_json(registry_entry(verified.statement))
        return
    if explain:
        print(shown(in_plain_words(verified.statement)))
        return
    if json:
        told = {"checks": verified.passed, "caveats": verified.caveats}
        print_json({"verified": True, **told, "epsilon": verified.statement.guarantee.epsilon})
        return
    for line in verified.checks:
        tell(f"  {'!' if line in verified.caveats else '✓'} {line}", quiet=quiet)
    tell(str(verified.statement), quiet=quiet)
