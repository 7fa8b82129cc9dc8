"""Account for every epsilon spent on a dataset, on disk, before any noise is drawn."""

import hmac
import json
import math
import os
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pointveil.errors import BudgetError, InputError
from pointveil.ledger.check import find_problems
from pointveil.ledger.entries import (
    Account,
    Charge,
    Entry,
    Kept,
    canonical,
    decimal,
    exact,
    exact_cap,
    kind_of,
    plain,
    same_facts,
    unit_of,
)
from pointveil.ledger.schema import MICRO, PATIENCE, append, connect, fingerprint, last, make, seal
from pointveil.ledger.upgrade import upgrade

DEFAULT_CAP = Fraction(3)

ADVICE = {
    "SQLITE_BUSY": f"Another process has kept it busy for {PATIENCE} seconds; try again when that has ended.",
    "SQLITE_READONLY": "It cannot be written; check the permissions of the file and its directory.",
    "SQLITE_CANTOPEN": "It cannot be opened; check the permissions of the file and its directory.",
    "SQLITE_NOTADB": "It is not a ledger, or it is damaged; restore it from a backup or give another path.",
    "SQLITE_CORRUPT": "It is damaged; restore it from a backup.",
    "SQLITE_FULL": "The disk is full; make room and try again.",
    "SQLITE_IOERR": "The disk failed, or is a network disk; a ledger needs a local one.",
}
NEXT_ENTRY = "SELECT coalesce(max(entry), 0) + 1 FROM event WHERE kind = 'charge'"
NEXT_ACCOUNT = "SELECT coalesce(max(account), 0) + 1 FROM event WHERE kind = 'cap'"


class Own(Enum):
    """Stands for what lies in the data directory of this user: their ledger, or their signing key."""

    OWN = "your own, in your data directory"

    def __repr__(self) -> str:
        return self.name  # short, as the default in signatures


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
    [('people.parquet', '1', '2')]
    """

    path: Path = field(default_factory=default_ledger_path)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def set_cap(self, dataset: str, epsilon: Fraction | float | str) -> Account:
        """Set how much may be spent on a dataset in all; a cap below what is spent just leaves nothing."""
        name, amount = plain(dataset, "name of a dataset"), exact_cap(epsilon)
        with self._writing() as book:
            account = find(book, "name", name=name)
            if account is None:
                account = open_account(book, name, amount)
            else:
                record_cap(book, account, amount)
            return balance(book, account)

    def charge(
        self,
        *,
        dataset: str,
        content: bytes | None,
        epsilon: Fraction | float | str,
        purpose: Mapping[str, Any],
        alike: Iterable[bytes] = (),
        request: str | None = None,
        seed: int | None = None,
    ) -> Charge:
        """Charge epsilon to a dataset; when this returns, the charge is on the disk and stays there.

        Only a keyed fingerprint of `content`, a digest of the data, is kept; it is None if the data could not be read:
        then only the name says what is charged. `alike` has digests that copies of the data share, and few others:
        any of them leads to the account as the content does. Epsilon is exact, never a float, and rounded up to a
        millionth. `purpose` has everything that decides what the release is, and `request` is a name of the owner's by
        which it can be answered again. A `seed`, of the drawing, comes from a caller who keeps each answer (`keep`)
        before anything is made of it. Such a request is charged once: the same one again goes on with the charge that
        it has.
        """
        name, amount, facts = plain(dataset, "name of a dataset"), exact(epsilon), canonical(purpose)
        if amount == 0:
            raise InputError("A release needs an epsilon above 0.")
        micro = math.ceil(amount * MICRO)
        request = None if request is None else plain(request, "request")
        with self._writing() as book:
            known = None if request is None else kept(book, request, facts)
            if known is not None and known.survey is not None:
                raise InputError(f"Request {request!r} has just been finished. Ask again to get its release.")
            print_ = None if content is None else fingerprint(book, content)
            checked(book, "TRUE")  # nothing is built on a last event that was changed
            if seed is None or known is None:
                (entry,) = book.execute(NEXT_ENTRY).fetchone()
            else:
                entry, seed = known.entry, known.seed
                refuse_other_content(book, entry, print_)
            paid = {account for (account,) in select(book, "account", kind="charge", entry=entry)}
            prints = [] if print_ is None else [print_, *(fingerprint(book, digest) for digest in alike)]
            refuse_private_prior(book, purpose.get("prior") or {}, prints)
            accounts = charged_accounts(book, name, prints)
            tightest = min((balance(book, account) for account in accounts), key=lambda found: found.left)
            unpaid = [account for account in accounts if account not in paid]
            for account in unpaid:
                refuse_overspending(name, balance(book, account), micro)
            for account in unpaid:
                append_charge(
                    book, account, entry, name, micro, exact=str(amount), purpose=facts, request=request,
                    seed=None if seed is None else str(seed), fingerprint=print_,
                )  # fmt: skip
            *_, (sum_, chain) = select(book, "named, hash", kind="charge", entry=entry)
        price, named = Fraction(micro, MICRO), Fraction(sum_, MICRO)
        before = tightest.spent - (price if paid else 0)
        return Charge(
            entry=entry, dataset=name, spent_before=before, spent_after=before + price, cap=tightest.cap,
            named_before=named - price, named_after=named, chain=chain.hex(), seed=seed, fingerprint=print_,
        )  # fmt: skip

    def keep(self, charge: Charge, number: int, question: str, answer: bytes) -> bytes:
        """Keep a noisy answer, and return it when it is on the disk; if there is one already, return that one instead.

        Nothing may be worked out from an answer before this has returned: then one that was not kept has shown
        itself nowhere, and may be drawn again.
        """
        with self._writing() as book:
            kept = find_answer(book, charge.entry, number, question)
            if kept is None:
                about = {"entry": charge.entry, "fingerprint": charge.fingerprint}
                append(book, "answer", number=number, purpose=question, survey=answer, **about)
            return answer if kept is None else kept

    def kept_answer(self, charge: Charge, number: int, question: str) -> bytes | None:
        """Return the answer that was kept for a question, if there is one."""
        with self._reading() as book:
            return find_answer(book, charge.entry, number, question)

    def finish(self, entry: int, *, survey: bytes, seed: int, output: Mapping[str, Any]) -> bytes:
        """Keep what is needed, beside the answers, to make a release again; if it was kept before, return that."""
        facts = canonical(output)
        with self._writing() as book:
            if not select(book, "id", kind="charge", entry=entry):
                raise InputError(f"The ledger {self.path} has no entry {entry}; charge first, then finish.")
            for (before,) in select(book, "survey", kind="finish", entry=entry):
                return bytes(before)
            append(book, "finish", entry=entry, survey=survey, seed=str(seed), output=facts)
            return survey

    def stop(self, entry: int, spent: Fraction) -> None:
        """End an entry early: what was charged beyond `spent`, the price of all that was asked, is given back, once.

        Whether to stop must follow from noisy answers that were paid for, and from nothing else about the data.
        """
        stays = math.ceil(spent * MICRO)
        with self._writing() as book:
            if select(book, "id", kind="stop", entry=entry):
                return
            for account, name, micro in select(book, "account, name, micro", kind="charge", entry=entry):
                before, charges, named = sums(book, account, name)
                again = select(book, "id", kind="stop", entry=entry)  # a second account: under the name it counts once
                after = {"spent": before - micro + stays, "named": named if again else named - micro + stays}
                append(
                    book, "stop", account=account, entry=entry, name=name, micro=micro - stays, exact=str(spent),
                    charges=charges, **after,
                )  # fmt: skip

    def record_output(self, entry: int, output: Mapping[str, Any]) -> None:
        """Write down, before the files of a release are put in place, what they are: `files` has their SHA-256."""
        facts = canonical(output)
        with self._writing() as book:
            if (facts,) not in select(book, "output", kind="output", entry=entry):
                append(book, "output", entry=entry, output=facts)

    def find_request(self, request: str, purpose: Mapping[str, Any]) -> Kept | None:
        """Return what is kept of a request, or None when it was never charged, or in a way that cannot be resumed."""
        wanted, facts = plain(request, "request"), canonical(purpose)
        if not self._exists():
            return None
        with self._reading() as book:
            return kept(book, wanted, facts)

    def check_writable(self) -> None:
        """Raise if nothing could be charged here; makes the file, if there is none."""
        with self._writing():
            pass

    def accounts(self) -> list[Account]:
        """Return all accounts, oldest first."""
        if not self._exists():
            return []
        with self._reading() as book:
            numbers = [row[0] for row in book.execute("SELECT account FROM balance ORDER BY account")]
            units = spent_by_unit(book)
            return [replace(balance(book, number), units=tuple(sorted(units[number].items()))) for number in numbers]

    def log(self) -> list[Entry]:
        """Return every charge, oldest first, with what became of it."""
        if not self._exists():
            return []
        with self._reading() as book:
            return list(lines(book))

    def find(self, dataset: str) -> Account | None:
        """Return the account that a name leads to, if there is one."""
        name = plain(dataset, "name of a dataset")
        if not self._exists():
            return None
        with self._reading() as book:
            account = find(book, "name", name=name)
            return None if account is None else balance(book, account)

    def verify(self, anchors: Iterable[str] = ()) -> list[str]:
        """Return what is wrong with the ledger, in sentences: broken chain, wrong sums, overspent caps.

        Anchors are heads of the chain that were noted elsewhere (in statements, for example): all must be in it.
        """
        with self._reading() as book:
            return find_problems(book, anchors)

    def head(self) -> str:
        """Return the hash of the last event, to be noted outside this machine."""
        with self._reading() as book:
            return last(book)[1].hex()

    def _exists(self) -> bool:
        """Tell whether there is anything at the path; if that cannot be told, fail."""
        with clear_errors(self.path), suppress(FileNotFoundError):
            self.path.stat()
            return True
        return False

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger for one consistent look."""
        if not self._exists():
            raise InputError(f"There is no ledger at {self.path}. Nothing has been charged there; check the path.")
        with clear_errors(self.path), closing(connect(self.path)) as book:
            upgrade(book)
            book.execute("BEGIN")
            yield book

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Open the ledger, alone, for one change that happens wholly and durably or not at all."""
        with clear_errors(self.path):
            if not self._exists():
                make(self.path)
            with closing(connect(self.path)) as book:
                upgrade(book)
                book.execute("BEGIN IMMEDIATE")
                yield book  # an error closes the book without a commit, which undoes everything
                book.execute("COMMIT")


def open_ledger(given: Ledger | str | PathLike[str] | Own | None) -> Ledger | None:
    """Return the ledger that was named, the user's own, or none if that was said."""
    if given is OWN:
        return Ledger()
    return given if given is None or isinstance(given, Ledger) else Ledger(Path(given))


def select(book: sqlite3.Connection, fields: str, **where: object) -> list[Any]:
    """Return these fields of the events that have these values, oldest first."""
    conditions = " AND ".join(f"{field} = ?" for field in where)
    query = f"SELECT {fields} FROM event WHERE {conditions} ORDER BY id"  # noqa: S608 - our own words only
    return book.execute(query, tuple(where.values())).fetchall()


def find(book: sqlite3.Connection, kind: Literal["name", "content"], **key: str | bytes) -> int | None:
    """Return the account that a name or a fingerprint leads to."""
    return next((account for (account,) in select(book, "account", kind=kind, **key)), None)


def lines(book: sqlite3.Connection) -> Iterator[Entry]:
    """Yield the lines of the log; a charge to two accounts is one."""
    stopped = dict(book.execute("SELECT entry, exact FROM event WHERE kind = 'stop'"))
    finished = {entry for (entry,) in book.execute("SELECT entry FROM event WHERE kind = 'finish'")}
    outputs: dict[int, dict[str, Any]] = defaultdict(dict)  # the last word on each fact
    for entry, facts in book.execute("SELECT entry, output FROM event WHERE kind = 'output' ORDER BY id"):
        outputs[entry] |= json.loads(facts)
    query = (
        "SELECT entry, time, name, exact, purpose, request FROM event WHERE kind = 'charge' GROUP BY entry ORDER BY id"
    )
    for entry, time, name, price, purpose, request in book.execute(query):
        facts = json.loads(purpose)
        yield Entry(
            entry=entry,
            time=time,
            dataset=name,
            epsilon=Fraction(stopped.get(entry, price)),
            unit=unit_of(facts),
            method=facts.get("method", "not recorded"),
            state="stopped" if entry in stopped else "finished" if entry in finished else "open",
            output=outputs[entry].get("file", ""),
            request=request or "",
            left_out=tuple(outputs[entry].get("left_out", ())),
            about=facts.get("about", {}),
        )


def spent_by_unit(book: sqlite3.Connection) -> dict[int, dict[str, Fraction]]:
    """Return what each account has spent for each protected unit; the cap counts them all alike."""
    units: dict[int, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    of_entry: dict[int, str] = {}
    query = "SELECT kind, account, entry, micro, purpose FROM event WHERE kind IN ('charge', 'stop') ORDER BY id"
    for kind, account, entry, micro, purpose in book.execute(query):
        if kind == "charge":
            of_entry[entry] = kind_of(unit_of(json.loads(purpose)))
        units[account][of_entry[entry]] += Fraction(micro if kind == "charge" else -micro, MICRO)
    return units


def find_answer(book: sqlite3.Connection, entry: int, number: int, question: str) -> bytes | None:
    """Return the answer that was kept, if there is one; refuse one to another question."""
    for asked, answer in select(book, "purpose, survey", kind="answer", entry=entry, number=number):
        if asked != question:
            raise InputError("The answers in the ledger are to other questions. Use the version that asked them.")
        return bytes(answer)
    return None


def charged_accounts(book: sqlite3.Connection, name: str, prints: Sequence[bytes]) -> list[int]:
    """Return the accounts that a name and fingerprints lead to, having made them all lead somewhere."""
    named = find(book, "name", name=name)
    known = {print_: find(book, "content", fingerprint=print_) for print_ in prints}
    found = [account for account in (named, *known.values()) if account is not None]
    home = found[0] if found else open_account(book, name, DEFAULT_CAP)
    if found and named is None:
        append(book, "name", account=home, name=name)
    for print_ in (print_ for print_, account in known.items() if account is None):
        append(book, "content", account=home, fingerprint=print_)
    return sorted({home, *found})


def open_account(book: sqlite3.Connection, name: str, cap: Fraction) -> int:
    """Open an account for a dataset that nobody has named before."""
    number: int = book.execute(NEXT_ACCOUNT).fetchone()[0]
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
    name, *aliases = [name for (name,) in select(book, "name", kind="name", account=account)]
    return Account(name, tuple(aliases), Fraction(cap, MICRO), Fraction(spent, MICRO), charges)


def append_charge(
    book: sqlite3.Connection, account: int, entry: int, name: str, micro: int, **facts: str | bytes | None
) -> None:
    """Append a charge to one account, with the sums up to it; checks the rows that it builds on."""
    spent, charges, named = sums(book, account, name)
    checked(book, "kind = 'cap' AND account = ?", account)
    again = select(book, "id", kind="charge", entry=entry)  # a second account: under the name it counts once
    after = {"spent": spent + micro, "charges": charges + 1, "named": named if again else named + micro}
    append(book, "charge", account=account, entry=entry, name=name, micro=micro, **after, **facts)


def sums(book: sqlite3.Connection, account: int, name: str) -> tuple[int, int, int]:
    """Return what an account has spent, in how many charges, and what was spent under a name; checks those rows."""
    spent, charges = 0, 0
    for row in checked(book, "account = ? AND spent IS NOT NULL", account):
        spent, charges = row["spent"], row["charges"]
    named = sum(row["named"] for row in checked(book, "name = ? AND named IS NOT NULL", name))
    return spent, charges, named


def checked(book: sqlite3.Connection, condition: str, *values: object) -> list[dict[str, Any]]:
    """Return the newest event of a kind, if there is one and its hash is right: all older ones stand behind it."""
    rows = book.execute(f"SELECT * FROM event WHERE {condition} ORDER BY id DESC LIMIT 1", values)  # noqa: S608 - ours
    found = rows.fetchone()
    if found is None:
        return []
    if seal(found[:-1]) != found[-1]:
        raise InputError("The ledger has been changed by hand: nothing is charged. Check it: pointveil ledger verify")
    return [dict(zip((column[0] for column in rows.description), found, strict=True))]


def refuse_other_content(book: sqlite3.Connection, entry: int, print_: bytes | None) -> None:
    """Raise if a charge, or an answer that it paid for, is about other data than these."""
    query = "SELECT fingerprint FROM event WHERE kind IN ('charge', 'answer') AND entry = ? AND fingerprint IS NOT NULL"
    if any(print_ is None or not hmac.compare_digest(row[0], print_) for row in book.execute(query, (entry,))):
        raise InputError(
            "The data are not those that this request was charged for: they have changed, or cannot be read. "
            "Put them back, or make a new request, which is charged anew."
        )


def refuse_private_prior(book: sqlite3.Connection, prior: Mapping[str, Any], prints: Sequence[bytes]) -> None:
    """Raise if the points of a prior are the data themselves, or were ever charged for as private data, or a copy."""
    theirs = [fingerprint(book, bytes.fromhex(digest)) for digest in prior.get("points", ())]
    if any(each in prints or find(book, "content", fingerprint=each) is not None for each in theirs):
        raise InputError(
            f"{prior['name']}, the prior, holds private data that this ledger accounts for: the same points. "
            "A prior must be public, or a release that was paid for. Nothing was charged."
        )


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


def kept(book: sqlite3.Connection, request: str, facts: str) -> Kept | None:
    """Return the first finished answer to a request, or else its open charge; other settings are refused."""
    wanted = json.loads(facts)
    charges = select(book, "entry, name, exact, seed, purpose", kind="charge", request=request)
    recorded = [json.loads(text) for *_, text in charges]
    if not all(same_facts(then, wanted) for then in recorded):
        raise InputError(f"Request {request!r} was made before with other settings. Give this one another name.")
    finished = book.execute(
        "SELECT entry, survey, seed FROM event WHERE kind = 'finish' AND entry IN "
        "(SELECT entry FROM event WHERE kind = 'charge' AND request = ?) ORDER BY id LIMIT 1",
        (request,),
    ).fetchone()
    # Before answers were kept, a charge without a release could not be resumed: its noise may have been seen.
    open_ = [(entry, None, seed) for entry, _, _, seed, _ in charges if seed is not None]
    if finished is None and not open_:
        return None
    if finished is None and any(then.get("edition") != wanted.get("edition") for then in recorded):
        raise InputError(f"Request {request!r} was begun by another edition: only that version can go on with it.")
    entry, survey, seed = finished or open_[0]
    name, price = next((name, exact) for number, name, exact, *_ in charges if number == entry)
    answers = tuple(bytes(answer) for (answer,) in select(book, "survey", kind="answer", entry=entry))
    outputs = select(book, "output", kind="output", entry=entry)
    stopped = next((exact for (exact,) in select(book, "exact", kind="stop", entry=entry)), None)
    written = {digest for (text,) in outputs for digest in json.loads(text).get("files", {}).values()}
    costs = Fraction(price if stopped is None else stopped)
    return Kept(entry, name, costs, int(seed), survey, answers, frozenset(written), stopped is not None)


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what the disk or the database says into an error that tells what to do."""
    unusable = f"The ledger {path} cannot be used"
    try:
        yield
    except (sqlite3.Error, OverflowError) as error:
        name = getattr(error, "sqlite_errorname", "")
        advice = next((text for code, text in ADVICE.items() if name.startswith(code)), "Check it: ledger verify.")
        raise InputError(f"{unusable} ({error}). {advice}") from error
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{unusable} ({reason}). Check its directory, or give another path.") from error
