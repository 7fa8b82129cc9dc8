"""One rule for every number that must be exact."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pointveil.errors import InputError
from pointveil.files.exact import exact_number
from pointveil.ledger.entries import exact
from pointveil.methods import METHODS
from pointveil.vault import exact_epsilon

TENTH = Fraction(1, 10)
TENTHS = [0.1, "0.1", " 0.1 ", "1/10", "1e-1", "01/010", Decimal("0.10"), TENTH, np.float64(0.1), np.float32(0.1)]
NO_NUMBERS: list[Any] = ["", "one", "1/0", "nan", "inf", "1,5", "1_0", "0x1", "½", ".", "1/2/3", "1 2", None, [1], b"1"]
TOO_LONG: list[Any] = ["1e-400000000", Decimal("1e-400000000"), "1" * 31, "1/" + "1" * 31, 10**5000]


@pytest.mark.parametrize("value", TENTHS, ids=repr)
def test_a_tenth_is_a_tenth_however_it_is_said(value: Any) -> None:
    assert exact_number(value, "x", 0, 1) == exact_epsilon(value) == exact(value) == TENTH
    shares = METHODS["agrid-uni"].with_split({"total": value, "shape": "2/5", "count": "1/2"}).shares()
    assert shares["total"] == TENTH


@pytest.mark.parametrize(
    "value",
    [*NO_NUMBERS, *TOO_LONG, True, np.True_, float("nan"), float("inf"), 1j],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_exact_number_is_refused_everywhere_alike(value: Any) -> None:
    for parse in (exact_epsilon, exact, lambda part: METHODS["ugrid-uni"].with_split({"count": part})):
        with pytest.raises(InputError, match=r"must be a number such as 1, 0\.5 or 1/3") as caught:
            parse(value)
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [-1, "-0.1", "1e-7", 5e-324, 101, "1e999", 1e308])
def test_what_lies_beyond_the_bounds_is_refused_with_the_bounds(value: Any) -> None:
    with pytest.raises(InputError, match=r"^epsilon must be at least 0\.000001 and at most 100, not "):
        exact_epsilon(value)


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="must be more than 0"):
        METHODS["agrid-uni"].with_split({"shape": 0, "count": 1})
