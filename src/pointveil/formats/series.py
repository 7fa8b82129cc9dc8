"""Read pandas columns in a way that their dtype alone decides, never their values."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pointveil.columns import Column
from pointveil.formats.codes import codes_in, codes_of_values
from pointveil.formats.kept import usual_kind
from pointveil.formats.persons import check_person, person_column, person_values
from pointveil.formats.values import check_number, numbers, numbers_of

# The kinds of NumPy that Arrow has too: truth values, whole numbers, floats, moments and spans of time.
ARROW_KINDS = "biufmM"
MASKED = {"IntegerArray", "FloatingArray", "BooleanArray", "ArrowExtensionArray", "ArrowStringArray"}


def numeric_reader(empty: Any, name: str) -> Callable[[Any], Any]:
    """Return what makes floats of a pandas column like this one without rows."""
    return _reader(empty, name, check_number, numbers, numbers_of)


def person_reader(empty: Any, name: str) -> Callable[[Any], Any]:
    """Return what makes persons of a pandas column like this one without rows."""
    return _reader(empty, name, check_person, person_column, person_values)


def code_reader(empty: Any, column: Column, kind: Any) -> Callable[[Any], Any]:
    """Return what makes codes of a pandas column like this one without rows."""
    whole, each = partial(codes_in, column, kind=kind), partial(codes_of_values, column, kind=kind)
    return _reader(empty, column.name, lambda *_: None, whole, each)


def kept_kind(empty: Any, column: Column) -> Any:
    """Return the Arrow type in which a pandas column is written again."""
    if type(empty.array).__name__ == "Categorical":
        words = arrow_type(empty.array.categories[:0].to_series())
        return pa.dictionary(pa.int32(), words or pa.string())
    return arrow_type(empty) or usual_kind(column)


def _reader(
    empty: Any,
    name: str,
    check: Callable[[Any, str, str], None],
    whole: Callable[[Any], Any],
    each: Callable[[Any], Any],
) -> Callable[[Any], Any]:
    kind = arrow_type(empty)
    if kind is None:
        return lambda series: _one_by_one(series, each)
    check(kind, name, "the frame")
    return lambda series: whole(pa.array(series, from_pandas=True))


def arrow_type(empty: Any) -> Any:
    """Return the Arrow type of a pandas column, or nothing if its values must be read one by one."""
    is_known = type(empty.array).__name__ in MASKED or getattr(empty.dtype, "kind", "O") in ARROW_KINDS
    if not is_known or type(empty.array).__name__ in {"SparseArray", "Categorical"}:
        return None
    try:
        return pa.array(empty, from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _one_by_one(series: Any, read: Callable[[Any], Any]) -> Any:
    if type(series.array).__name__ != "Categorical":
        return read(series.array)
    # Each category once; the code of a missing value is -1, which stands for the last.
    words = read([*series.array.categories, None])
    codes = series.array.codes.astype(np.int64) % len(words)
    return words[codes] if isinstance(words, np.ndarray) else words.take(pa.array(codes))
