"""Read text as moments, each by itself and without complaint: ISO 8601, or a form that the owner declares."""

import datetime as dt
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Ints, blocks
from pointveil.formats.wkb import taken_apart

Bytes = NDArray[np.uint8]

BLOCK = 1 << 16
LONGEST = 40  # bytes: no moment in ISO 8601 is longer
LONGEST_TRIED = 1 << 10  # bytes, with what is blank around them
WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
"""The directives of strptime that have a place of their own in a text, and how many digits each has."""
ANY = "\0"  # stands for any sign
USUAL = f"%Y-%m-%d{ANY}%H:%M:%S"
BETWEEN = np.frombuffer(b"T t", np.uint8)  # date and time
ISO = (
    r"^[\s\v]*(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?:[T t](?P<H>[0-9]{2}):(?P<M>[0-9]{2})"
    r"(?::(?P<S>[0-9]{2})(?:[.,][0-9]{1,20})?)?(?P<zone>[Zz]|[+-](?P<h>[0-9]{2})(?::?(?P<n>[0-9]{2}))?)?)?[\s\v]*$"
)
"""Of a fraction of a second nothing is kept."""
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 — wall-clock time
NOTHING = (0, False, False)


class Moments(NamedTuple):
    """What some values say: seconds since 1970, whether as UTC rather than as wall-clock time, and which say one."""

    seconds: Ints
    is_utc: Bools
    good: Bools

    @classmethod
    def nothing(cls, count: int) -> "Moments":
        """Return `count` values that say nothing."""
        return cls(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool))

    @classmethod
    def of(cls, told: Iterable[tuple[int, bool, bool]]) -> "Moments":
        """Gather what values say one by one; `NOTHING` for one that says no moment."""
        columns = np.array([*told, NOTHING], dtype=np.int64)[:-1].T
        return cls(columns[0], columns[1] > 0, columns[2] > 0)

    def put(self, rows: Any, others: "Moments") -> None:
        """Take over what others say about these rows."""
        for ours, theirs in zip(self, others, strict=True):
            ours[rows] = theirs


def moments_in(values: Any, form: str | None) -> Moments:
    """Return what the texts of a binary Arrow array say; blanks around them do not count."""
    found = Moments.nothing(len(values))
    data, start, end, valid = taken_apart(values)
    for rows in blocks(len(values), BLOCK) if width_of(form or USUAL) else ():
        lengths = np.where(valid[rows], end[rows] - start[rows], 0)
        texts = _matrix(data, start[rows], lengths)
        said = _template(texts, lengths, form or USUAL)
        if form is None and said.good.any():
            said.good[said.good] &= np.isin(texts[said.good, 10], BETWEEN)
        found.put(rows, said)
    left = np.flatnonzero(valid & ~found.good & (end - start <= LONGEST_TRIED))
    if len(left):
        texts = values.take(pa.array(left))
        found.put(left, _leniently(texts) if form is None else _one_by_one(texts.to_pylist(), form))
    return found


def _one_by_one(texts: list[bytes], form: str) -> Moments:
    known = {text: _told(text, form) for text in set(texts)}  # of this batch alone: no text outlives it
    return Moments.of(known[text] for text in texts)


def _told(text: bytes, form: str) -> tuple[int, bool, bool]:
    try:
        return seconds_of(dt.datetime.strptime(text.strip().decode(), form))  # noqa: DTZ007 — the form says whether it has a zone
    except Exception:  # noqa: BLE001 — whatever is raised, it is a text that says no moment
        return NOTHING


def seconds_of(moment: dt.datetime) -> tuple[int, bool, bool]:
    """Return what a moment says, as `Moments` has it."""
    is_utc = moment.utcoffset() is not None
    local = moment.astimezone(dt.UTC).replace(tzinfo=None) if is_utc else moment.replace(tzinfo=None)
    return (local - EPOCH) // dt.timedelta(seconds=1), is_utc, True


def _matrix(data: Bytes, start: Ints, lengths: Ints) -> Bytes:
    """Return (n, longest) the bytes of texts, with zeros after each; those that are too long have none."""
    width = int(min(lengths.max(initial=0), LONGEST))
    if len(start) and (lengths == width).all() and (np.diff(start) == width).all():
        return data[start[0] : start[0] + len(start) * width].reshape(len(start), width)
    lengths = np.where(lengths > LONGEST, 0, lengths)
    places = np.arange(width)
    inside = places < lengths[:, np.newaxis]
    found = np.zeros(inside.shape, dtype=np.uint8)
    found[inside] = data[(start[:, np.newaxis] + places)[inside]]
    return found


def _leniently(texts: Any) -> Moments:
    """Return what texts say in ISO 8601: dates, times with or without seconds, and with or without a zone."""
    found = pc.extract_regex(texts, ISO)
    fields = {name: _whole(pc.struct_field(found, name)) for name in "YmdHMShn"}
    said = _moment(fields, found.is_valid().to_numpy(zero_copy_only=False))
    zone = pc.fill_null(pc.struct_field(found, "zone"), b"")
    ahead = fields["h"] * 3600 + fields["n"] * 60
    ahead *= np.where(pc.starts_with(zone, "-"), -1, 1)
    good = said.good & (fields["h"] < 24) & (fields["n"] < 60)
    return Moments(said.seconds - ahead, np.asarray(pc.greater(pc.binary_length(zone), 0)), good)


def _whole(digits: Any) -> Ints:
    """Return digits as numbers; zero where there are none."""
    blank = pc.fill_null(pc.equal(pc.binary_length(digits), 0), True)
    # Not `if_else`: before pyarrow 24 it reads the wrong bytes of a sliced column.
    digits = pc.replace_with_mask(digits, blank, pa.scalar(b"0", digits.type))
    return np.asarray(digits.cast(pa.large_string()).cast(pa.int64()))


def width_of(form: str) -> int | None:
    """Return how long a text of this form is, if all are equally long."""
    pieces = form.split("%")
    if not form.isascii() or any(piece[:1] not in WIDTHS for piece in pieces[1:]):
        return None
    return len(pieces[0]) + sum(WIDTHS[piece[0]] + len(piece) - 1 for piece in pieces[1:])


def _template(texts: Bytes, lengths: Ints, form: str) -> Moments:
    """Return the moments of texts in a form whose fields have fixed places."""
    count, width = len(texts), width_of(form)
    if width is None or texts.shape[1] < width:
        return Moments.nothing(count)
    fields = {"Y": np.full(count, 1970), "m": np.ones(count, dtype=np.int64), "d": np.ones(count, dtype=np.int64)}
    good = lengths == width
    place = 0
    for number, piece in enumerate(form.split("%")):
        literal = piece[1:] if number else piece
        if number:
            wide = WIDTHS[piece[0]]
            value = np.zeros(count, dtype=np.int64)
            for column in range(place, place + wide):
                digit = texts[:, column] - np.uint8(ord("0"))
                good &= digit < 10
                value = value * 10 + digit
            fields[piece[0]] = value
            place += wide
        for sign in literal:
            if sign != ANY:
                good &= texts[:, place] == ord(sign)
            place += 1
    return _moment(fields, good)


def _moment(fields: dict[str, Ints], good: Bools) -> Moments:
    year, month, day = fields["Y"], fields["m"], fields["d"]
    if "y" in fields:
        year = fields["y"] + np.where(fields["y"] < 69, 2000, 1900)  # as strptime has it
    good = good & (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(good, year * 12 + month - 13, 0)
    begins = _months()
    first = begins[months]
    good &= day <= begins[months + 1] - first
    seconds = (first + day - 1) * 86_400
    for name, size, most in (("H", 3600, 24), ("M", 60, 60), ("S", 1, 60)):
        if name in fields:
            seconds = seconds + fields[name] * size
            good &= fields[name] < most
    return Moments(np.where(good, seconds, 0), np.zeros(len(good), dtype=bool), good)


@cache
def _months() -> Ints:
    """Return on which day since 1970 each month begins, from the year 1 on."""
    return np.arange("0001-01", "10000-02", dtype="M8[M]").astype("M8[D]").astype(np.int64)


def texts_of(wall: Ints, form: str) -> Any:
    """Return wall-clock times as text of a form."""
    if width_of(form) is None:
        return pa.array([(EPOCH + dt.timedelta(seconds=each)).strftime(form) for each in wall.tolist()], pa.string())
    return pc.strftime(pa.array(wall, pa.timestamp("s")), form)
