"""Read pandas columns in a way that their dtype alone decides, never their values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from pointveil.errors import InputError
from pointveil.formats.persons import check_person, person_column, person_values
from pointveil.formats.values import is_number_like, numbers, numbers_of

# The kinds of NumPy that Arrow has too: truth values, whole numbers, floats, moments and spans of time.
ARROW_KINDS = "biufmM"
MASKED = {"IntegerArray", "FloatingArray", "BooleanArray", "ArrowExtensionArray", "ArrowStringArray"}


def numeric_reader(empty: Any, name: str) -> Callable[[Any], Any]:
    """Return what makes floats of a pandas column like this one without rows."""
    kind = arrow_type(empty)
    if kind is None:
        return lambda series: _one_by_one(series, numbers_of)
    if not is_number_like(kind):
        raise InputError(
            f"Column {name!r} of the frame holds {empty.dtype}, not numbers; "
            "say which columns hold the coordinates with --columns LON,LAT (columns=('LON', 'LAT')).",
        )
    return lambda series: numbers(pa.array(series, from_pandas=True))


def person_reader(empty: Any, name: str) -> Callable[[Any], Any]:
    """Return what makes persons of a pandas column like this one without rows."""
    kind = arrow_type(empty)
    if kind is None:
        return lambda series: _one_by_one(series, person_values)
    check_person(kind, name, "the frame")
    return lambda series: person_column(pa.array(series, from_pandas=True))


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
