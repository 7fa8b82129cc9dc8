"""Cut the text of a CSV file into lines, each of which is a record, so that a bad one spoils only itself."""

import csv
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 24
LONGEST_RECORD = 1 << 20


class Records(NamedTuple):
    """Some records: lines in which every quote opens, closes or is doubled; and the fields of the other lines."""

    text: bytes
    others: list[list[str]]


def records(stream: Any, delimiter: str) -> Iterator[Records]:
    """Yield all records of a stream; a line longer than a block is left out."""
    rest, skipping, block = b"", False, b"more"
    while block:
        block = stream.read(BLOCK_BYTES)
        text = (rest + block).replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # one way to end a line
        # Only the first line can be longer than a block, for only it began before this one.
        first = text.find(b"\n") if b"\n" in text else len(text)
        if skipping or first > BLOCK_BYTES:
            skipping = first == len(text)
            text = text[first + 1 :]
        end = text.rfind(b"\n") + 1 if block else len(text)
        yield sorted_out(text[:end], delimiter)
        rest = text[end:]


def sorted_out(text: bytes, delimiter: str) -> Records:
    """Return the records of whole lines; a value does not go on in the next line."""
    if b'"' not in text:
        return Records(text, [])
    characters = np.frombuffer(text, dtype=np.uint8)
    newlines = np.flatnonzero(characters == ord("\n"))
    starts = np.append(0, newlines + 1)
    ends = np.append(newlines + 1, len(text))
    good: list[bytes] = []
    others: list[list[str]] = []
    place = 0
    for line in badly_quoted(characters, newlines, delimiter).tolist():
        good.append(text[place : starts[line]])
        place = int(ends[line])
        others.append(fields_of(text[starts[line] : place], delimiter))
    good.append(text[place:])
    return Records(b"".join(good), others)


def badly_quoted(characters: NDArray[np.uint8], newlines: NDArray[np.int64], delimiter: str) -> NDArray[np.int64]:
    """Return which lines have a quote that neither opens a value, nor closes one, nor is doubled within one."""
    places = np.flatnonzero(characters == ord('"'))
    lines = np.searchsorted(newlines, places)
    is_first = np.append(True, lines[1:] != lines[:-1])
    first = np.flatnonzero(is_first)
    count = np.diff(np.append(first, len(places)))
    opening = (np.arange(len(places)) - np.repeat(first, count)) % 2 == 0
    borders = np.zeros(256, dtype=bool)
    borders[[ord(delimiter), ord("\n"), ord('"')]] = True
    before = borders[characters[places - 1]] | (places == 0)
    after = borders[characters[np.minimum(places + 1, len(characters) - 1)]]
    wrong = lines[~np.where(opening, before, after)]
    return np.union1d(wrong, lines[first][count % 2 == 1])


def fields_of(line: bytes, delimiter: str) -> list[str]:
    """Return the fields of one line; a line that is no record has none."""
    # Latin-1 gives every byte a character, so no byte can be wrong.
    text = line.decode("latin-1").rstrip("\n")
    try:
        return next(csv.reader([text], delimiter=delimiter, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []
