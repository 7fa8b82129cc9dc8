"""Turn any Arrow column into numbers, each value by itself and without complaint."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pointveil.errors import InputError

NUMBER = rb"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z"
REAL_NUMBERS = (int, float, np.integer, np.floating, Decimal)
# Which Python or NumPy would take for whole numbers.
NOT_NUMBERS = (bool, np.timedelta64)
LONGEST_NUMBER = 1 << 16
PLAIN_NUMBER = "^-?[0-9]{1,30}(\\.[0-9]{0,30})?$"


def numbers(values: Any) -> NDArray[np.float64]:
    """Return any Arrow array as floats, each value by itself: what is not a number is NaN."""
    if isinstance(values, pa.ChunkedArray):
        # One by one, because all texts together may be too long for one array.
        parts = [numbers(chunk) for chunk in values.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        words = np.append(numbers(values.dictionary), np.nan)
        places = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
        return np.asarray(words[places.to_numpy(zero_copy_only=False)], dtype=np.float64)
    if is_text(values.type):
        return _of_text(values)
    if values.type != pa.float64():
        values = values.cast(pa.float64(), safe=False)
    if values.null_count:
        values = values.fill_null(float("nan"))
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def storage_of(kind: Any) -> Any:
    """Return the plain Arrow type that a type is made of."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def plain_type(kind: Any) -> Any:
    """Return the plain Arrow type of the values of a type, which may be words in a dictionary."""
    storage = storage_of(kind)
    return storage_of(storage.value_type) if pa.types.is_dictionary(storage) else storage


def check_number(kind: Any, name: str, source: str) -> None:
    """Refuse, by its Arrow type alone, a column that cannot hold coordinates."""
    if not is_number_like(storage_of(kind)):
        raise InputError(
            f"Column {name!r} of {source} holds {kind}, not numbers; say which columns hold the coordinates "
            "with --columns LON,LAT (columns=('LON', 'LAT') in Python)."
        )


def is_number_like(kind: Any) -> bool:
    """Whether a column of this Arrow type can hold coordinates."""
    if pa.types.is_dictionary(kind):
        return is_number_like(storage_of(kind.value_type))
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null, is_text)
    return any(test(kind) for test in tests)


def is_binary(kind: Any) -> bool:
    """Whether a column of this Arrow type holds bytes."""
    return kind in {pa.binary(), pa.large_binary(), pa.binary_view()}


def is_text(kind: Any) -> bool:
    """Whether a column of this Arrow type holds text or bytes."""
    return kind in {pa.string(), pa.large_string(), pa.string_view()} or is_binary(kind)


def _of_text(values: Any) -> NDArray[np.float64]:
    # Bytes rather than strings: invalid UTF-8 is just another value that is not a number.
    values = values.cast(pa.large_binary())
    lengths = pc.fill_null(pc.binary_length(values), 0)
    if len(values) and pc.max(lengths).as_py() > LONGEST_NUMBER:
        # Nothing is copied of a text that is too long to be a number.
        short = np.asarray(lengths) <= LONGEST_NUMBER
        found = np.full(len(values), np.nan)
        found[short] = _of_text(values.filter(pa.array(short)))
        return found
    plain = pc.fill_null(pc.match_substring_regex(values, PLAIN_NUMBER), False)
    # Not `if_else`: before pyarrow 24 it reads the wrong bytes of a sliced column.
    found = pc.replace_with_mask(values, pc.invert(plain), pa.scalar(None, pa.large_binary()))
    parsed = numbers(found.cast(pa.large_string()).cast(pa.float64()))
    others = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    if len(others):
        parsed = parsed.copy()
        parsed[others] = [_float(value) for value in values.take(pa.array(others)).to_pylist()]
    return parsed


def _float(value: bytes | None) -> float:
    return float("nan") if value is None or re.match(NUMBER, value) is None else float(value)


def numbers_of(values: Iterable[Any]) -> NDArray[np.float64]:
    """Return Python objects of any kind as floats, each by itself: what is not a number is NaN."""
    return np.array([number_of(value) for value in values], dtype=np.float64)


def number_of(value: Any) -> float:
    """Return one Python object as a float; what is neither a real number nor the text of one is NaN."""
    try:
        if isinstance(value, str):
            return _float(value.encode("utf-8", "surrogatepass"))
        if isinstance(value, bytes):
            return _float(value)
        if isinstance(value, NOT_NUMBERS) or not isinstance(value, REAL_NUMBERS):
            return float("nan")
        return float(value)
    except Exception:  # noqa: BLE001 — whatever a stranger's object raises, it is a value that is not a number
        return float("nan")
