"""pointveil ledger: what has been spent on which dataset."""

from typing import Annotated

import typer

from pointveil.cli.common import Json, LedgerFile, Quiet, given, print_json, print_table, tell
from pointveil.errors import VerificationError, did_you_mean, shown

NOTHING = "The ledger {path} has nothing to show."

commands = typer.Typer(no_args_is_help=True, help="Show and limit what is spent on each dataset.")


@commands.command()
def show(ledger: LedgerFile = None, json: Json = False) -> None:
    """Show the cap of each dataset, what was spent, and what is left."""
    from pointveil.ledger import Ledger

    book = Ledger(**given(path=ledger))
    accounts = book.accounts()
    if json:
        print_json([account.to_dict() for account in accounts])
        return
    if not accounts:
        tell(NOTHING.format(path=book.path))
        return
    rows = []
    for account in accounts:
        amounts = (f"{float(amount):g}" for amount in (account.cap, account.spent, account.left))
        units = "\n".join(f"{float(amount):g} ({unit})" for unit, amount in account.units)
        rows.append((account.name, ", ".join(account.aliases), *amounts, str(account.charges), units))
    print_table(("dataset", "also known as", "cap", "spent", "left", "charges", "spent by protected unit"), rows)


@commands.command()
def log(
    dataset: Annotated[str | None, typer.Argument(help="Only charges under this name.")] = None,
    ledger: LedgerFile = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List every charge: when, who, which dataset, what it protects, epsilon, method, and what became of it."""
    from pointveil.ledger import Ledger

    book = Ledger(**given(path=ledger))
    known = book.log()
    entries = [entry for entry in known if dataset in {None, entry.dataset}]
    if json:
        print_json([entry.to_dict() for entry in entries])
        return
    if not entries:
        names = {entry.dataset for entry in known}
        missing = (
            f"The ledger {book.path} has no charge under the name '{dataset}'. {did_you_mean(str(dataset), names)}"
        )
        tell(missing.strip() if names else NOTHING.format(path=book.path), quiet=quiet)
    for entry in () if quiet else entries:
        when = entry.time.removesuffix("+00:00").replace("T", " ")
        print(shown(f"{entry.entry}. {when} UTC: epsilon {float(entry.epsilon):g} for {entry.dataset}, {entry.state}"))
        told = {"protects": entry.unit, "method": entry.method, "output": entry.output, "request": entry.request}
        told["one account since then"] = ", ".join(entry.joined)
        said = "; ".join(f"{name}: {text}" for name, text in (told | dict(entry.about)).items() if text)
        print(shown(f"   {said}"))


@commands.command()
def cap(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    epsilon: Annotated[str, typer.Argument(help="The cap, such as 3 or 0.5.")],
    ledger: LedgerFile = None,
    quiet: Quiet = False,
) -> None:
    """Set the cap of a dataset: the most that may be spent on it in total (default: 3)."""
    from pointveil.ledger import Ledger

    book = Ledger(**given(path=ledger))
    others = [] if book.find(dataset) else [name for each in book.accounts() for name in (each.name, *each.aliases)]
    account = book.set_cap(dataset, epsilon)
    if others:
        tell(f"Nothing was charged under this name so far. {did_you_mean(dataset, others)}".strip(), quiet=quiet)
    tell(
        f"{account.name}: cap {float(account.cap):g}, spent {float(account.spent):g}, left {float(account.left):g}.",
        quiet=quiet,
    )


@commands.command()
def verify(
    ledger: LedgerFile = None,
    anchor: Annotated[
        list[str] | None,
        typer.Option("--anchor", help="Hash of the chain, kept elsewhere, such as in a statement; may be repeated."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check the ledger's chain of hashes and its sums; with anchors, also that nothing was rolled back."""
    from pointveil.ledger import Ledger

    problems = Ledger(**given(path=ledger)).verify(anchor or ())
    if problems:
        raise VerificationError("The ledger is damaged: " + " ".join(problems))
    tell("The ledger is intact: its chain of hashes and its sums are correct.", quiet=quiet)
