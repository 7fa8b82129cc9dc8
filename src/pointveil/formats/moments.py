"""Read text as moments, each by itself and without complaint: ISO 8601, or a form that the owner declares."""

import datetime as dt
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pointveil.formats.wkb import taken_apart

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

BLOCK = 1 << 16
LONGEST = 40  # bytes: no moment in ISO 8601 is longer
LONGEST_TRIED = 1 << 10  # bytes, with what is blank around them
WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
"""The directives of strptime that have a place of their own in a text, and how many digits each has."""
ANY = "\0"  # stands for any sign
DATE, MINUTE, SECOND = "%Y-%m-%d", f"%Y-%m-%d{ANY}%H:%M", f"%Y-%m-%d{ANY}%H:%M:%S"
BETWEEN = np.frombuffer(b"T t", np.uint8)  # date and time
MONTHS = np.arange("0001-01", "10000-02", dtype="M8[M]").astype("M8[D]").astype(np.int64)
"""On which day since 1970 each month begins, from the year 1 on."""
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 — wall-clock time


class Moments(NamedTuple):
    """What some values say: seconds since 1970, whether as UTC rather than as wall-clock time, and which say one."""

    seconds: Ints
    is_utc: Bools
    good: Bools

    @classmethod
    def nothing(cls, count: int) -> "Moments":
        """Return `count` values that say nothing."""
        return cls(np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool))

    def put(self, rows: Any, others: "Moments") -> None:
        """Take over what others say about these rows."""
        for ours, theirs in zip(self, others, strict=True):
            ours[rows] = theirs


def moments_in(values: Any, form: str | None) -> Moments:
    """Return what the texts of a binary Arrow array say; blanks around them do not count."""
    found = Moments.nothing(len(values))
    data, start, end, valid = taken_apart(values)
    for block in range(0, len(values), BLOCK):
        rows = slice(block, block + BLOCK)
        lengths = np.where(valid[rows], end[rows] - start[rows], 0)
        found.put(rows, _parsed(_matrix(data, start[rows], lengths), lengths, form))
    left = np.flatnonzero(valid & ~found.good & (end - start <= LONGEST_TRIED))
    if len(left):
        found.put(left, _one_by_one([data[start[row] : end[row]].tobytes() for row in left.tolist()], form))
    return found


def _one_by_one(texts: list[bytes], form: str | None) -> Moments:
    found = Moments.nothing(len(texts))
    short = [text.strip() for text in texts]
    if form is None:
        lengths = np.array([len(text) if len(text) <= LONGEST else 0 for text in short])
        padded = b"".join(text[:LONGEST].ljust(LONGEST, b"\0") for text in short)
        return _parsed(np.frombuffer(padded, dtype=np.uint8).reshape(-1, LONGEST), lengths, None)
    known = {text: _told(text, form) for text in set(short)}  # of this batch alone: no text outlives it
    for row, text in enumerate(short):
        told = known[text]
        if told is not None:
            found.seconds[row], found.is_utc[row] = told
            found.good[row] = True
    return found


def _told(text: bytes, form: str) -> tuple[int, bool] | None:
    try:
        return seconds_of(dt.datetime.strptime(text.decode(), form))  # noqa: DTZ007 — the form says whether it has a zone
    except Exception:  # noqa: BLE001 — whatever is raised, it is a text that says no moment
        return None


def seconds_of(moment: dt.datetime) -> tuple[int, bool]:
    """Return a moment in whole seconds since 1970, and whether as UTC rather than as wall-clock time."""
    is_utc = moment.utcoffset() is not None
    local = moment.astimezone(dt.UTC).replace(tzinfo=None) if is_utc else moment.replace(tzinfo=None)
    return (local - EPOCH) // dt.timedelta(seconds=1), is_utc


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


def _parsed(texts: Bytes, lengths: Ints, form: str | None) -> Moments:
    if form is not None:
        return _by_template(texts, lengths, form)
    found = _by_template(texts, lengths, SECOND)
    found.good[found.good] &= np.isin(texts[found.good, 10], BETWEEN) if found.good.any() else True
    rest = np.flatnonzero(~found.good)
    if len(rest):
        found.put(rest, _leniently(texts[rest], lengths[rest]))
    return found


def _leniently(texts: Bytes, lengths: Ints) -> Moments:
    # From the shortest to the longest, because each has the others before it.
    date, minute, second = (_template(texts, each) for each in (DATE, MINUTE, SECOND))
    place = np.where(second.good, 19, np.where(minute.good, 16, 10))
    seconds = np.where(second.good, second.seconds, np.where(minute.good, minute.seconds, date.seconds))
    place = _after_fraction(texts, place)
    offset, place, has_zone = _zone(texts, place)
    fits = np.isin(_at(texts, np.full(len(texts), 10)), BETWEEN) | (place == 10)
    good = date.good & fits & (place == lengths) & ~(has_zone & ~minute.good)
    return Moments(seconds - offset, has_zone, good)


def _by_template(texts: Bytes, lengths: Ints, form: str) -> Moments:
    width = width_of(form)
    if width is None:
        return Moments.nothing(len(texts))
    found = _template(texts, form)
    return found._replace(good=found.good & (lengths == width))


def width_of(form: str) -> int | None:
    """Return how long a text of this form is, if all are equally long."""
    pieces = form.split("%")
    if not form.isascii() or any(piece[:1] not in WIDTHS for piece in pieces[1:]):
        return None
    return len(pieces[0]) + sum(WIDTHS[piece[0]] + len(piece) - 1 for piece in pieces[1:])


def _template(texts: Bytes, form: str) -> Moments:
    """Return the moments of texts that begin in a form whose fields have fixed places."""
    count, width = len(texts), width_of(form) or 0
    if texts.shape[1] < width:
        return Moments.nothing(count)
    fields = {"Y": np.full(count, 1970), "m": np.ones(count, dtype=np.int64), "d": np.ones(count, dtype=np.int64)}
    good = np.ones(count, dtype=bool)
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
    first = MONTHS[months]
    good &= day <= MONTHS[months + 1] - first
    seconds = (first + day - 1) * 86_400
    for name, size, most in (("H", 3600, 24), ("M", 60, 60), ("S", 1, 60)):
        if name in fields:
            seconds = seconds + fields[name] * size
            good &= fields[name] < most
    return Moments(np.where(good, seconds, 0), np.zeros(len(good), dtype=bool), good)


def _at(texts: Bytes, places: Ints) -> Bytes:
    """Return the sign at one place of each text; zero after its end."""
    if not texts.shape[1]:
        return np.zeros(len(texts), dtype=np.uint8)
    last = texts.shape[1] - 1
    signs = texts[np.arange(len(texts)), np.minimum(places, last)]
    return np.where(places > last, 0, signs).astype(np.uint8)


def _after_fraction(texts: Bytes, place: Ints) -> Ints:
    """Return where each text goes on after the fraction of a second, of which nothing is kept."""
    signs = _at(texts, place)
    rows = np.flatnonzero((place == 19) & ((signs == ord(".")) | (signs == ord(","))))
    if not len(rows):
        return place
    rest = texts[rows, 20:]
    is_other = np.ones((len(rows), rest.shape[1] + 1), dtype=bool)
    is_other[:, :-1] = rest - np.uint8(ord("0")) >= 10
    digits = is_other.argmax(axis=1)
    place = place.copy()
    place[rows] = np.where(digits > 0, 20 + digits, 19)
    return place


def _zone(texts: Bytes, place: Ints) -> tuple[Ints, Ints, Bools]:
    """Return how many seconds each text is ahead of UTC, where it ends, and whether it says so."""
    sign = _at(texts, place)
    offset, end = np.zeros(len(texts), dtype=np.int64), place.copy()
    is_utc = (sign == ord("Z")) | (sign == ord("z"))
    end[is_utc] += 1
    rows = np.flatnonzero((sign == ord("+")) | (sign == ord("-")))
    if not len(rows):
        return offset, end, is_utc
    some, at = texts[rows], place[rows] + 1
    colon = (_at(some, at + 2) == ord(":")).astype(np.int64)
    digits = [_at(some, at + shift) - np.uint8(ord("0")) for shift in (0, 1)]
    digits += [_at(some, at + colon + shift) - np.uint8(ord("0")) for shift in (2, 3)]
    whole = _at(some, at + 2) == 0
    tens, ones, more, least = (np.where(each < 10, each, 0).astype(np.int64) for each in digits)
    good = (digits[0] < 10) & (digits[1] < 10) & (whole | ((digits[2] < 10) & (digits[3] < 10)))
    hours, minutes = tens * 10 + ones, np.where(whole, 0, more * 10 + least)
    good &= (hours < 24) & (minutes < 60)
    offset[rows] = np.where(sign[rows] == ord("-"), -1, 1) * (hours * 3600 + minutes * 60)
    end[rows] = np.where(good, at + np.where(whole, 2, 4 + colon), place[rows])
    has_zone = is_utc.copy()
    has_zone[rows] = good
    return np.where(has_zone, offset, 0), end, has_zone


def texts_of(wall: Ints, form: str) -> Any:
    """Return wall-clock times as text of a form."""
    width = width_of(form)
    if width is None:
        return pa.array([(EPOCH + dt.timedelta(seconds=each)).strftime(form) for each in wall.tolist()], pa.string())
    raw = np.empty((len(wall), width), dtype=np.uint8)
    place = 0
    for number, piece in enumerate(form.split("%")):
        if number:
            value = _field(wall, piece[0])
            for digit in range(WIDTHS[piece[0]] - 1, -1, -1):
                raw[:, place + digit] = ord("0") + value % 10
                value = value // 10
            place += WIDTHS[piece[0]]
        for sign in piece[1:] if number else piece:
            raw[:, place] = ord(sign)
            place += 1
    offsets = np.arange(len(wall) + 1, dtype=np.int64) * width
    return pa.Array.from_buffers(pa.large_string(), len(wall), [None, pa.py_buffer(offsets), pa.py_buffer(raw)])


def _field(wall: Ints, directive: str) -> Ints:
    """Return one part of wall-clock times, such as the month."""
    days = wall // 86_400
    if directive in "HMS":
        size, most = {"H": (3600, 24), "M": (60, 60), "S": (1, 60)}[directive]
        return wall % 86_400 // size % most
    months = days.astype("M8[D]").astype("M8[M]")
    if directive == "d":
        return days - months.astype("M8[D]").astype(np.int64) + 1
    years, month = np.divmod(months.astype(np.int64), 12)
    return month + 1 if directive == "m" else (years + 1970) % (100 if directive == "y" else 10_000)
