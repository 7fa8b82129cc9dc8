"""Account for every epsilon spent on a dataset, on disk, before any noise is drawn."""

import math
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from pointveil.errors import InputError
from pointveil.files.whole import refuse_address
from pointveil.ledger.accounts import (
    append_charge,
    balance,
    charged_account,
    checked,
    find,
    named_cap,
    open_account,
    record_cap,
    refuse_overspending,
    refuse_private_prior,
    root,
    select,
    spent_by_unit,
    sums,
)
from pointveil.ledger.check import find_problems
from pointveil.ledger.entries import Account, Charge, Entry, Kept, canonical, exact, exact_cap, plain
from pointveil.ledger.records import find_answer, kept, lines, refuse_other_charge
from pointveil.ledger.schema import MICRO, PATIENCE, append, connect, fingerprint, last, make
from pointveil.ledger.upgrade import upgrade

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
        refuse_address(self.path)

    def set_cap(self, dataset: str, epsilon: Fraction | float | str) -> Account:
        """Set how much may be spent on a dataset in all; a cap below what is spent just leaves nothing."""
        name, amount = plain(dataset, "name of a dataset"), exact_cap(epsilon)
        with self._writing() as book:
            account = find(book, "name", name=name)
            if account is None:
                account = open_account(book, name, amount)
            else:
                record_cap(book, account, name, amount)
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
                refuse_other_charge(book, entry, name, micro, print_)
            paid = bool(select(book, "id", kind="charge", entry=entry))
            prints = [] if print_ is None else [print_, *(fingerprint(book, digest) for digest in alike)]
            refuse_private_prior(book, purpose.get("prior") or {}, prints)
            number, joined = charged_account(book, name, prints, entry)
            account, price = balance(book, number), Fraction(micro, MICRO)
            if joined or not paid:
                refuse_overspending(name, account, Fraction(0) if paid else price)
            if not paid:
                append_charge(
                    book, number, entry, name, micro, exact=str(amount), purpose=facts, request=request,
                    seed=None if seed is None else str(seed), fingerprint=print_,
                )  # fmt: skip
            *_, (sum_, chain) = select(book, "named, hash", kind="charge", entry=entry)
        before, named = account.spent - (price if paid else 0), Fraction(sum_, MICRO)
        return Charge(
            entry=entry, dataset=name, spent_before=before, spent_after=before + price, cap=account.cap,
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

    def stop(self, entry: int, spent: Fraction, asked: int) -> None:
        """End an entry early: what was charged beyond `spent`, the price of all that was asked, is given back, once.

        Whether to stop must follow from noisy answers that were paid for, and from nothing else about the data. If more
        answers are kept than were `asked` for here, somebody else went on with the entry: nothing is given back.
        """
        stays = math.ceil(spent * MICRO)
        with self._writing() as book:
            answers = select(book, "id", kind="answer", entry=entry)
            if len(answers) > asked or select(book, "id", kind="stop", entry=entry):
                return
            for charged, name, micro in select(book, "account, name, micro", kind="charge", entry=entry)[:1]:
                account = root(book, charged)
                before, charges, named = sums(book, account, name)
                append(
                    book, "stop", account=account, entry=entry, name=name, micro=micro - stays, exact=str(spent),
                    charges=charges, spent=before - micro + stays, named=named - micro + stays,
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

    def named_cap(self, dataset: str) -> Fraction:
        """Return the cap that was set under a name: unlike that of its account, it tells nothing about the data."""
        with self._reading() as book:
            return named_cap(book, plain(dataset, "name of a dataset"))

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
