"""Turn any Arrow column into numbers, each value by itself and without complaint."""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NUMBER = rb"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*\Z"
PLAIN_NUMBER = "^-?[0-9]{1,30}(\\.[0-9]{0,30})?$"


def numbers(values: Any, *, decimal_comma: bool = False) -> NDArray[np.float64]:
    """Return any Arrow array as floats, each value by itself: what is not a number is NaN."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        return _of_dictionary(values, decimal_comma=decimal_comma)
    if _is_text(values.type):
        return _of_text(values, decimal_comma=decimal_comma)
    if values.type != pa.float64():
        values = values.cast(pa.float64(), safe=False)
    if values.null_count:
        values = values.fill_null(float("nan"))
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def is_number_like(kind: Any) -> bool:
    """Whether a column of this Arrow type can hold coordinates."""
    if pa.types.is_dictionary(kind):
        return is_number_like(kind.value_type)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null, _is_text)
    return any(test(kind) for test in tests)


def is_binary(kind: Any) -> bool:
    """Whether a column of this Arrow type holds bytes."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, is_binary)
    return any(test(kind) for test in tests)


def _of_dictionary(values: Any, *, decimal_comma: bool) -> NDArray[np.float64]:
    words = np.append(numbers(values.dictionary, decimal_comma=decimal_comma), np.nan)
    codes = values.indices.cast(pa.int64()).fill_null(len(words) - 1)
    return np.asarray(words[codes.to_numpy(zero_copy_only=False)], dtype=np.float64)


def _of_text(values: Any, *, decimal_comma: bool) -> NDArray[np.float64]:
    # Bytes rather than strings: invalid UTF-8 is just another value that is not a number.
    values = values.cast(pa.large_binary())
    if decimal_comma:
        values = pc.replace_substring(values, b",", b".")
    plain = pc.fill_null(pc.match_substring_regex(values, PLAIN_NUMBER), False)
    found = pc.if_else(plain, values, pa.scalar(None, pa.large_binary()))
    parsed = numbers(found.cast(pa.large_string()).cast(pa.float64()))
    others = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
    if len(others):
        parsed = parsed.copy()
        parsed[others] = [_float(value) for value in values.take(pa.array(others)).to_pylist()]
    return parsed


def _float(value: bytes | None) -> float:
    return float("nan") if value is None or re.match(NUMBER, value) is None else float(value)
