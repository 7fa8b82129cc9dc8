"""Read what is kept of each charge: its answers, what became of it, and the log."""

import hmac
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from pointveil.errors import InputError
from pointveil.ledger.accounts import select
from pointveil.ledger.entries import Entry, Kept, same_facts, unit_of


def lines(book: sqlite3.Connection) -> Iterator[Entry]:
    """Yield the lines of the log; a charge to two accounts, as older versions made it, is one."""
    stopped = dict(book.execute("SELECT entry, exact FROM event WHERE kind = 'stop'"))
    finished = {entry for (entry,) in book.execute("SELECT entry FROM event WHERE kind = 'finish'")}
    outputs: dict[int, dict[str, Any]] = defaultdict(dict)  # the last word on each fact
    for entry, facts in book.execute("SELECT entry, output FROM event WHERE kind = 'output' ORDER BY id"):
        outputs[entry] |= json.loads(facts)
    joined: dict[int, list[str]] = defaultdict(list)
    for entry, *accounts in book.execute("SELECT entry, account, number FROM event WHERE kind = 'link' ORDER BY id"):
        firsts = [select(book, "name", kind="name", account=account)[0][0] for account in accounts]
        joined[entry] += [name for name in firsts if name not in joined[entry]]
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
            joined=tuple(joined[entry]),
            about=facts.get("about", {}),
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


def find_answer(book: sqlite3.Connection, entry: int, number: int, question: str) -> bytes | None:
    """Return the answer that was kept, if there is one; refuse one to another question."""
    for asked, answer in select(book, "purpose, survey", kind="answer", entry=entry, number=number):
        if asked != question:
            raise InputError("The answers in the ledger are to other questions. Use the version that asked them.")
        return bytes(answer)
    return None


def refuse_other_charge(book: sqlite3.Connection, entry: int, name: str, micro: int, print_: bytes | None) -> None:
    """Raise if a charge has another name or price, or if it, or an answer that it paid for, is about other data."""
    if (name, micro) not in select(book, "name, micro", kind="charge", entry=entry):
        raise InputError(
            "The request was charged for another dataset, or at another price. Give this one another name."
        )
    query = "SELECT fingerprint FROM event WHERE kind IN ('charge', 'answer') AND entry = ? AND fingerprint IS NOT NULL"
    if any(print_ is None or not hmac.compare_digest(row[0], print_) for row in book.execute(query, (entry,))):
        raise InputError(
            "The data are not those that this request was charged for: they have changed, or cannot be read. "
            "Put them back, or make a new request, which is charged anew."
        )
