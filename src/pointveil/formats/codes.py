"""Read the values of kept columns as codes, each by itself: the declaration and the column's type decide, no value.

A value that is unlisted, missing, unreadable or outside the period has the code after the last bin.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pointveil.cells.arrays import Ints
from pointveil.columns import PATTERNS, Category, Column, Id, Number, Time
from pointveil.columns.calendar import DAY
from pointveil.formats.clocks import UTC, codes_of, wall_of
from pointveil.formats.moments import NOTHING, Moments, moments_in, seconds_of
from pointveil.formats.persons import person_column, person_name, person_values
from pointveil.formats.values import is_text, numbers, numbers_of, plain_type

Codes = NDArray[np.uint8] | NDArray[np.uint16]

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
USUAL_DECIMALS = 2
# A decimal times a power of ten may come out a little too small.
HAIR = 1e-6
FARTHEST = 2.0**62


def coded(columns: Iterable[Column]) -> list[Column]:
    """Return the columns that have codes: all but ids."""
    return [column for column in columns if not isinstance(column, Id)]


def code_type(column: Column) -> type[np.uint8] | type[np.uint16]:
    """Return the smallest type that holds the codes of a column."""
    return np.uint8 if column.size < 1 << 8 else np.uint16


def codes_in(column: Column, values: Any, kind: Any) -> Codes:
    """Return the code of each value of an Arrow column; `kind` is the type in which it is written again."""
    if isinstance(values, pa.ChunkedArray):
        # One by one, because all texts together may be too long for one array.
        parts = [codes_in(column, chunk, kind) for chunk in values.chunks]
        return np.concatenate([np.zeros(0, code_type(column)), *parts])
    if isinstance(values, pa.ExtensionArray) and values.type.extension_name != "arrow.uuid":
        values = values.storage
    if pa.types.is_dictionary(values.type):
        words = codes_in(column, values.dictionary, kind).astype(np.int64)
        places = values.indices.cast(pa.int64()).fill_null(len(words)).to_numpy(zero_copy_only=False)
        return _finished(column, np.append(words, column.size)[places])
    return _finished(column, READERS[type(column)][0](column, values, kind))


def codes_of_values(column: Column, values: Iterable[Any], kind: Any) -> Codes:
    """Return the code of each of some Python objects of any kind."""
    return _finished(column, READERS[type(column)][1](column, list(values), kind))


def _finished(column: Column, bins: Ints) -> Codes:
    """Return bins as codes; -1 is for other values."""
    return cast("Codes", np.where(bins < 0, column.size, bins).astype(code_type(column)))


# ---- categories: equal by their canonical texts, as persons are ----


@lru_cache(maxsize=64)
def canonical(column: Category) -> tuple[bytes | None, ...]:
    """Return the canonical texts of the listed values."""
    return tuple(person_name(value) for value in column.values)


def _categories(column: Category, values: Any, _: Any) -> Ints:
    if not is_text(values.type):
        return _among(person_column(values), column)
    # Most are spelled as in the list; what is not is looked at more closely.
    values = values.cast(pa.large_binary())
    listed = pa.array([value.encode() for value in column.values], pa.large_binary())
    found = _places(values, listed)
    others = np.flatnonzero((found < 0) & values.is_valid().to_numpy(zero_copy_only=False))
    if len(others):
        found[others] = _among(person_column(values.take(pa.array(others))), column)
    return found


def _among(names: Any, column: Category) -> Ints:
    listed = canonical(column)
    if pa.types.is_integer(names.type):
        # A listed value that is no whole number is refused before; -1 stands in for one that is too large.
        whole = [int(name) if name is not None and name.lstrip(b"-").isdigit() else None for name in listed]
        fits = [each if each is not None and -(2**63) <= each < 2**63 else None for each in whole]
        return _places(names, pa.array(fits, pa.int64()))
    return _places(names.cast(pa.large_binary()), pa.array(listed, pa.large_binary()))


def _places(values: Any, listed: Any) -> Ints:
    found = pc.index_in(values, value_set=listed, skip_nulls=True)
    return np.array(found.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False))


# ---- numbers: steps of the last decimal, counted from the lower bound ----


def decimals_of(column: Number, kind: Any) -> int:
    """Return how many decimals are written."""
    kind = plain_type(kind)
    if column.type == "integer" or pa.types.is_integer(kind):
        return 0
    if column.decimals is None and pa.types.is_decimal(kind):
        return int(np.clip(kind.scale, 0, 9))
    return USUAL_DECIMALS if column.decimals is None else column.decimals


def steps_of(column: Number, kind: Any) -> tuple[int, int]:
    """Return the first step, in units of the last decimal, and how many there are between the bounds.

    Whole numbers include the upper bound; with decimals only the last bin has it.
    """
    decimals = decimals_of(column, kind)
    first = int(np.ceil(column.low * 10**decimals - HAIR))
    last = int(np.floor(column.high * 10**decimals + HAIR))
    return first, max(last - first + (decimals == 0), 1)


def _bins(column: Number, found: NDArray[np.float64], kind: Any) -> Ints:
    (first, steps), plain = steps_of(column, kind), plain_type(kind)
    rounding = float(np.finfo(plain.to_pandas_dtype()).eps) if pa.types.is_floating(plain) else 2.0**-51
    with np.errstate(all="ignore"):
        scaled = found * 10.0 ** decimals_of(column, kind)
        scaled += HAIR + np.abs(scaled) * rounding
        inside = np.clip(np.floor(scaled) - first, 0, steps - 1)
    bins = np.where(np.isnan(inside), 0, inside).astype(np.int64) * column.bins // steps
    return np.where(np.isnan(found), -1, bins)


def _numbers(column: Number, values: Any, kind: Any) -> Ints:
    if is_text(values.type) and column.decimal == ",":
        values = pc.replace_substring(values.cast(pa.large_binary()), b",", b".")
    return _bins(column, numbers(values), kind)


def _number_values(column: Number, values: Sequence[Any], kind: Any) -> Ints:
    if column.decimal == ",":
        values = [_text(value) or value for value in values]
        values = [value.replace(b",", b".") if isinstance(value, bytes) else value for value in values]
    return _bins(column, numbers_of(values), kind)


# ---- times: what the clock on the wall showed ----


def is_hours(column: Time) -> bool:
    """Whether whole numbers are the hours of a pattern rather than moments."""
    return column.resolution in PATTERNS and column.unit is None


def _times(column: Time, values: Any, kind: Any) -> Ints:
    of = values.type
    if pa.types.is_null(of):
        return np.full(len(values), -1)
    if is_text(of):
        return _of_texts(column, values.cast(pa.large_binary()), kind)
    valid = values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else np.ones(len(values), dtype=bool)
    if pa.types.is_timestamp(of) or pa.types.is_date(of):
        counts = _whole(values.view(pa.int32() if of.bit_width == 32 else pa.int64()))
        seconds = counts * DAY if pa.types.is_date32(of) else counts // PER_SECOND[getattr(of, "unit", "ms")]
        zoned = pa.types.is_timestamp(of) and of.tz is not None
        wall = wall_of(seconds, column.tz or of.tz, column.span) if zoned else seconds
        return np.where(valid, codes_of(wall, column.span, column.resolution), -1)
    if pa.types.is_integer(of):
        return np.where(valid, _counted(column, _whole(values)), -1)
    return _of_numbers(column, numbers(values))


def _whole(values: Any) -> Ints:
    values = values.fill_null(0) if values.null_count else values
    return np.asarray(values.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False))


def _counted(column: Time, counts: Ints) -> Ints:
    """Return the bins of whole numbers: of the hours of a pattern, or of moments."""
    if is_hours(column):
        return np.where((counts >= 0) & (counts < column.size), counts, -1)
    moments = counts // PER_SECOND[column.unit or "s"]
    return codes_of(wall_of(moments, column.tz or UTC, column.span), column.span, column.resolution)


def _of_numbers(column: Time, found: NDArray[np.float64]) -> Ints:
    good = np.abs(found) < FARTHEST
    return np.where(good, _counted(column, np.floor(np.where(good, found, 0)).astype(np.int64)), -1)


def _of_texts(column: Time, values: Any, kind: Any) -> Ints:
    if column.type == "integer" or pa.types.is_integer(plain_type(kind)):
        return _of_numbers(column, numbers(values))
    return _of_moments(column, moments_in(values, column.format))


def _of_moments(column: Time, found: Moments) -> Ints:
    wall = found.seconds
    if found.is_utc.any():
        wall = np.where(found.is_utc, wall_of(wall, column.tz or UTC, column.span), wall)
    return np.where(found.good, codes_of(wall, column.span, column.resolution), -1)


def _time_values(column: Time, values: Sequence[Any], kind: Any) -> Ints:
    texts = pa.array([_text(value) for value in values], pa.large_binary())
    bins = _of_texts(column, texts, kind)
    others = np.flatnonzero(~texts.is_valid().to_numpy(zero_copy_only=False))
    if len(others):
        rest = [values[row] for row in others.tolist()]
        moments = Moments.of(map(_moment, rest))
        counted = _of_numbers(column, numbers_of(rest))
        bins[others] = np.where(moments.good, _of_moments(column, moments), counted)
    return bins


def _text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    return bytes(value) if isinstance(value, bytes) else None


def _moment(value: Any) -> tuple[int, bool, bool]:
    """Return what a moment or a date says, as `Moments` has it."""
    try:
        if isinstance(value, np.datetime64):
            return int(value.astype("datetime64[s]").astype(np.int64)), False, not np.isnat(value)
        if isinstance(value, dt.datetime):
            return seconds_of(value)
        return seconds_of(dt.datetime(value.year, value.month, value.day)) if isinstance(value, dt.date) else NOTHING  # noqa: DTZ001
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a value that says no moment
        return NOTHING


# For each kind of column, how Arrow columns are read, and how Python objects are.
Reader = Callable[[Any, Any, Any], Ints]
READERS: Mapping[type[Column], tuple[Reader, Reader]] = {
    Time: (_times, _time_values),
    Category: (_categories, lambda column, values, _: _among(person_values(values), column)),
    Number: (_numbers, _number_values),
}
