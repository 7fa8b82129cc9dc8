"""Whose a record is: every value names a person by one canonical text, which the value alone decides.

The rule, for every source. Text is stripped of white space and put into Unicode's form NFC; blank text names nobody.
Numbers are written as decimals without needless zeros, floats as the shortest decimal that is that double; text that
is a plain decimal without leading zeros is written likewise. So `" 7"`, `"7"`, `7` and `7.0` are one person, and
`"007"` is another. Bytes are the UTF-8 text that they hold or, if they hold none, themselves. Truth values are `true`
and `false`; dates, moments, times and UUIDs are written as in ISO 8601 and RFC 9562, spans of time as `PT90.5S`.
Whatever is missing, NaN, of another kind, or longer than `LONGEST_NAME` when written out, names nobody.
"""

import datetime as dt
import hashlib
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointveil.errors import InputError
from pointveil.formats.values import is_text, storage_of

LONGEST_NAME = 1 << 16
LONGEST_KEPT = 256
PLAIN_DECIMAL = re.compile(rb"(-?)(0|[1-9][0-9]*)(?:\.([0-9]*))?")
# Texts that are canonical already: whole numbers, and ASCII without spaces that holds a letter.
SURELY_CANONICAL = "^(0|-?[1-9][0-9]*|[!-~]*[A-Za-z][!-~]*)$"
EXACT_FLOATS = 2.0**53


def check_person(kind: Any, name: str, source: str) -> None:
    """Refuse, by its Arrow type alone, a column that cannot say whose a record is."""
    kind = storage_of(kind)
    if pa.types.is_dictionary(kind):
        kind = storage_of(kind.value_type)
    if not any(test(kind) for test, _ in COLUMNS):
        raise InputError(
            f"Column {name!r} of {source} holds {kind}, which cannot say whose a record is; "
            "name a column of text, numbers or bytes.",
        )


def person_column(values: Any) -> Any:
    """Return the names of an Arrow column: whole numbers if its type says so, else canonical texts as bytes."""
    if isinstance(values, pa.ChunkedArray):
        # One by one, because all texts together may be too long for one array.
        empty = pa.array([], storage_of(values.type))
        return pa.concat_arrays([person_column(chunk) for chunk in values.chunks or [empty]])
    if isinstance(values, pa.ExtensionArray):
        if values.type.extension_name == "arrow.uuid":
            return person_values(values.to_pylist())
        values = values.storage.cast(pa.bool_()) if values.type.extension_name == "arrow.bool8" else values.storage
    if pa.types.is_dictionary(values.type):
        return person_column(values.dictionary).take(values.indices)
    return next(convert for test, convert in COLUMNS if test(values.type))(values)


def person_values(values: Iterable[Any]) -> Any:
    """Return the names of Python objects of any kind, each by itself."""
    return pa.array([person_name(value) for value in values], pa.binary())


def person_name(value: Any) -> bytes | None:
    """Return the canonical name that one value stands for, or nothing if it names nobody."""
    try:
        found = next((convert(value) for kinds, convert in FORMS if isinstance(value, kinds)), None)
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a value that names nobody
        return None
    return None if found is None else _shortened(found)


def _shortened(name: bytes) -> bytes | None:
    """Return a name that fits into memory a million times; two different names stay different."""
    if len(name) <= LONGEST_KEPT:
        return name or None
    # Longer than every name that is kept as it is, so never equal to one.
    return name[: LONGEST_KEPT - 31] + hashlib.sha256(name).digest() if len(name) <= LONGEST_NAME else None


def _of_bytes(value: Any) -> bytes | None:
    raw = bytes(value)
    if len(raw) > LONGEST_NAME:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return raw.strip()
    name = unicodedata.normalize("NFC", text).strip().encode()
    return _decimal(*plain.groups(b"")) if (plain := PLAIN_DECIMAL.fullmatch(name)) else name


def _of_text(value: str) -> bytes | None:
    if len(value) > LONGEST_NAME:
        return None
    try:
        return _of_bytes(value.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass").strip()


def _decimal(sign: bytes, whole: bytes, fraction: bytes) -> bytes:
    fraction = fraction.rstrip(b"0")
    number = whole + b"." + fraction if fraction else whole
    return number if number == b"0" else sign + number


def _of_number(value: Any) -> bytes | None:
    number = Decimal(int(value)) if isinstance(value, int | np.integer) else value
    if isinstance(value, float | np.floating):
        number = Decimal(repr(float(value)))
    if not number.is_finite():
        return None if number.is_nan() else str(number).lower().encode()
    if number and max(abs(number.adjusted()), abs(int(number.as_tuple().exponent))) > LONGEST_NAME:
        return None
    return _of_bytes(f"{number:f}".encode())


def _of_moment(value: Any) -> bytes | None:
    if np.isnat(value):
        return None
    unit, _ = np.datetime_data(value.dtype)
    text = str(np.datetime_as_string(value.astype("datetime64[s]") if unit in ("h", "m") else value))
    return (text.rstrip("0").rstrip(".") if "." in text else text).encode()


def _of_datetime(value: dt.datetime) -> bytes | None:
    zone = b"" if value.tzinfo is None else b"Z"
    local = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
    # A moment of pandas counts nanoseconds, which Python's own would drop.
    exact = local.to_datetime64() if hasattr(local, "to_datetime64") else np.datetime64(local, "us")
    found = _of_moment(exact)
    return None if found is None else found + zone


def _of_time(value: dt.time) -> bytes:
    text = value.isoformat()
    return (text.rstrip("0").rstrip(".") if "." in text and value.tzinfo is None else text).encode()


def _of_span(value: Any) -> bytes | None:
    if isinstance(value, dt.timedelta):
        exact = value.to_timedelta64() if hasattr(value, "to_timedelta64") else np.timedelta64(value, "us")
        return _of_span(exact)
    unit, step = np.datetime_data(value.dtype)
    if np.isnat(value) or unit not in SECONDS:
        return None
    seconds = _of_number(int(value.astype(np.int64)) * step * SECONDS[unit])
    return None if seconds is None else b"PT" + seconds + b"S"


UNITS = {"W": "604800", "D": "86400", "h": "3600", "m": "60", "s": "1", "ms": "1e-3", "us": "1e-6", "ns": "1e-9"}
SECONDS = {unit: Decimal(length) for unit, length in UNITS.items()}
# The first row that fits a value counts: NumPy takes a span of time for a whole number, Python a truth value.
FORMS: tuple[tuple[Any, Callable[[Any], bytes | None]], ...] = (
    (str, _of_text),
    ((bool, np.bool_), lambda value: b"true" if value else b"false"),
    ((dt.timedelta, np.timedelta64), _of_span),
    ((int, np.integer, float, np.floating, Decimal), _of_number),
    ((bytes, bytearray, memoryview), _of_bytes),
    (np.datetime64, _of_moment),
    (dt.datetime, _of_datetime),
    ((dt.date, uuid.UUID), lambda value: str(value).encode()),
    (dt.time, _of_time),
)


def _one_by_one(values: Any) -> Any:
    """Return the name of each value, each different one worked out once."""
    coded = values.dictionary_encode()
    return person_values(coded.dictionary.to_pylist()).take(coded.indices)


def _mostly(values: Any, is_easy: Any, easily: Callable[[Any], Any]) -> Any:
    """Return the names of a column, those of the easy values all at once."""
    easy = np.asarray(pc.fill_null(is_easy, False).to_numpy(zero_copy_only=False))
    if easy.all():
        return easily(values).cast(pa.binary())
    order = np.argsort(~easy, kind="stable")
    names = [easily(values.filter(pa.array(easy))).cast(pa.binary()), _one_by_one(values.filter(pa.array(~easy)))]
    return pa.concat_arrays(names).take(pa.array(np.argsort(order, kind="stable")))


def _of_texts(values: Any) -> Any:
    # Bytes rather than strings: whether they are text is found out for each by itself.
    values = values.cast(pa.large_binary())
    lengths = pc.fill_null(pc.binary_length(values), 0)
    if len(values) and pc.max(lengths).as_py() > LONGEST_NAME:
        # Taken, not masked: nothing is copied of a name that is too long to be one.
        short = np.asarray(lengths) <= LONGEST_NAME
        places = pa.array(np.cumsum(short) - 1, mask=~short)
        return _of_texts(values.filter(pa.array(short))).take(places)
    canonical = pc.match_substring_regex(values, SURELY_CANONICAL)
    return _mostly(values, pc.and_(canonical, pc.less_equal(lengths, LONGEST_KEPT)), lambda easy: easy)


def _of_floats(values: Any) -> Any:
    values = values.cast(pa.float64())
    is_whole = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), EXACT_FLOATS))
    return _mostly(values, is_whole, lambda whole: whole.cast(pa.int64()).cast(pa.string()))


def _of_moments(values: Any) -> Any:
    """Return moments, dates, times and spans, which NumPy writes whatever their year."""
    kind = values.type
    zone = b"Z" if pa.types.is_timestamp(kind) and kind.tz else b""
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    counts = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64()).dictionary_encode()
    found = counts.dictionary.to_numpy()
    if pa.types.is_duration(kind):
        names = [_of_span(each) for each in found.view(f"timedelta64[{unit}]")]
    else:
        names = [_of_moment(each) for each in found.view(f"datetime64[{unit}]")]
    if pa.types.is_time(kind) or pa.types.is_date64(kind):
        part = 1 if pa.types.is_time(kind) else 0
        names = [name and name.split(b"T")[part] for name in names]
    return pa.array([name and name + zone for name in names], pa.binary()).take(counts.indices)


# Which Arrow types say whose a record is, and how; the first row that fits counts.
COLUMNS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_uint64, lambda values: values.cast(pa.string()).cast(pa.binary())),
    (pa.types.is_integer, lambda values: values.cast(pa.int64())),
    (lambda kind: is_text(kind) or pa.types.is_fixed_size_binary(kind), _of_texts),
    (pa.types.is_floating, _of_floats),
    (lambda kind: pa.types.is_temporal(kind) and not pa.types.is_interval(kind), _of_moments),
    (lambda kind: pa.types.is_boolean(kind) or pa.types.is_decimal(kind), _one_by_one),
    (pa.types.is_null, lambda values: pa.nulls(len(values), pa.binary())),
)
