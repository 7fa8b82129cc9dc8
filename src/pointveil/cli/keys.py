"""pointveil keys: make the key that signs statements."""

from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import Json, Quiet, print_json, tell

NewKey = Annotated[
    Path | None, typer.Option("--key", help="File to write the private key to (default: one in your data directory).")
]
OwnKey = Annotated[
    Path | None, typer.Option("--key", help="File of the private key (default: the one in your data directory).")
]

commands = typer.Typer(no_args_is_help=True, help="Keys that sign statements (Ed25519).")


@commands.command()
def new(key: NewKey = None, quiet: Quiet = False, json: Json = False) -> None:
    """Make a new pair of keys; existing keys are never overwritten.

    The private key stays on this machine. Publish the public key, so that others can check your statements.
    """
    from pointveil.statement import SigningKey, default_key_path

    path = key or default_key_path()
    made = SigningKey.new(path)
    if json:
        print_json({"private": str(path), "public": str(made.public_path), "public_key": made.public})
        return
    tell(f"Private key: {path} (keep it secret: whoever has it can sign in your name)", quiet=quiet)
    tell(f"Public key:  {made.public_path} (publish it)", quiet=quiet)
    if not quiet:
        print(made.public)


@commands.command()
def show(key: OwnKey = None) -> None:
    """Print the public key."""
    from pointveil.statement import SigningKey, default_key_path

    print(SigningKey.read(key or default_key_path()).public)
