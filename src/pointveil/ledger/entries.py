"""Say what goes into the ledger and what comes out of it."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pointveil.errors import InputError
from pointveil.files.exact import exact_number
from pointveil.ledger.schema import MICRO

LARGEST = 10**9


@dataclass(frozen=True)
class Charge:
    """One charge that is on the disk."""

    entry: int  # its number in the ledger
    dataset: str  # the name that was asked for
    # The account with the least room, in epsilon. For the owner's eyes: for a renamed copy these tell that two files
    # are the same, which no release may tell.
    spent_before: Fraction
    spent_after: Fraction
    cap: Fraction
    # What has been charged under this name, whatever the data, and the hash of the ledger up to this charge, in
    # hexadecimal digits: may be published.
    named_before: Fraction
    named_after: Fraction
    chain: str
    # Of a charge that can be resumed: the seed of the drawing, and which content its answers are about.
    seed: int | None = None
    fingerprint: bytes | None = field(default=None, repr=False)

    def published(self) -> dict[str, Any]:
        """Return what a statement may say of this charge: nothing here depends on the data."""
        return {
            "entry": self.entry,
            "chain_sha256": self.chain,
            "spent_before": str(self.named_before),
            "spent_after": str(self.named_after),
        }


@dataclass(frozen=True)
class Kept:
    """A request that was charged: what the ledger has of it."""

    entry: int
    name: str  # of the dataset
    epsilon: Fraction  # what it costs
    seed: int  # of the drawing
    survey: bytes | None  # all but answers and world that makes the release again; None until the answers are complete
    answers: tuple[bytes, ...]  # the noisy ones so far, as they were kept
    written: frozenset[str]  # SHA-256 of the files that were written for it
    stopped: bool = False  # whether it was given up early, and the rest of its charge given back


@dataclass(frozen=True)
class Account:
    """What one dataset, under all its names, may spend and has spent."""

    name: str
    aliases: tuple[str, ...]
    cap: Fraction
    spent: Fraction
    charges: int
    units: tuple[tuple[str, Fraction], ...] = ()  # what was spent for each protected unit, where that was asked for

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return max(self.cap - self.spent, Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain values, with epsilon as exact texts such as "1/3"."""
        sums = {name: str(getattr(self, name)) for name in ("cap", "spent", "left")}
        units = {unit: str(amount) for unit, amount in self.units}
        return {"dataset": self.name, "aliases": list(self.aliases), **sums, "charges": self.charges, "by_unit": units}


@dataclass(frozen=True)
class Entry:
    """One charge, as a line of the log."""

    entry: int
    time: str  # in UTC, to the second
    dataset: str
    epsilon: Fraction  # what stays charged
    unit: str  # who is protected
    method: str
    state: str  # "finished", "stopped" early, or "open": charged, and not finished yet
    output: str  # the names of the files that were written last
    request: str
    left_out: tuple[str, ...]  # the names of columns that nothing was released of
    joined: tuple[str, ...]  # the datasets that this charge showed to be about the same places: one account ever since
    about: Mapping[str, str]  # who did it, for whom, why, about which period; as far as it was said

    def to_dict(self) -> dict[str, Any]:
        """Return the line as plain values, with epsilon as an exact text such as "1/3"."""
        lists = {"left_out": list(self.left_out), "joined": list(self.joined)}
        return {**vars(self), "epsilon": str(self.epsilon), **lists, "about": dict(self.about)}


def unit_of(purpose: Mapping[str, Any]) -> str:
    """Return the protected unit that a charge was made for, in short."""
    if "person" not in purpose:
        return "not recorded"
    most = purpose.get("max_points", "")
    limit = f"at most {most} points" if most.isdecimal() else "points by noisy answers"
    return f"person ({limit})" if purpose["person"] else "point"


def kind_of(unit: str) -> str:
    """Return a protected unit without the number of its points: what sums are shown by."""
    return unit.partition(" (")[0]


def exact(epsilon: object, what: str = "epsilon") -> Fraction:
    """Return an epsilon or a cap as an exact fraction, from a number or a text such as "0.5" or "1/3"."""
    return exact_number(epsilon, what, 0, LARGEST)


def exact_cap(epsilon: object) -> Fraction:
    """Return a cap as an exact fraction."""
    return exact(epsilon, "the cap")


def plain(text: str, what: str) -> str:
    """Return a name in one spelling, or refuse it."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 255:
        raise InputError(f"{text!r} cannot be the {what}. Give 1 to 255 printable characters.")
    return unicodedata.normalize("NFC", text)


def canonical(facts: Mapping[str, Any]) -> str:
    """Return facts as text: the same facts, the same text."""
    try:
        return json.dumps(dict(facts), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"The ledger keeps plain facts only (text, numbers, lists): {error}.") from error


def same_facts(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether a request was recorded with these facts.

    Those that an older version did not record are left out; so is what another edition may say in other words, for
    then the edition is what tells, and the request is refused as such.
    """
    other_words = (
        {"about"} if recorded.get("edition") == wanted.get("edition") else {"about", "edition", "parameters", "split"}
    )
    told = recorded.keys() - other_words
    return told <= wanted.keys() and all(recorded[fact] == wanted[fact] for fact in told)


def decimal(amount: Fraction) -> str:
    """Write millionths as people do: 9.5 rather than 19/2."""
    return f"{(Decimal(int(amount * MICRO)) / MICRO).normalize():f}"
