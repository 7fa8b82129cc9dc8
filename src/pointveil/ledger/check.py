"""Read a ledger from its first event to its last, and tell what is wrong with it."""

import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pointveil.ledger.schema import FIELDS, MICRO, genesis, intended_shape, seal, shape

Event = dict[str, Any]


@dataclass
class Replay:
    """What the events so far add up to."""

    caps: dict[int, int] = field(default_factory=dict)
    spent: Counter[int] = field(default_factory=Counter)
    charges: Counter[int] = field(default_factory=Counter)
    named: Counter[str] = field(default_factory=Counter)
    charged: set[int] = field(default_factory=set)
    paid: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))  # by account and entry
    stopped: set[int] = field(default_factory=set)
    joined: set[int] = field(default_factory=set)  # accounts that have become a part of another
    back: set[tuple[int, int]] = field(default_factory=set)  # accounts and entries of which something was given back
    answers: Counter[int] = field(default_factory=Counter)
    finished: set[int] = field(default_factory=set)
    summed: bool = False
    names: dict[str, int] = field(default_factory=dict)
    contents: set[bytes] = field(default_factory=set)


def find_problems(book: sqlite3.Connection, anchors: Iterable[str] = ()) -> list[str]:
    """Return every problem of a ledger as a sentence; an empty list means that there is none."""
    try:
        return [*check_file(book), *check_chain(book, anchors), *check_sums(book, Replay())]
    except (sqlite3.Error, UnicodeError) as error:
        return [f"The ledger cannot be read to its end: {error}."]


def check_file(book: sqlite3.Connection) -> Iterator[str]:
    """Look for damaged pages, and for tables and triggers that are not as they were made."""
    for (text,) in book.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield f"The file is damaged: {text}."
    for kind, name, _ in sorted(shape(book) ^ intended_shape()):
        yield f"The {kind} {name} is not as it was made."


def events(book: sqlite3.Connection) -> Iterator[tuple[Event, bytes]]:
    """Yield every event with its hash, oldest first; an older ledger has fewer fields, and the others are None."""
    for *values, digest in book.execute("SELECT * FROM event ORDER BY id"):
        yield dict.fromkeys(FIELDS) | dict(zip(FIELDS, values, strict=False)), digest


def check_chain(book: sqlite3.Connection, anchors: Iterable[str]) -> Iterator[str]:
    """Follow the hashes from the key to the last event, and look for the anchors on the way."""
    head, number = genesis(book), 0
    missing = set(anchors) - {head.hex()}
    for event, digest in events(book):
        if event["id"] != number + 1:
            yield f"Events are missing between {number} and {event['id']}."
        if event["previous"] != head:
            yield f"The chain is broken before event {event['id']}."
        if seal(tuple(event.values())) != digest:
            yield f"Event {event['id']} has been changed."
        head, number = digest, event["id"]
        missing.discard(bytes(head).hex())
    sequence = book.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'").fetchone() or (0,)
    if sequence != (number,):
        yield f"The last event is {number}, but {sequence[0]} have been written."
    for anchor in sorted(missing):
        yield f"The anchor {anchor} is not in the chain: the ledger has been rolled back or replaced."


def check_sums(book: sqlite3.Connection, replay: Replay) -> Iterator[str]:
    """Check every event against what those before it add up to, without the triggers' help."""
    for event, _ in events(book):
        for problem in RULES.get(event["kind"], unknown)(replay, event):
            yield f"Event {event['id']}: {problem}."


def cap(replay: Replay, event: Event) -> Iterator[str]:
    """Check that a cap is its exact value rounded down."""
    if not is_rounded(event, math.floor):
        yield f"the cap {event['exact']} is recorded as {event['micro']} millionths"
    if event["account"] in replay.joined:
        yield "a cap is set on an account that has become a part of another"
    replay.caps[event["account"]] = event["micro"] or 0


def name(replay: Replay, event: Event) -> Iterator[str]:
    """Check that a name leads to one account, which exists."""
    if event["name"] in replay.names or event["account"] not in replay.caps:
        yield "a name is given twice, or to no account"
    replay.names[event["name"]] = event["account"]


def content(replay: Replay, event: Event) -> Iterator[str]:
    """Check that a fingerprint leads to one account, which exists."""
    if event["fingerprint"] in replay.contents or event["account"] not in replay.caps:
        yield "a fingerprint is given twice, or to no account"
    replay.contents.add(event["fingerprint"])


def charge(replay: Replay, event: Event) -> Iterator[str]:
    """Check that a charge is its exact value rounded up, and that the cap of that moment had room for it."""
    account, micro = event["account"], event["micro"] or 0
    if not is_rounded(event, math.ceil):
        yield f"the charge {event['exact']} is recorded as {event['micro']} millionths"
    if event["name"] not in replay.names:
        yield "a name is charged that has no account"
    replay.spent[account] += micro
    replay.charges[account] += 1
    replay.named[event["name"]] += 0 if event["entry"] in replay.charged else micro  # to two accounts, but once
    replay.charged.add(event["entry"])
    replay.paid[account][event["entry"]] = micro
    if replay.spent[account] > replay.caps.get(account, 0):
        yield f"account {account} is charged over its cap"
    replay.summed = replay.summed or event["spent"] is not None
    if replay.summed:
        yield from total(replay, event)


def total(replay: Replay, event: Event) -> Iterator[str]:
    """Check that an event carries the sums up to it."""
    account = event["account"]
    sums = replay.spent[account], replay.charges[account], replay.named[event["name"]]
    replay.summed = True
    if (event["spent"], event["charges"], event["named"]) != sums:
        yield f"the sums of account {account} are wrong"


def answer(replay: Replay, event: Event) -> Iterator[str]:
    """Check that an answer was charged, and follows the one before it."""
    entry = event["entry"]
    ended = replay.finished | replay.stopped
    if entry not in replay.charged or entry in ended or event["number"] != replay.answers[entry]:
        yield f"an answer of entry {entry} is out of place"
    replay.answers[entry] += 1


def finish(replay: Replay, event: Event) -> Iterator[str]:
    """Check that what is finished was charged, and is finished once."""
    if event["entry"] not in replay.charged or event["entry"] in replay.finished | replay.stopped:
        yield f"entry {event['entry']} is finished without a charge, or twice"
    replay.finished.add(event["entry"])


def output(replay: Replay, event: Event) -> Iterator[str]:
    """Check that what is written was finished."""
    if event["entry"] not in replay.finished:
        yield f"entry {event['entry']} is written without being finished"


def stop(replay: Replay, event: Event) -> Iterator[str]:
    """Check that a charge was given back but for the exact price of what was asked, once, and was not finished."""
    entry, account, back = event["entry"], event["account"], event["micro"] or 0
    price = 0 if (account, entry) in replay.back else replay.paid[account].get(entry, 0)
    stays = {**event, "micro": price - back}
    if entry in replay.finished or not 0 < price - back <= price or not is_rounded(stays, math.ceil):
        yield f"more of entry {entry} is given back than was not asked for"
    replay.back.add((account, entry))
    replay.paid[account][entry] = price - back
    replay.spent[account] -= back
    replay.named[event["name"]] -= 0 if entry in replay.stopped else back
    replay.stopped.add(entry)
    yield from total(replay, event)


def link(replay: Replay, event: Event) -> Iterator[str]:
    """Check that two accounts become one with the lower cap, and that what was charged to both counts once."""
    home, other = event["account"], event["number"]
    if home == other or not {home, other} <= replay.caps.keys():
        yield "an account is joined that is none, or no longer one"
        return
    caps = replay.caps[home], replay.caps.pop(other)
    replay.joined.add(other)
    replay.paid[home] |= replay.paid.pop(other, {})
    replay.back |= {(home, entry) for account, entry in replay.back if account == other}
    replay.spent[home], replay.charges[home] = sum(replay.paid[home].values()), len(replay.paid[home])
    replay.caps[home] = event["micro"] or 0
    if (event["micro"], event["spent"], event["charges"]) != (min(caps), replay.spent[home], replay.charges[home]):
        yield f"the sums or the cap of account {home} are wrong"


def unknown(_replay: Replay, event: Event) -> Iterator[str]:
    """Complain of a kind of event that no ledger has."""
    yield f"no event is of the kind {event['kind']!r}"


RULES: dict[str, Callable[[Replay, Event], Iterator[str]]] = {
    **{rule.__name__: rule for rule in (cap, name, content, charge, answer, finish, output, stop, link)},
    "sum": total,
}


def is_rounded(event: Event, rounding: Callable[[Fraction], int]) -> bool:
    """Tell whether the millionths of an event are its exact value, rounded."""
    try:
        return bool(rounding(Fraction(event["exact"]) * MICRO) == event["micro"])
    except (ValueError, TypeError, ZeroDivisionError):
        return False
