"""Account for every epsilon spent on a dataset, on disk, before any noise is drawn."""

import json
import math
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pointveil.errors import BudgetError, InputError
from pointveil.ledger.check import find_problems
from pointveil.ledger.entries import Account, Charge, Finished, canonical, decimal, exact, plain
from pointveil.ledger.schema import MICRO, PATIENCE, Value, append, connect, fingerprint, last, make

DEFAULT_CAP = Fraction(10)

ADVICE = {
    "SQLITE_BUSY": f"Another process has kept it busy for {PATIENCE} seconds; try again when that has ended.",
    "SQLITE_READONLY": "It cannot be written; check the permissions of the file and its directory.",
    "SQLITE_CANTOPEN": "It cannot be opened; check the permissions of the file and its directory.",
    "SQLITE_NOTADB": "It is not a ledger, or it is damaged; restore it from a backup or give another path.",
    "SQLITE_CORRUPT": "It is damaged; restore it from a backup.",
    "SQLITE_FULL": "The disk is full; make room and try again.",
    "SQLITE_IOERR": "The disk failed, or is a network disk; a ledger needs a local one.",
}
FIND = {
    "name": "SELECT account FROM event WHERE kind = 'name' AND name = ?",
    "content": "SELECT account FROM event WHERE kind = 'content' AND fingerprint = ?",
}


class Own(Enum):
    """Stands for what lies in the data directory of this user: their ledger, or their signing key."""

    OWN = "your own, in your data directory"


OWN = Own.OWN


def default_ledger_path() -> Path:
    """Return where the ledger of this user lies."""
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InputError(
            "This user has no home directory for a ledger. Say where it is: --ledger PATH (ledger=)"
        ) from error
    folders = {
        "darwin": home / "Library" / "Application Support",
        "win32": Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"),
    }
    chosen = Path(os.environ.get("XDG_DATA_HOME", ""))
    folder = chosen if chosen.is_absolute() else folders.get(sys.platform, home / ".local" / "share")
    return folder / "pointveil" / "ledger.db"


@dataclass(frozen=True)
class Ledger:
    """The account book of one owner, in one file; it is opened anew for every question.

    Parameters
    ----------
    path
        Where the file is, or will be once something is charged; your own ledger by default.

    Examples
    --------
    >>> ledger = pv.Ledger("ledger.db")
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1, ledger=ledger)
    >>> points = pv.synthesize(vault)
    >>> [(account.name, str(account.spent), str(account.left)) for account in ledger.accounts()]
    [('people.parquet', '1', '9')]
    """

    path: Path = field(default_factory=default_ledger_path)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def set_cap(self, dataset: str, epsilon: Fraction | float | str) -> Account:
        """Set how much may be spent on a dataset in all; a cap below what is spent just leaves nothing."""
        name, amount = plain(dataset, "name of a dataset"), exact(epsilon)
        with self._writing() as book:
            account = find(book, "name", name)
            if account is None:
                account = open_account(book, name, amount)
            else:
                record_cap(book, account, amount)
            return balance(book, account)

    def charge(
        self,
        *,
        dataset: str,
        content: bytes,
        epsilon: Fraction | float | str,
        purpose: Mapping[str, str],
        request: str | None = None,
    ) -> Charge:
        """Charge epsilon to a dataset; when this returns, the charge is on the disk and stays there.

        Parameters
        ----------
        dataset
            The name that the owner gives the dataset.
        content
            A digest of the data. Only a keyed fingerprint of it is kept.
        epsilon
            What to charge: exact, never a float. Rounded up to a millionth.
        purpose
            Everything that decides what the release is: dataset, epsilon, method, world, and so on.
        request
            A name of the owner's for this request, by which it can be answered again.
        """
        name, amount, facts = plain(dataset, "name of a dataset"), exact(epsilon), canonical(purpose)
        if amount == 0:
            raise InputError("A release needs an epsilon above 0.")
        micro = math.ceil(amount * MICRO)
        request = None if request is None else plain(request, "request")
        with self._writing() as book:
            if request is not None and answer(book, request, facts) is not None:
                raise InputError(f"Request {request!r} has just been finished. Ask again to get its release.")
            accounts = charged_accounts(book, name, fingerprint(book, content))
            tightest = min((balance(book, account) for account in accounts), key=lambda found: found.left)
            refuse_overspending(name, tightest, micro)
            named = spent_under(book, name)
            entry = book.execute("SELECT coalesce(max(entry), 0) + 1 FROM event WHERE kind = 'charge'").fetchone()[0]
            for account in accounts:
                where: dict[str, Value] = {"account": account, "entry": entry, "name": name, "request": request}
                chain = append(book, "charge", micro=micro, exact=str(amount), purpose=facts, **where)
        price = Fraction(micro, MICRO)
        return Charge(
            entry=entry,
            dataset=name,
            spent_before=tightest.spent,
            spent_after=tightest.spent + price,
            cap=tightest.cap,
            named_before=named,
            named_after=named + price,
            chain=chain.hex(),
        )

    def finish(self, entry: int, *, survey: bytes, seed: int, output: Mapping[str, Any]) -> None:
        """Record that a charge led to a release, and keep its survey, which is private already."""
        facts = canonical(output)
        with self._writing() as book:
            if not book.execute("SELECT 1 FROM event WHERE kind = 'charge' AND entry = ?", (entry,)).fetchone():
                raise InputError(f"The ledger {self.path} has no entry {entry}; charge first, then finish.")
            if book.execute("SELECT 1 FROM event WHERE kind = 'finish' AND entry = ?", (entry,)).fetchone():
                raise InputError(f"Entry {entry} is finished already; every release is a new charge.")
            append(book, "finish", entry=entry, survey=survey, seed=str(seed), output=facts)

    def find_request(self, request: str, purpose: Mapping[str, str]) -> Finished | None:
        """Return the release of a finished request, or None when a new charge is needed."""
        wanted, facts = plain(request, "request"), canonical(purpose)
        if not self._exists():
            return None
        with self._reading() as book:
            return answer(book, wanted, facts)

    def accounts(self) -> list[Account]:
        """Return all accounts, oldest first."""
        if not self._exists():
            return []
        with self._reading() as book:
            numbers = [row[0] for row in book.execute("SELECT account FROM balance ORDER BY account")]
            return [balance(book, number) for number in numbers]

    def verify(self, anchors: Iterable[str] = ()) -> list[str]:
        """Return what is wrong with the ledger, in sentences: broken chain, wrong sums, overspent caps.

        Parameters
        ----------
        anchors
            Heads of the chain that were noted elsewhere (in statements, for example): all must be in it.
        """
        with self._reading() as book:
            return find_problems(book, anchors)

    def head(self) -> str:
        """Return the hash of the last event, to be noted outside this machine."""
        with self._reading() as book:
            return last(book)[1].hex()

    def _exists(self) -> bool:
        """Tell whether there is anything at the path; if that cannot be told, fail."""
        with clear_errors(self.path):
            try:
                self.path.stat()
            except FileNotFoundError:
                return False
            return True

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger for one consistent look."""
        if not self._exists():
            raise InputError(f"There is no ledger at {self.path}. Nothing has been charged there; check the path.")
        with clear_errors(self.path), closing(connect(self.path)) as book:
            book.execute("BEGIN")
            yield book

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger, alone, for one change that happens wholly and durably or not at all."""
        with clear_errors(self.path):
            if not self._exists():
                make(self.path)
            with closing(connect(self.path)) as book:
                book.execute("BEGIN IMMEDIATE")
                yield book  # an error closes the book without a commit, which undoes everything
                book.execute("COMMIT")


def open_ledger(given: Ledger | str | PathLike[str] | Own | None) -> Ledger | None:
    """Return the ledger that was named, the user's own, or none if that was said."""
    if given is OWN:
        return Ledger()
    return given if given is None or isinstance(given, Ledger) else Ledger(Path(given))


def find(book: sqlite3.Connection, kind: Literal["name", "content"], key: str | bytes) -> int | None:
    """Return the account that a name or a fingerprint leads to."""
    row = book.execute(FIND[kind], (key,)).fetchone()
    return row[0] if row else None


def charged_accounts(book: sqlite3.Connection, name: str, print_: bytes) -> list[int]:
    """Return the accounts that a name and a fingerprint lead to, having made them lead somewhere."""
    named, known = find(book, "name", name), find(book, "content", print_)
    if named is None and known is None:
        named = open_account(book, name, DEFAULT_CAP)
    elif named is None:
        append(book, "name", account=known, name=name)
    if known is None:
        append(book, "content", account=named, fingerprint=print_)
    return sorted({account for account in (named, known) if account is not None})


def open_account(book: sqlite3.Connection, name: str, cap: Fraction) -> int:
    """Open an account for a dataset that nobody has named before."""
    number: int = book.execute("SELECT coalesce(max(account), 0) + 1 FROM event").fetchone()[0]
    record_cap(book, number, cap)
    append(book, "name", account=number, name=name)
    return number


def record_cap(book: sqlite3.Connection, account: int, cap: Fraction) -> None:
    """Append a cap, rounded down, as charges are rounded up: both err on the side of privacy."""
    append(book, "cap", account=account, micro=math.floor(cap * MICRO), exact=str(cap))


def balance(book: sqlite3.Connection, account: int) -> Account:
    """Return one account as it stands."""
    query = "SELECT cap, spent, charges FROM balance WHERE account = ?"
    cap, spent, charges = book.execute(query, (account,)).fetchone()
    names = book.execute("SELECT name FROM event WHERE kind = 'name' AND account = ? ORDER BY id", (account,))
    name, *aliases = [row[0] for row in names]
    return Account(name, tuple(aliases), Fraction(cap, MICRO), Fraction(spent, MICRO), charges)


def spent_under(book: sqlite3.Connection, name: str) -> Fraction:
    """Return what was charged under one name, counting once a charge to two accounts."""
    query = "SELECT DISTINCT entry, micro FROM event WHERE kind = 'charge' AND name = ?"
    return Fraction(sum(micro for _, micro in book.execute(query, (name,))), MICRO)


def refuse_overspending(dataset: str, account: Account, micro: int) -> None:
    """Raise when an account has no room for a charge."""
    price = Fraction(micro, MICRO)
    if price > account.left:
        same = "" if dataset == account.name else f" (one account with {account.name!r})"
        raise BudgetError(
            f"Dataset {dataset!r}{same} has epsilon {decimal(account.left)} left: "
            f"cap {decimal(account.cap)}, spent {decimal(account.spent)}; {decimal(price)} was asked for. "
            "Nothing was charged. "
            f"Ask for less, or decide on a higher cap: pointveil ledger cap '{account.name}' EPSILON"
        )


def answer(book: sqlite3.Connection, request: str, facts: str) -> Finished | None:
    """Return the first finished answer to a request; the same name for another request is refused."""
    wanted = json.loads(facts)
    purposes = book.execute("SELECT purpose FROM event WHERE kind = 'charge' AND request = ?", (request,))
    # Another edition may describe a request in other words; its survey is what tells, and it is refused as such.
    same_edition = (each for (text,) in purposes if (each := json.loads(text)).get("edition") == wanted.get("edition"))
    if any(purpose != wanted for purpose in same_edition):
        raise InputError(f"Request {request!r} was made before with other settings. Give this one another name.")
    row = book.execute(
        "SELECT entry, survey, seed, output FROM event WHERE kind = 'finish' AND entry IN "
        "(SELECT entry FROM event WHERE kind = 'charge' AND request = ?) ORDER BY id LIMIT 1",
        (request,),
    ).fetchone()
    return Finished(row[0], row[1], int(row[2]), json.loads(row[3])) if row else None


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what the disk or the database says into an error that tells what to do."""
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        name = getattr(error, "sqlite_errorname", "")
        advice = next((text for code, text in ADVICE.items() if name.startswith(code)), "Check it: ledger verify.")
        raise InputError(f"The ledger {path} cannot be used ({error}). {advice} No release is made.") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(
            f"The ledger {path} cannot be used ({reason}). Check its directory, or give another path. "
            "No release is made."
        ) from error
