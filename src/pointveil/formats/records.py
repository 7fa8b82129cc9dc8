"""Cut the text of a CSV file into records, so that a bad record spoils only itself."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 24
LONGEST_RECORD = 1 << 20
LONGEST_LINES = 100


@dataclass(frozen=True)
class Records:
    """Some records of a CSV file, in two parts.

    Parameters
    ----------
    text
        Whole records in which every quote opens a value, closes one, or is doubled within one.
    others
        The fields of the records with other quotes.
    """

    text: bytes
    others: list[list[str]]


def records(stream: Any, delimiter: str) -> Iterator[Records]:
    """Yield all records of a stream; a line too long for memory is left out."""
    rest, skipping, block = b"", False, b"more"
    while block:
        block = stream.read(BLOCK_BYTES)
        text = one_newline(rest + block)
        if skipping:
            cut = text.find(b"\n") + 1
            text, skipping = text[cut:] if cut else b"", not cut
        found, end = sorted_out(text, delimiter, final=not block)
        yield found
        rest = text[end:]
        if len(rest) > BLOCK_BYTES:
            rest, skipping = b"", True


def one_newline(text: bytes) -> bytes:
    """Return the text with every line ending written the same way."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def sorted_out(text: bytes, delimiter: str, *, final: bool) -> tuple[Records, int]:
    """Return the records of a text, and where one begins that may go on after it."""
    quotes = Quotes.of(text, delimiter)
    good: list[bytes] = []
    others: list[list[str]] = []
    place = 0
    while (wrong := quotes.first_wrong(place)) is not None:
        start = quotes.record_start(wrong, place)
        good.append(text[place:start])
        if not final and start >= len(text) - LONGEST_RECORD:
            return Records(b"".join(good), others), start
        fields, place = record_at(text, start, delimiter)
        others.append(fields)
    end = len(text) if final else quotes.record_start(len(quotes.places), place)
    good.append(text[place:end])
    return Records(b"".join(good), others), end


@dataclass(frozen=True)
class Quotes:
    """Where the quotes of a text stand, and which cannot be what they seem.

    Parameters
    ----------
    text
        The text.
    places
        Where its quotes stand.
    wrong
        The quotes that stand wrongly if the even ones open values, and if the odd ones do.
    """

    text: bytes
    places: NDArray[np.int64]
    wrong: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, text: bytes, delimiter: str) -> "Quotes":
        """Return the quotes of a text."""
        nothing = np.empty(0, dtype=np.int64)
        if b'"' not in text:
            return cls(text, nothing, (nothing, nothing))
        characters = np.frombuffer(text, dtype=np.uint8)
        places = np.flatnonzero(characters == ord('"'))
        borders = np.zeros(256, dtype=bool)
        borders[[ord(delimiter), ord("\n"), ord('"')]] = True
        opens = borders[characters[places - 1]]
        closes = borders[characters[np.minimum(places + 1, len(text) - 1)]]
        opens[0] |= places[0] == 0
        even = np.arange(len(places)) % 2 == 0
        wrong = [np.flatnonzero(~np.where(opening, opens, closes)) for opening in (even, ~even)]
        return cls(text, places, (wrong[0], wrong[1]))

    def first_wrong(self, start: int) -> int | None:
        """Return the quote that opens the first badly quoted value after the beginning of a record."""
        first = int(np.searchsorted(self.places, start))
        wrong = self.wrong[first % 2]
        found = int(np.searchsorted(wrong, first))
        if found < len(wrong):
            return int(wrong[found]) - (int(wrong[found]) - first) % 2
        return len(self.places) - 1 if (len(self.places) - first) % 2 else None

    def record_start(self, opening: int, start: int) -> int:
        """Return where the record begins that holds this quote, looking back no further than `start`."""
        first = int(np.searchsorted(self.places, start))
        end = int(self.places[opening]) if opening < len(self.places) else len(self.text)
        while True:
            begin = int(self.places[opening - 1]) if opening > first else start
            newline = self.text.rfind(b"\n", begin, end)
            if newline >= 0 or opening <= first:
                return newline + 1 if newline >= 0 else start
            opening -= 2
            end = int(self.places[opening])


def record_at(text: bytes, start: int, delimiter: str) -> tuple[list[str], int]:
    """Return the fields of a record and where it ends; a line that is no record has no fields."""
    ends: list[int] = []

    def lines() -> Iterator[str]:
        place = start
        while place < len(text) and len(ends) < LONGEST_LINES:
            ends.append(text.find(b"\n", place) + 1 or len(text))
            # Latin-1 gives every byte a character, so no byte can be wrong.
            yield text[place : ends[-1]].decode("latin-1")
            place = ends[-1]

    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        return next(reader), ends[-1]
    except csv.Error:
        return [], ends[0]


def one_by_one(text: bytes, delimiter: str) -> Iterator[list[str]]:
    """Yield the fields of each record, slowly and whatever the text."""
    place = 0
    while place < len(text):
        fields, place = record_at(text, place, delimiter)
        yield fields
