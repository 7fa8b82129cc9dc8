"""Find the one account that a dataset belongs to, under whatever name, and what it may spend and has spent."""

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from pointveil.errors import BudgetError, InputError
from pointveil.ledger.entries import Account, decimal, kind_of, unit_of
from pointveil.ledger.schema import MICRO, append, fingerprint, seal

DEFAULT_CAP = Fraction(3)
NEXT_ACCOUNT = "SELECT coalesce(max(account), 0) + 1 FROM event WHERE kind = 'cap'"
OF_CAP = "kind IN ('cap', 'link') AND account = ?"
JOINED = "SELECT coalesce(sum(stays), 0), count(*) FROM (SELECT DISTINCT entry, stays FROM paid WHERE root IN (?, ?))"


def select(book: sqlite3.Connection, fields: str, **where: object) -> list[Any]:
    """Return these fields of the events that have these values, oldest first."""
    conditions = " AND ".join(f"{field} = ?" for field in where)
    query = f"SELECT {fields} FROM event WHERE {conditions} ORDER BY id"  # noqa: S608 - our own words only
    return book.execute(query, tuple(where.values())).fetchall()


def checked(book: sqlite3.Connection, condition: str, *values: object) -> list[dict[str, Any]]:
    """Return the newest event of a kind, if there is one and its hash is right: all older ones stand behind it."""
    rows = book.execute(f"SELECT * FROM event WHERE {condition} ORDER BY id DESC LIMIT 1", values)  # noqa: S608 - ours
    found = rows.fetchone()
    if found is None:
        return []
    if seal(found[:-1]) != found[-1]:
        raise InputError("The ledger has been changed by hand: nothing is charged. Check it: pointveil ledger verify")
    return [dict(zip((column[0] for column in rows.description), found, strict=True))]


def root(book: sqlite3.Connection, account: int) -> int:
    """Return the account that this one has become a part of, or itself."""
    while linked := select(book, "account", kind="link", number=account):
        ((account,),) = linked
    return account


def members(book: sqlite3.Connection, account: int) -> list[int]:
    """Return an account and all that have become a part of it."""
    found = [account]
    for each in found:
        found += [number for (number,) in select(book, "number", kind="link", account=each)]
    return found


def find(book: sqlite3.Connection, kind: Literal["name", "content"], **key: str | bytes) -> int | None:
    """Return the account that a name or a fingerprint leads to."""
    return next((root(book, account) for (account,) in select(book, "account", kind=kind, **key)), None)


def charged_account(book: sqlite3.Connection, name: str, prints: Sequence[bytes], entry: int) -> tuple[int, bool]:
    """Return the one account that a name and fingerprints lead to, and whether several became one for this entry."""
    named = find(book, "name", name=name)
    known = {print_: find(book, "content", fingerprint=print_) for print_ in prints}
    found = {account for account in (named, *known.values()) if account is not None}
    home = join(book, found, entry) if found else open_account(book, name, DEFAULT_CAP)
    if found and named is None:
        append(book, "name", account=home, name=name)
    for print_ in (print_ for print_, account in known.items() if account is None):
        append(book, "content", account=home, fingerprint=print_)
    return home, len(found) > 1


def join(book: sqlite3.Connection, accounts: Iterable[int], entry: int) -> int:
    """Make one account of several, for good, and return it: the oldest, with the lowest cap and all that was spent."""
    home, *others = sorted(accounts)
    for other in others:
        caps = [row for number in (home, other) for row in checked(book, OF_CAP, number)]
        lowest = min(caps, key=lambda row: row["micro"])
        spent, charges = book.execute(JOINED, (home, other)).fetchone()  # what was charged to both counts once
        append(
            book, "link", account=home, number=other, entry=entry, micro=lowest["micro"], exact=lowest["exact"],
            spent=spent, charges=charges,
        )  # fmt: skip
    return home


def open_account(book: sqlite3.Connection, name: str, cap: Fraction) -> int:
    """Open an account for a dataset that nobody has named before."""
    number: int = book.execute(NEXT_ACCOUNT).fetchone()[0]
    record_cap(book, number, name, cap)
    append(book, "name", account=number, name=name)
    return number


def record_cap(book: sqlite3.Connection, account: int, name: str, cap: Fraction) -> None:
    """Append a cap, rounded down, as charges are rounded up: both err on the side of privacy."""
    append(book, "cap", account=account, name=name, micro=math.floor(cap * MICRO), exact=str(cap))


def named_cap(book: sqlite3.Connection, name: str) -> Fraction:
    """Return the cap that was set under a name, whatever the data; older versions noted none but the first name."""
    query = """
      SELECT micro FROM event WHERE kind = 'cap' AND (name = ?1 OR name IS NULL AND account =
        (SELECT account FROM event AS given WHERE kind = 'name' AND name = ?1
          AND NOT EXISTS (SELECT 1 FROM event WHERE kind = 'name' AND account = given.account AND id < given.id)))
      ORDER BY id DESC LIMIT 1"""
    row = book.execute(query, (name,)).fetchone()
    return DEFAULT_CAP if row is None else Fraction(row[0], MICRO)


def balance(book: sqlite3.Connection, account: int) -> Account:
    """Return one account as it stands."""
    query = "SELECT cap, spent, charges FROM balance WHERE account = ?"
    cap, spent, charges = book.execute(query, (account,)).fetchone()
    given = (row for member in members(book, account) for row in select(book, "id, name", kind="name", account=member))
    name, *aliases = [name for _, name in sorted(given)]
    return Account(name, tuple(aliases), Fraction(cap, MICRO), Fraction(spent, MICRO), charges)


def append_charge(
    book: sqlite3.Connection, account: int, entry: int, name: str, micro: int, **facts: str | bytes | None
) -> None:
    """Append a charge, with the sums up to it; checks the rows that it builds on."""
    spent, charges, named = sums(book, account, name)
    checked(book, OF_CAP, account)
    after = {"spent": spent + micro, "charges": charges + 1, "named": named + micro}
    append(book, "charge", account=account, entry=entry, name=name, micro=micro, **after, **facts)


def sums(book: sqlite3.Connection, account: int, name: str) -> tuple[int, int, int]:
    """Return what an account has spent, in how many charges, and what was spent under a name; checks those rows."""
    spent, charges = 0, 0
    for row in checked(book, "account = ? AND spent IS NOT NULL", account):
        spent, charges = row["spent"], row["charges"]
    named = sum(row["named"] for row in checked(book, "name = ? AND named IS NOT NULL", name))
    return spent, charges, named


def spent_by_unit(book: sqlite3.Connection) -> dict[int, dict[str, Fraction]]:
    """Return what each account has spent for each protected unit; the cap counts them all alike."""
    units: dict[int, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    purposes = dict(book.execute("SELECT entry, purpose FROM event WHERE kind = 'charge'"))
    for account, entry, micro in book.execute("SELECT root, entry, stays FROM paid ORDER BY entry"):
        units[account][kind_of(unit_of(json.loads(purposes[entry])))] += Fraction(micro, MICRO)
    return units


def refuse_private_prior(book: sqlite3.Connection, prior: Mapping[str, Any], prints: Sequence[bytes]) -> None:
    """Raise if the points of a prior are the data themselves, or were ever charged for as private data, or a copy."""
    theirs = [fingerprint(book, bytes.fromhex(digest)) for digest in prior.get("points", ())]
    if any(each in prints or find(book, "content", fingerprint=each) is not None for each in theirs):
        raise InputError(
            f"{prior['name']}, the prior, holds private data that this ledger accounts for: the same points. "
            "A prior must be public, or a release that was paid for. Nothing was charged."
        )


def refuse_overspending(dataset: str, account: Account, price: Fraction) -> None:
    """Raise when an account has no room for a charge."""
    if account.spent + price > account.cap:
        same = "" if dataset == account.name else f" (one account with {account.name!r})"
        raise BudgetError(
            f"Dataset {dataset!r}{same} has epsilon {decimal(account.left)} left: "
            f"cap {decimal(account.cap)}, spent {decimal(account.spent)}; {decimal(price)} was asked for. "
            "Nothing was charged. "
            f"Ask for less, or decide on a higher cap: pointveil ledger cap '{account.name}' EPSILON"
        )
