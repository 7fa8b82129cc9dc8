"""pointveil verify: is a release what its statement says?."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Json, Quiet, print_json, tell


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(verify)


def verify(
    release: Annotated[Path, typer.Argument(help="The synthetic file; its statement lies beside it.")],
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check a release: the statement's digest, the sum of epsilons, and the hash of every file.

    Ends with 0 if all is as stated, and with 4 if even one byte is not.
    """
    from pointveil.verification import verify as check

    verified = check(release)
    if json:
        print_json({"verified": True, "checks": verified.checks, "epsilon": verified.statement.guarantee.epsilon})
        return
    for line in verified.checks:
        tell(f"  ✓ {line}", quiet=quiet)
    tell(str(verified.statement), quiet=quiet)
