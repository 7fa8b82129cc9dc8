"""Write codes out as values again, in the form that the column had; no record is ever handed to this file."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints
from pointveil.columns import RESOLUTIONS, Category, Column, Id, Number, Time
from pointveil.columns.calendar import DAY, Period, starts_of
from pointveil.errors import InputError
from pointveil.formats.base import Layout
from pointveil.formats.clocks import UTC, moments_of, wall_of
from pointveil.formats.codes import HAIR, PER_SECOND, canonical, codes_in, decimals_of, is_hours, steps_of
from pointveil.formats.moments import texts_of
from pointveil.formats.persons import person_name
from pointveil.formats.values import is_binary, is_text, numbers, plain_type, storage_of

WIDEST = 10**13  # steps: floats still tell them apart
HOUR = 3_600
VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}  # which Arrow can do less with
ISO, ISO_DAY = "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"


def values_of(column: Column, codes: NDArray[Any], places: Floats, kind: Any) -> pa.Array:
    """Return a value of the type `kind` for each code (n,); `places` (n,) in [0, 1) says where in its bin."""
    is_other = codes >= column.size
    bins = np.where(is_other, 0, codes).astype(np.int64)
    storage, plain = storage_of(kind), plain_type(kind)
    plain = VIEWS.get(plain, plain)
    found = WRITERS[type(column)](column, bins, places, plain)
    if is_other.any():
        name = None if column.drops else getattr(column, "other", None)
        other = pa.scalar(None if name is None else name.encode() if is_binary(plain) else name, found.type)
        found = pc.replace_with_mask(found, pa.array(is_other), other)
    return _as(found, kind, storage)


def _as(found: pa.Array, kind: Any, storage: Any) -> pa.Array:
    if pa.types.is_dictionary(storage):
        found = found.dictionary_encode().cast(storage)
    elif found.type != storage:
        found = found.cast(storage)
    return found if kind == storage else pa.ExtensionArray.from_storage(kind, found)


def invented_ids(count: int, kind: Any, rng: np.random.Generator, first: int = 0) -> pa.Array:
    """Return so many ids in a random order, none of them twice nor one of the `first`, which link nothing."""
    storage = storage_of(kind)
    if kind != storage and pa.types.is_fixed_size_binary(storage):
        drawn = [uuid.UUID(bytes=rng.bytes(16), version=4).bytes for _ in range(count)]
        return _as(pa.array(drawn, storage), kind, storage)
    plain = plain_type(kind)
    numbers = pa.array(first + rng.permutation(count) + 1, pa.int64())
    if is_binary(plain):
        return _as(numbers.cast(pa.string()).cast(plain), kind, storage)
    return _as(numbers.cast(plain, safe=False), kind, storage)


def keep_columns(
    keep: Sequence[Column],
    drawn: Sequence[tuple[NDArray[Any], Floats]],
    layout: Layout,
    rng: np.random.Generator,
    *,
    count: int,
    first: int = 0,
) -> pa.Table | None:
    """Return the kept columns of the first `count` points, in the order declared; before them, `first` had an id.

    `drawn` has the codes (n,) of each column that has some, and the places (n,) within their bins; ids come from `rng`.
    """
    told = iter(drawn)
    found: dict[str, pa.Array] = {}
    for column in keep:
        kind = layout.kept[column.name].type
        if isinstance(column, Id):
            found[column.name] = invented_ids(count, kind, rng, first)
        else:
            codes, places = next(told)
            found[column.name] = values_of(column, codes[:count], places[:count], kind)
    return pa.table(found) if keep else None


# ---- what fits: a public question, asked before anything is read ----


def check_kept(column: Column, kind: Any, source: str) -> None:
    """Refuse, by its type alone, a column that cannot be kept as it was declared."""
    said = [f"{name} {value}" for name, value in column.to_dict().items() if name not in {"kind", "name", "share"}]
    declared = f"a {column.kind}" + (f" ({', '.join(said)})"[:200] if said else "")
    unfit = InputError(f"Column {column.name!r} of {source} holds {kind}, which cannot be kept as {declared}.")
    if isinstance(column, Category):
        _check_category(column)
    elif isinstance(column, Number):
        _check_number(column, kind, source)
    other = None if column.drops else getattr(column, "other", None)
    plain = plain_type(kind)
    if other is not None and not is_text(plain):
        raise InputError(
            f"Column {column.name!r} of {source} holds {kind}, so other values cannot be written as {other!r}; "
            "leave other= out for null, or say other=drop."
        )
    if isinstance(column, Id):
        whole = pa.types.is_integer(plain) and plain.bit_width >= 32
        if not (whole or is_text(plain) or pa.types.is_fixed_size_binary(plain) or pa.types.is_float64(plain)):
            raise unfit
        return
    if not _comes_back(column, kind):
        raise unfit


@lru_cache(maxsize=64)
def _comes_back(column: Column, kind: Any) -> bool:
    """Whether what is written of each bin is read as this bin; worked out once, for there may be many files."""
    codes = np.tile(np.arange(column.codes), 2)
    places = np.repeat([0.0, 1 - HAIR], column.codes)  # at both ends of each bin
    try:
        again = codes_in(column, values_of(column, codes, places, kind), kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, KeyError, AttributeError, StopIteration):
        return False
    return bool((again == codes)[~_skipped(column, codes, plain_type(kind))].all())


def _skipped(column: Column, codes: Ints, kind: Any) -> Bools:
    """Return which bins begin when the clock is put forward, so that it never shows that time."""
    if not isinstance(column, Time) or is_text(kind) or not (column.tz or getattr(kind, "tz", None)):
        return np.zeros(len(codes), dtype=bool)
    zone, wall = column.tz or kind.tz, starts_of(np.minimum(codes, column.size - 1), column.span, column.resolution)
    return np.asarray(wall_of(moments_of(wall, zone, column.span), zone, column.span) != wall)


def _check_category(column: Category) -> None:
    names = canonical(column)
    for name, value in zip(names, column.values, strict=True):
        if names.count(name) > 1:
            raise InputError(f"'{column.name}' lists a value twice: {value!r} is equal to another.")
    if not column.drops and column.other is not None and person_name(column.other) in names:
        raise InputError(f"'{column.name}' lists {column.other!r}, so other values cannot be written so.")


def _check_number(column: Number, kind: Any, source: str) -> None:
    decimals = decimals_of(column, kind)
    if pa.types.is_decimal(plain_type(kind)) and decimals > plain_type(kind).scale:
        raise InputError(f"Column {column.name!r} of {source} holds {kind}, which has fewer decimals than {decimals}.")
    if max(abs(column.low), abs(column.high)) > WIDEST / 10**decimals:
        raise InputError(f"'{column.name}' has too many digits: say fewer decimals than {decimals}, or closer bounds.")
    _, steps = steps_of(column, kind)
    if steps < column.bins:
        raise InputError(
            f"'{column.name}' has {steps} different values with {decimals} decimals between its bounds, which is fewer "
            f"than its {column.bins} bins. Say bins={steps} or fewer, or more decimals."
        )


# ---- from bins to values of a plain Arrow type ----


def _categories(column: Category, bins: Ints, _: Floats, kind: Any) -> pa.Array:
    words = pa.array(column.values, pa.string())
    words = words.cast(pa.binary()) if is_binary(kind) else words
    return words.cast(kind).take(pa.array(bins))


def _numbers(column: Number, bins: Ints, places: Floats, kind: Any) -> pa.Array:
    first, steps = steps_of(column, kind)
    decimals = decimals_of(column, kind)
    lowest, next_lowest = (-(-each * steps // column.bins) for each in (bins, bins + 1))
    counts = first + lowest + np.floor(places * (next_lowest - lowest)).astype(np.int64)
    if is_text(kind):
        return decimal_texts(counts, decimals, column.decimal or ".").cast(kind)
    if pa.types.is_decimal(kind):
        return decimal_texts(counts, decimals, ".").cast(kind)
    return pa.array(counts if decimals == 0 else counts / 10**decimals).cast(kind)


def decimal_texts(counts: Ints, decimals: int, sign: str) -> pa.Array:
    """Return whole numbers of the last decimal as text."""
    if decimals == 0:
        return pa.array(counts).cast(pa.string())
    whole, rest = (pa.array(each).cast(pa.string()) for each in np.divmod(np.abs(counts), 10**decimals))
    minus = pa.array(np.where(counts < 0, "-", ""))
    before = pc.binary_join_element_wise(minus, whole, "")
    return pc.binary_join_element_wise(before, pc.utf8_lpad(rest, decimals, "0"), sign)


def as_text(values: pa.Array, form: Mapping[bytes, bytes]) -> pa.Array:
    """Return values of any type as text, as their field in a layout says; what is missing stays so."""
    if pa.types.is_timestamp(values.type):
        wall = wall_clock(values, form.get(b"clock", b"").decode())
        texts = texts_of(np.asarray(wall.fill_null(0).cast(pa.int64())), form.get(b"format", ISO.encode()).decode())
        return pc.if_else(values.is_valid(), texts, None)
    if pa.types.is_floating(values.type) and b"decimals" in form:
        decimals = int(form[b"decimals"])
        counts = np.rint(np.nan_to_num(numbers(values)) * 10**decimals).astype(np.int64)
        return pc.if_else(values.is_valid(), decimal_texts(counts, decimals, form[b"decimal"].decode()), None)
    if isinstance(values, pa.ExtensionArray):
        if values.type.extension_name == "arrow.uuid":
            return pa.array([None if each is None else str(each) for each in values.to_pylist()], pa.string())
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_fixed_size_binary(values.type) or is_binary(values.type):
        values = values.cast(pa.binary())
    return values.cast(pa.string())


def wall_clock(values: pa.Array, zone: str) -> pa.Array:
    """Return moments as a clock in a zone shows them, in whole seconds without a zone."""
    seconds = values.cast(pa.timestamp("s", values.type.tz), safe=False).cast(pa.int64())
    if zone and len(seconds) > seconds.null_count:
        told = seconds.fill_null(pc.min(seconds)).to_numpy(zero_copy_only=False)
        shown = wall_of(told, zone, Period(int(told.min()), int(told.max())))
        seconds = pc.if_else(seconds.is_valid(), pa.array(shown), None)
    return seconds.cast(pa.timestamp("s"))


def _times(column: Time, bins: Ints, places: Floats, kind: Any) -> pa.Array:
    whole = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if is_hours(column) and (whole or column.type == "integer"):
        return pa.array(bins).cast(kind)
    wall = _within(column, bins, places)
    if whole or column.type == "integer":
        moments = moments_of(wall, column.tz or UTC, column.span)
        return pa.array(moments * PER_SECOND[column.unit or "s"]).cast(kind)
    if is_text(kind):
        return texts_of(wall, text_form(column)).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(wall // DAY).cast(pa.int32()).cast(pa.date32()).cast(kind)
    moments = wall if kind.tz is None else moments_of(wall, column.tz or kind.tz, column.span)
    return pa.array(moments * PER_SECOND[kind.unit]).cast(kind)


def text_form(column: Time) -> str:
    """Return the form in which text says a moment: as declared, or ISO 8601, of whole days without the hour."""
    is_day = column.resolution == "1d" and column.span.start % DAY == 0
    return column.format or (ISO_DAY if is_day else ISO)


def _within(column: Time, bins: Ints, places: Floats) -> Ints:
    """Return a wall-clock time within each bin, to the second; of a day, its beginning."""
    start = starts_of(bins, column.span, column.resolution)
    if column.resolution == "1d":
        return start
    length = np.minimum(RESOLUTIONS.get(column.resolution, HOUR), column.span.end - start)
    return start + np.floor(places * length).astype(np.int64)


WRITERS: Mapping[type[Column], Callable[[Any, Ints, Floats, Any], pa.Array]] = {
    Time: _times,
    Category: _categories,
    Number: _numbers,
}
