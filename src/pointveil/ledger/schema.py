"""Keep the ledger's book: its tables, its chain of hashes, how it is made and opened."""

import hashlib
import hmac
import os
import secrets
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pointveil.errors import InputError
from pointveil.files.drafts import draft_folder
from pointveil.files.whole import sync

MICRO = 10**6
PATIENCE = 30  # seconds to wait for another process
APPLICATION = 0x50564C47  # "PVLG", so that no other database passes for a ledger
VERSION = 4
FIRST = 1  # the version that had no running sums; `upgrade` continues an older ledger
IDENTITY = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
DURABLE = ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON")  # a commit waits for the disk

Kind = Literal["cap", "name", "content", "charge", "answer", "finish", "output", "stop", "sum", "link"]
Value = int | str | bytes | None

FIRST_FIELDS = (
    *("id", "time", "kind", "account", "name", "fingerprint", "micro", "exact", "entry"),
    *("request", "purpose", "seed", "output", "survey", "salt", "previous"),
)
FIELDS = (*FIRST_FIELDS, "spent", "charges", "named", "number")

# The triggers look for earlier rows themselves: a UNIQUE index would let INSERT OR REPLACE delete silently.
KEY_TABLE = """
CREATE TABLE secret (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  key BLOB NOT NULL CHECK (length(key) = 32)
) STRICT;
"""
EVENTS = """
CREATE TABLE event (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  time TEXT NOT NULL,
  kind TEXT NOT NULL,
  account INTEGER,
  name TEXT,
  fingerprint BLOB,
  micro INTEGER CHECK (micro >= 0),
  exact TEXT,
  entry INTEGER,
  request TEXT,
  purpose TEXT,
  seed TEXT,
  output TEXT,
  survey BLOB,
  salt BLOB NOT NULL CHECK (length(salt) = 16),
  previous BLOB NOT NULL CHECK (length(previous) = 32),
  spent INTEGER,
  charges INTEGER,
  named INTEGER,
  number INTEGER,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  CHECK (CASE kind
    WHEN 'cap' THEN account IS NOT NULL AND micro IS NOT NULL AND exact IS NOT NULL
    WHEN 'name' THEN account IS NOT NULL AND name IS NOT NULL
    WHEN 'content' THEN account IS NOT NULL AND length(fingerprint) IS 32
    WHEN 'charge' THEN account IS NOT NULL AND name IS NOT NULL AND micro IS NOT NULL AND micro > 0
                       AND exact IS NOT NULL AND entry IS NOT NULL AND purpose IS NOT NULL
    WHEN 'answer' THEN entry IS NOT NULL AND number IS NOT NULL AND purpose IS NOT NULL AND survey IS NOT NULL
    WHEN 'finish' THEN entry IS NOT NULL AND seed IS NOT NULL AND output IS NOT NULL AND survey IS NOT NULL
    WHEN 'output' THEN entry IS NOT NULL AND output IS NOT NULL
    WHEN 'stop' THEN account IS NOT NULL AND name IS NOT NULL AND micro IS NOT NULL AND exact IS NOT NULL
                     AND entry IS NOT NULL AND spent IS NOT NULL AND charges IS NOT NULL AND named IS NOT NULL
    WHEN 'sum' THEN account IS NOT NULL AND name IS NOT NULL AND spent IS NOT NULL AND charges IS NOT NULL
                    AND named IS NOT NULL
    WHEN 'link' THEN account IS NOT NULL AND number IS NOT NULL AND entry IS NOT NULL AND micro IS NOT NULL
                     AND exact IS NOT NULL AND spent IS NOT NULL AND charges IS NOT NULL
    ELSE FALSE END)
) STRICT;
CREATE INDEX event_of_account ON event (kind, account);
CREATE INDEX event_of_name ON event (kind, name);
CREATE INDEX event_of_fingerprint ON event (kind, fingerprint);
CREATE INDEX event_of_entry ON event (kind, entry);
CREATE INDEX event_of_request ON event (kind, request);
CREATE INDEX event_of_sum ON event (account) WHERE spent IS NOT NULL;
CREATE INDEX event_of_named_sum ON event (name) WHERE named IS NOT NULL;
CREATE VIEW balance AS
  SELECT account,
    (SELECT micro FROM event WHERE kind IN ('cap', 'link') AND account = opened.account
      ORDER BY id DESC LIMIT 1) AS cap,
    coalesce((SELECT spent FROM event WHERE account = opened.account AND spent IS NOT NULL
      ORDER BY id DESC LIMIT 1), 0) AS spent,
    coalesce((SELECT charges FROM event WHERE account = opened.account AND spent IS NOT NULL
      ORDER BY id DESC LIMIT 1), 0) AS charges
  FROM (SELECT DISTINCT account FROM event WHERE kind = 'cap'
    AND account NOT IN (SELECT number FROM event WHERE kind = 'link')) AS opened;
CREATE VIEW home AS
  WITH RECURSIVE step (account, root) AS (
    SELECT DISTINCT account, account FROM event WHERE kind = 'cap'
    UNION SELECT step.account, event.account FROM step JOIN event ON event.kind = 'link' AND event.number = step.root)
  SELECT account, min(root) AS root FROM step GROUP BY account;
CREATE VIEW paid AS
  SELECT DISTINCT home.root, charge.entry, charge.micro
    - coalesce((SELECT micro FROM event WHERE kind = 'stop' AND entry = charge.entry LIMIT 1), 0) AS stays
  FROM event AS charge JOIN home USING (account) WHERE charge.kind = 'charge';
"""
TRIGGERS = """
CREATE TRIGGER event_is_never_changed BEFORE UPDATE ON event
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER event_is_never_deleted BEFORE DELETE ON event
  BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER event_comes_last BEFORE INSERT ON event
  WHEN NEW.id IS NOT (SELECT coalesce(max(id), 0) + 1 FROM event)
    OR EXISTS (SELECT 1 FROM event WHERE id = NEW.id - 1 AND hash IS NOT NEW.previous)
  BEGIN SELECT RAISE(ABORT, 'an event must follow the last one'); END;
CREATE TRIGGER charge_stays_within_cap BEFORE INSERT ON event
  WHEN NEW.kind = 'charge'
    AND NOT EXISTS (SELECT 1 FROM balance WHERE account = NEW.account AND spent + NEW.micro <= cap
      AND NEW.spent IS spent + NEW.micro AND NEW.charges IS charges + 1 AND NEW.named IS NOT NULL)
  BEGIN SELECT RAISE(ABORT, 'the charge is over the cap, or does not carry the sum'); END;
CREATE TRIGGER answer_follows_the_last BEFORE INSERT ON event
  WHEN NEW.kind = 'answer'
    AND (NOT EXISTS (SELECT 1 FROM event WHERE kind = 'charge' AND entry = NEW.entry)
      OR EXISTS (SELECT 1 FROM event WHERE kind IN ('finish', 'stop') AND entry = NEW.entry)
      OR NEW.number IS NOT (SELECT count(*) FROM event WHERE kind = 'answer' AND entry = NEW.entry))
  BEGIN SELECT RAISE(ABORT, 'an answer must follow a charge and the answers before it'); END;
CREATE TRIGGER output_follows_finish BEFORE INSERT ON event
  WHEN NEW.kind = 'output' AND NOT EXISTS (SELECT 1 FROM event WHERE kind = 'finish' AND entry = NEW.entry)
  BEGIN SELECT RAISE(ABORT, 'only what is finished can be written'); END;
CREATE TRIGGER sum_is_not_given_twice BEFORE INSERT ON event
  WHEN NEW.kind = 'sum' AND EXISTS (SELECT 1 FROM event WHERE spent IS NOT NULL AND kind = 'charge')
  BEGIN SELECT RAISE(ABORT, 'only the charges of an older ledger are summed up'); END;
CREATE TRIGGER name_has_one_account BEFORE INSERT ON event
  WHEN NEW.kind = 'name' AND EXISTS (SELECT 1 FROM event WHERE kind = 'name' AND name = NEW.name)
  BEGIN SELECT RAISE(ABORT, 'the name has an account already'); END;
CREATE TRIGGER content_has_one_account BEFORE INSERT ON event
  WHEN NEW.kind = 'content'
    AND EXISTS (SELECT 1 FROM event WHERE kind = 'content' AND fingerprint = NEW.fingerprint)
  BEGIN SELECT RAISE(ABORT, 'the content has an account already'); END;
CREATE TRIGGER finish_follows_charge BEFORE INSERT ON event
  WHEN NEW.kind = 'finish'
    AND (NOT EXISTS (SELECT 1 FROM event WHERE kind = 'charge' AND entry = NEW.entry)
      OR EXISTS (SELECT 1 FROM event WHERE kind IN ('finish', 'stop') AND entry = NEW.entry))
  BEGIN SELECT RAISE(ABORT, 'only a charge that is not finished can be finished'); END;
CREATE TRIGGER stop_gives_back_once BEFORE INSERT ON event
  WHEN NEW.kind = 'stop'
    AND (NOT EXISTS (SELECT 1 FROM event AS charge JOIN home USING (account)
        WHERE kind = 'charge' AND entry = NEW.entry AND root = NEW.account AND micro > NEW.micro)
      OR EXISTS (SELECT 1 FROM event WHERE kind IN ('finish', 'stop') AND entry = NEW.entry)
      OR NOT EXISTS (SELECT 1 FROM balance WHERE account = NEW.account
        AND NEW.spent IS spent - NEW.micro AND NEW.charges IS charges))
  BEGIN SELECT RAISE(ABORT, 'only a charge that is not finished can be given back, in part and once'); END;
CREATE TRIGGER link_adds_up BEFORE INSERT ON event
  WHEN NEW.kind = 'link'
    AND (NEW.account >= NEW.number
      OR 2 IS NOT (SELECT count(*) FROM balance WHERE account IN (NEW.account, NEW.number))
      OR NEW.micro IS NOT (SELECT min(cap) FROM balance WHERE account IN (NEW.account, NEW.number))
      OR NEW.spent IS NOT (SELECT coalesce(sum(stays), 0) FROM
        (SELECT DISTINCT entry, stays FROM paid WHERE root IN (NEW.account, NEW.number)))
      OR NEW.charges IS NOT (SELECT count(DISTINCT entry) FROM paid WHERE root IN (NEW.account, NEW.number)))
  BEGIN SELECT RAISE(ABORT, 'only two accounts become one, with the lower cap and all that was spent'); END;
CREATE TRIGGER secret_is_never_added BEFORE INSERT ON secret WHEN EXISTS (SELECT 1 FROM secret)
  BEGIN SELECT RAISE(ABORT, 'the ledger has its key already'); END;
CREATE TRIGGER secret_is_never_changed BEFORE UPDATE ON secret
  BEGIN SELECT RAISE(ABORT, 'the key of a ledger never changes'); END;
CREATE TRIGGER secret_is_never_deleted BEFORE DELETE ON secret
  BEGIN SELECT RAISE(ABORT, 'the key of a ledger is never deleted'); END;
"""
SCHEMA = KEY_TABLE + EVENTS + TRIGGERS

TAGS = {type(None): "n", int: "i", str: "t", bytes: "b"}


def link(values: Iterable[object]) -> bytes:
    """Hash the fields of one event: each with its type and length, so that no two rows read the same."""
    digest = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        digest.update(f"{TAGS.get(type(value), '?')}{len(data)}:".encode())
        digest.update(data)
    return digest.digest()


def seal(values: Sequence[object]) -> bytes:
    """Hash one row of events; one without running sums as it always was, so that old chains stay whole."""
    first = len(FIRST_FIELDS)
    return link(values[:first] if all(value is None for value in values[first:]) else values)


def secret_key(book: sqlite3.Connection) -> bytes:
    """Return the key of this ledger's fingerprints."""
    (key,) = book.execute("SELECT key FROM secret").fetchone() or (b"",)
    return bytes(key)


def genesis(book: sqlite3.Connection) -> bytes:
    """Return what stands before the first event: a hash of the key, so that the key cannot be exchanged."""
    return link(("pointveil ledger", FIRST, secret_key(book)))


def fingerprint(book: sqlite3.Connection, content: bytes) -> bytes:
    """Return the keyed fingerprint of a digest of the data; without the key nobody can test a guess."""
    return hmac.digest(secret_key(book), content, "sha256")


def last(book: sqlite3.Connection) -> tuple[int, bytes]:
    """Return the number and the hash of the last event."""
    row = book.execute("SELECT id, hash FROM event ORDER BY id DESC LIMIT 1").fetchone()
    return (int(row[0]), bytes(row[1])) if row else (0, genesis(book))


def append(book: sqlite3.Connection, kind: Kind, **fields: Value) -> bytes:
    """Append one event and return its hash.

    The salt makes a published hash say nothing of what it covers, not even to someone who guesses it.
    """
    number, previous = last(book)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    known = {"id": number + 1, "time": now, "kind": kind, "salt": secrets.token_bytes(16), "previous": previous}
    row = dict.fromkeys(FIELDS) | fields | known
    digest = seal(tuple(row.values()))
    places = ",".join("?" * (len(row) + 1))
    book.execute(f"INSERT INTO event VALUES ({places})", (*row.values(), digest))  # noqa: S608 - question marks only
    return digest


def shape(book: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return every table, index, view and trigger as it was written."""
    return set(book.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_schema"))


def intended_shape() -> set[tuple[str, str, str]]:
    """Return the shape of a new ledger."""
    with closing(sqlite3.connect(":memory:")) as book:
        book.executescript(SCHEMA)
        return shape(book)


def make(path: Path) -> None:
    """Make an empty ledger that appears whole or not at all, readable by its owner only."""
    refuse_old_sqlite()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with draft_folder(path.parent) as folder:
        draft = folder / "ledger.db"
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(draft, isolation_level=None)) as book:
            book.executescript(f"PRAGMA synchronous = OFF; BEGIN; {IDENTITY} {SCHEMA}")
            book.execute("INSERT INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
            book.execute("COMMIT")
            # Last, so that all of it is in the one file that is linked, even if closing the log fails.
            if book.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
                raise InputError(f"A ledger cannot be kept safely at {path}. Put it on a local disk.")
        sync(draft, os.O_RDWR)  # once for all: nobody has seen the draft yet
        try:  # unlike a rename, a link never replaces a ledger that another process made meanwhile
            os.link(draft, path)
        except FileExistsError:
            return
    if os.name == "posix":
        sync(path.parent)


def refuse_old_sqlite() -> None:
    """Refuse a library that does not know strict tables."""
    if sqlite3.sqlite_version_info < (3, 37):
        raise InputError(
            f"The ledger needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}. "
            "Use a Python that was built with a newer one."
        )


def connect(path: Path) -> sqlite3.Connection:
    """Open a ledger that exists, and refuse anything that is not one."""
    refuse_old_sqlite()
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is not a file, so it is not a ledger. Give the path of a file.")
    if os.name == "posix" and mode & 0o077:
        raise InputError(f"Other users may open the ledger {path}. Close it to them with: chmod 600 '{path}'")
    book = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        check_identity(book, path)
        for pragma in DURABLE:
            book.execute(f"PRAGMA {pragma}")
    except BaseException:
        book.close()
        raise
    return book


def check_identity(book: sqlite3.Connection, path: Path) -> None:
    """Refuse other databases, and versions of a ledger that this program does not know."""
    (application,) = book.execute("PRAGMA application_id").fetchone()
    (version,) = book.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise InputError(f"{path} is not a Pointveil ledger. Give another path, or restore the ledger from a backup.")
    if version > VERSION:
        raise InputError(
            f"The ledger {path} has version {version}, and this program knows versions up to {VERSION}. "
            "Install a newer Pointveil; do not delete the ledger, it holds what has been spent."
        )
