"""pointveil certificate: one printable page about a release, for who must sign for it."""

import os
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.cli.common import Force, Json, Quiet, print_json, tell
from pointveil.errors import InputError

if TYPE_CHECKING:
    from pointveil.statement import Statement

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge", "chrome")
PATIENCE = 60  # seconds


def certificate(
    release: Annotated[Path, typer.Argument(help="Synthetic file, with its statement beside it; or a survey.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page to write (default: RELEASE.certificate.html, or .pdf).")
    ] = None,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write a PDF; needs Chromium or Chrome on this machine.")] = False,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", help="The owner's ledger: adds the sums so far under this name.")
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Verify a release, and write a page to print, sign and file: unit, epsilon, what they mean, who, why, sums.

    pointveil certificate synthetic.parquet --pdf
    """
    from pointveil.files.whole import check_target, refuse_existing, refuse_same, write_whole
    from pointveil.statement import certificate as page_of
    from pointveil.synthetic import statement_path
    from pointveil.verification import verify

    verified = verify(release, ledger=ledger)
    suffix = ".pdf" if pdf else ".html"
    target = check_target(output or release.with_name(f"{release.name}.certificate{suffix}"))
    if target.suffix.lower() != suffix:
        raise InputError(
            f"A certificate is a page ({suffix}): name it so, not {target.name}{'' if pdf else ', or --pdf'}."
        )
    refuse_same(target, {"the release itself": release, "its statement": statement_path(release), "the ledger": ledger})
    refuse_existing(target, force=force)
    accounted = {} if ledger is None else _accounted(verified.statement, ledger)
    page = page_of(verified.statement, checks=verified.passed, caveats=verified.caveats, **accounted)
    write_whole(target, (lambda new: _print(page, new)) if pdf else lambda new: new.write_text(page, encoding="utf-8"))
    if json:
        print_json({"output": str(target), "release": verified.statement.release, "caveats": list(verified.caveats)})
        return
    tell(f"Wrote {target}: print it, sign it, file it.", quiet=quiet)


def _accounted(statement: "Statement", path: Path) -> dict[str, Any]:
    """Return what the ledger says: a release's name, what was spent under it, its cap, and columns left out."""
    from pointveil.ledger import Ledger, kind_of

    book, entry = Ledger(path), statement.ledger
    log = book.log()
    own = next((line for line in log if entry is not None and line.entry == entry.entry), None)
    name = None if own is None else own.dataset
    sums: dict[str, Fraction] = {}
    for line in log:
        if line.dataset == name:
            sums[kind_of(line.unit)] = sums.get(kind_of(line.unit), Fraction(0)) + line.epsilon
    cap = None if name is None else book.named_cap(name)
    return {"dataset": name, "sums": sums, "cap": cap, "left_out": () if own is None else own.left_out}


def _print(page: str, target: Path) -> None:
    """Have a browser print a page into a file."""
    chosen = os.environ.get("POINTVEIL_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if chosen is None:
        raise InputError(
            "A PDF is printed by Chromium or Chrome, and there is none on this machine. Install one, or leave --pdf "
            "out and print the page from any browser."
        )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "certificate.html")
        source.write_text(page, encoding="utf-8")
        options = [
            "--headless",
            "--disable-gpu",
            "--no-sandbox",
            f"--user-data-dir={folder}/profile",
            "--no-pdf-header-footer",
        ]
        command = [chosen, *options, f"--print-to-pdf={target.absolute()}", source.as_uri()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        except (OSError, subprocess.SubprocessError):
            target.unlink(missing_ok=True)
    if not target.is_file():
        raise InputError("The browser could not print the page. Leave --pdf out, and print it by hand.")
