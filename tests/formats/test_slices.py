"""A piece of a column is read as if it stood alone, and a value as if no other stood beside it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pointveil.columns import Category, Number, Time
from pointveil.formats.codes import codes_in
from pointveil.formats.persons import person_column
from pointveil.formats.values import numbers

WORDS = ["anna", None, "  ", "b", "somebody with a longer name", "", "7", "8.5", "-1e3", "x" * 300]
KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("start", range(len(WORDS)))
def test_a_person_in_a_slice_has_the_same_name(start: int, kind: pa.DataType) -> None:
    whole, alone = pa.array(WORDS, kind), pa.array(WORDS[start:], kind)

    piece = person_column(whole.slice(start))

    piece.validate(full=True)
    assert piece.to_pylist() == person_column(alone).to_pylist()
    assert pa.concat_arrays([piece]).to_pylist() == person_column(whole).to_pylist()[start:]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("start", range(len(WORDS)))
def test_a_number_written_as_text_in_a_slice_is_the_same_number(start: int, kind: pa.DataType) -> None:
    whole, alone = pa.array(WORDS, kind), pa.array(WORDS[start:], kind)

    piece = numbers(whole.slice(start))

    assert np.array_equal(piece, numbers(alone), equal_nan=True)
    assert np.array_equal(piece, numbers(whole)[start:], equal_nan=True)


MOMENTS = ["2020-01-02T03:04", "2020-01-02 05:04:05", "2 Jan 2020", None, "2020-01-03"]
READERS: dict[str, Callable[[Any], Any]] = {
    "names": lambda column: person_column(column).to_pylist(),
    "numbers": lambda column: np.nan_to_num(numbers(column), nan=-9).tolist(),
    "categories": lambda column: codes_in(Category("c", ("anna", "8.5")), column, pa.string()).tolist(),
    "bins": lambda column: codes_in(Number("n", 0, 10, bins=10), column, pa.float64()).tolist(),
    "times": lambda column: codes_in(
        Time("t", "2020-01-01/2020-01-08", tz="Europe/Helsinki"), column, pa.string()
    ).tolist(),
}


@pytest.mark.parametrize("odd", ["1" * 10**5, "é" * 10**5, "2020-01-02T03:04+01:00", "\x00", ""])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("reader", READERS)
def test_an_odd_text_does_not_change_how_others_are_read(reader: str, kind: pa.DataType, odd: str) -> None:
    others = [*WORDS, *MOMENTS]

    beside = READERS[reader](pa.array([odd, *others, odd], kind))

    assert beside[1:-1] == READERS[reader](pa.array(others, kind))
    assert len(set(map(str, beside[1:-1]))) > 1
