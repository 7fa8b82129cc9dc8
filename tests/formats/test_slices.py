"""A piece of a column is read as if it stood alone."""

import numpy as np
import pyarrow as pa
import pytest

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
