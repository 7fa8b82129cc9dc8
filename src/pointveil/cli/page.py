"""pointveil app: the whole way in a browser window, on this machine alone."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pointveil.cli.common import tell


def app(
    data: Annotated[Path, typer.Option("--data", help="Folder with your files; the page sees no other.")] = Path(),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on 127.0.0.1 (default: a free one).")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link, and open no browser.")] = False,
) -> None:
    """Open a page on this machine that leads from a private file to a release.

    Nothing leaves the machine. The link opens the page once, within a minute; for another tab, press Enter here and
    use the new link. Ctrl-C ends the server. Needs the extra 'app'.

    pointveil app --data ~/trips
    """
    from pointveil.app.server import serve

    def asked() -> bool:
        return sys.stdin.isatty() and bool(sys.stdin.readline())

    tell("Pointveil runs on this machine alone. Enter: a new link. Ctrl-C: end.")
    serve(data, port=port, browser=not no_browser, tell=tell, asked=asked)
