"""Whose a record is: one total function per kind of column, so that no value changes how another is read."""

import datetime as dt
import hashlib
import uuid
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointveil.errors import InputError
from pointveil.formats.values import is_text, storage_of

WHITE_SPACE = " \t\n\r\f\v"
BLANK = r"^[\s\v]*$"
LONGEST_NAME = 256
MISSING_TYPES = {"NAType", "NaTType", "NoneType"}


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
    """Return a column as whole numbers or as bytes, which its Arrow type alone decides; blank means nobody."""
    if isinstance(values, pa.ChunkedArray):
        # One by one, because all texts together may be too long for one array.
        empty = pa.array([], storage_of(values.type))
        return pa.concat_arrays([person_column(chunk) for chunk in values.chunks or [empty]])
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        return person_column(values.dictionary).take(values.indices)
    return next(convert for test, convert in COLUMNS if test(values.type))(values)


def person_values(values: Iterable[Any]) -> Any:
    """Return Python objects of any kind as bytes, each by itself."""
    return pa.array([person_bytes(value) for value in values], pa.binary())


def person_bytes(value: Any) -> bytes | None:
    """Return one Python object as bytes that tell its kind, or nothing if it names nobody."""
    try:
        found = _tagged(value)
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a value that names nobody
        return None
    return None if found is None else shortened(found)


def shortened(name: bytes) -> bytes:
    """Return a name that fits into memory a million times; two different names stay different."""
    if len(name) <= LONGEST_NAME:
        return name
    # Longer than every name that is kept as it is, so never equal to one.
    digest = hashlib.sha256(name).digest()
    return name[: LONGEST_NAME + 1 - len(digest)] + digest


def _tagged(value: Any) -> bytes | None:
    if type(value) in QUICK:
        return QUICK[type(value)](value)
    if type(value).__name__ in MISSING_TYPES:
        return None
    for kinds, convert in TAGS:
        if isinstance(value, kinds):
            return convert(value)
    return f"{type(value).__name__}:{value!r}".encode("utf-8", "surrogatepass")


def _of_text(value: str) -> bytes | None:
    return b"str:" + value.encode("utf-8", "surrogatepass") if value.strip(WHITE_SPACE) else None


def _of_bytes(value: Any) -> bytes | None:
    raw = bytes(value)
    return b"bytes:" + raw if raw.strip(WHITE_SPACE.encode()) else None


def _of_whole(value: Any) -> bytes:
    # Hexadecimal, because Python refuses to write very long numbers in decimals.
    return f"int:{int(value):x}".encode()


def _of_float(value: Any) -> bytes | None:
    number = float(value)
    if number != number:  # noqa: PLR0124 — only NaN differs from itself
        return None
    return _of_whole(number) if number.is_integer() else f"float:{number.hex()}".encode()


def _of_decimal(value: Decimal) -> bytes | None:
    if not value.is_finite():
        return None if value.is_nan() else f"decimal:{value}".encode()
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    return f"decimal:{sign}:{short}:{int(exponent) + len(text) - len(short) if short else 0}".encode()


TAGS: tuple[tuple[Any, Callable[[Any], bytes | None]], ...] = (
    (str, _of_text),
    ((bool, np.bool_), lambda value: b"bool:%d" % bool(value)),
    # NumPy takes a span of time for a whole number, so this row comes first.
    ((np.datetime64, np.timedelta64), lambda value: None if np.isnat(value) else f"{value.dtype}:{value}".encode()),
    ((int, np.integer), _of_whole),
    ((float, np.floating), _of_float),
    ((bytes, bytearray, memoryview), _of_bytes),
    (uuid.UUID, lambda value: b"uuid:" + value.bytes),
    ((dt.date, dt.time), lambda value: f"date:{value.isoformat()}".encode()),
    (Decimal, _of_decimal),
    (np.ndarray, lambda value: f"array:{value.tolist()!r}".encode("utf-8", "surrogatepass")),
)
# The usual kinds, found at once.
QUICK: dict[type, Callable[[Any], bytes | None]] = {str: _of_text, int: _of_whole, float: _of_float, bytes: _of_bytes}


def _bits(values: Any) -> Any:
    # Their bits, because two floats may be written alike; zero has two, which are made one.
    floats = pc.add(values.cast(pa.float64()), 0.0)
    return pc.if_else(pc.is_nan(floats), pa.scalar(None, pa.float64()), floats).view(pa.int64())


def _bytes(values: Any) -> Any:
    # Bytes rather than strings: whether they are text is nobody's business.
    values = values.cast(pa.large_binary())
    blank = pc.match_substring_regex(values, BLANK)
    long = pc.fill_null(pc.greater(pc.binary_length(values), LONGEST_NAME), False)
    # Not `if_else`: before pyarrow 24 it reads the wrong bytes of a sliced column.
    values = pc.replace_with_mask(values, blank, pa.scalar(None, pa.large_binary()))
    if pc.any(long).as_py():
        short = [shortened(value) for value in values.filter(long).to_pylist() if value is not None]
        long = pc.and_(long, pc.is_valid(values))
        values = pc.replace_with_mask(values, long, pa.array(short, pa.large_binary()))
    return values.cast(pa.binary())


# Which Arrow types say whose a record is, and how; the first row that fits counts.
COLUMNS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_integer, lambda values: values),
    (lambda kind: is_text(kind) or pa.types.is_fixed_size_binary(kind), _bytes),
    (pa.types.is_floating, _bits),
    (pa.types.is_boolean, lambda values: values.cast(pa.int8())),
    (
        lambda kind: pa.types.is_temporal(kind) and not pa.types.is_interval(kind),
        lambda values: values.view(pa.int32() if values.type.bit_width == 32 else pa.int64()),
    ),
    (pa.types.is_decimal, lambda values: values.cast(pa.string()).cast(pa.binary())),
    (pa.types.is_null, lambda values: pa.nulls(len(values), pa.binary())),
)
