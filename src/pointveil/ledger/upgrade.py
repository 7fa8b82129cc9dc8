"""Continue a ledger of an older version: its rows and hashes stay, and today's tables and triggers hold them."""

import hashlib
import sqlite3
from collections.abc import Iterator

from pointveil.errors import InputError
from pointveil.ledger.accounts import join, root, select
from pointveil.ledger.check import Replay, check_chain, check_sums
from pointveil.ledger.schema import EVENTS, FIELDS, FIRST, FIRST_FIELDS, TRIGGERS, VERSION, append, shape

# A digest of the tables, indexes and triggers of each older version.
SHAPES = {
    1: "6c54318c290dff933387f7ace7f62d27412e65803ede25290e5d5784f4b76661",
    2: "75b0666f194df7203c9c1c0ce9f15d22deab59c3a131f371c046375941cb7e9f",
    3: "35ab20c5bff754a3b3f18812f781c9d2c1417944bc565de87a2263a090054ca0",
}
SHARED = (
    "SELECT entry FROM event WHERE kind = 'charge' GROUP BY entry HAVING count(DISTINCT account) > 1 ORDER BY entry"
)
FIND = "SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL"


def upgrade(book: sqlite3.Connection) -> None:
    """Give an older ledger today's tables; one that is not sound is left as it is, and refused."""
    if version_of(book) == VERSION:
        return
    book.execute("BEGIN IMMEDIATE")
    version, so_far = version_of(book), Replay()
    if version == VERSION:
        book.execute("ROLLBACK")  # another process was quicker
        return
    digest = hashlib.sha256(repr(sorted(shape(book))).encode()).hexdigest()
    problems = [] if digest == SHAPES.get(version) else ["Its tables or triggers are not as they were made."]
    problems += [*check_chain(book, ()), *check_sums(book, so_far)]
    if problems:
        raise InputError(f"The ledger is not sound: {' '.join(problems)} Restore it from a backup.")
    for kind in ("trigger", "view", "index"):
        for (name,) in book.execute(FIND, (kind,)).fetchall():
            book.execute(f"DROP {kind} {name}")
    book.execute("ALTER TABLE event RENAME TO earlier")
    for statement in statements(EVENTS):
        book.execute(statement)
    fields = ", ".join(FIRST_FIELDS if version == FIRST else FIELDS)
    book.execute(f"INSERT INTO event ({fields}, hash) SELECT {fields}, hash FROM earlier ORDER BY id")  # noqa: S608
    book.execute("DROP TABLE earlier")
    for statement in statements(TRIGGERS):
        book.execute(statement)
    if version == FIRST:  # which had no sums: they are appended to the chain
        for name, account in so_far.names.items():
            sums = {"spent": so_far.spent[account], "charges": so_far.charges[account], "named": so_far.named[name]}
            append(book, "sum", account=account, name=name, **sums)
    for (entry,) in book.execute(SHARED).fetchall():  # to accounts that are one now
        join(book, {root(book, account) for (account,) in select(book, "account", kind="charge", entry=entry)}, entry)
    book.execute(f"PRAGMA user_version = {VERSION}")
    book.execute("COMMIT")


def version_of(book: sqlite3.Connection) -> int:
    """Return the version of a ledger."""
    return int(book.execute("PRAGMA user_version").fetchone()[0])


def statements(script: str) -> Iterator[str]:
    """Yield the statements of a script: sqlite3 would commit before a whole one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
