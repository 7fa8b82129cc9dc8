"""A measure joins the table where it is defined, also from outside the package."""

import doctest
import json
import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from tests.evaluation.towns import people, town

from pointveil.errors import InputError
from pointveil.evaluation import MEASURES, Comparison, Sizes, UnmeasuredError, measure, measure_all, registry, results
from pointveil.evaluation.results import lines


@pytest.fixture(autouse=True)
def _table_as_before() -> Iterator[None]:
    before = dict(MEASURES)
    yield
    MEASURES._rows = before


def test_a_registered_function_is_measured_with_all_others() -> None:
    @measure("carried", title="Carried", better="lower", unit="m")
    def carried(comparison: Comparison) -> float:
        return float(np.hypot(*(comparison.real - comparison.synthetic).mean(axis=0)))

    result = measure_all(Comparison(people(20), people(20) + np.array([3.0, 4.0]), town()))

    assert result.values["carried"] == pytest.approx(5.0)
    assert result.to_dict()["measures"]["carried"] | {"value": 5} == {
        "value": 5,
        "unit": "m",
        "better": "lower",
        "best": 0.0,
        "reading": "Carried.",
    }
    assert "carried" in repr(result)


def test_a_function_is_not_called_with_fewer_points_than_it_needs() -> None:
    @measure("pairs", title="Pairs", better="higher", real=2, roads=False)
    def pairs(comparison: Comparison) -> float:
        raise AssertionError

    with pytest.raises(UnmeasuredError, match="Pairs needs at least 2 real points"):
        pairs(Comparison(people(1), people(9), town()))
    with pytest.raises(UnmeasuredError, match="Pairs needs at least one synthetic point"):
        pairs(Comparison(people(2), np.zeros((0, 2)), town()))


def test_a_value_that_is_not_finite_is_a_reason_and_no_number() -> None:
    @measure("endless", title="Endless", better="lower")
    def endless(comparison: Comparison) -> float:
        return math.inf

    result = measure_all(Comparison(people(3), people(3), town()), ["endless"])

    assert json.loads(result.to_json())["not_measured"] == {"endless": "Endless has no finite value for these points"}


def test_each_size_is_a_row_and_all_of_them_share_a_line() -> None:
    sizes = Sizes("side", (1, 2), "{} km", "any")

    @measure("area", title="Area", better="higher", best=4, reading="In {} squares.", sizes=sizes)
    def area(comparison: Comparison, *, side: int) -> float:
        return float(side * side)

    result = measure_all(Comparison(people(3), people(3), town()), ["area_1", "area_2"])

    assert result.values == {"area_1": 1.0, "area_2": 4.0}
    assert MEASURES["area_2"].reading == "In 2 km squares."
    (line,) = lines(result)
    assert (line.name, line.values, line.best) == ("area", (("1 km", "1.000"), ("2 km", "4.000")), "4")
    assert line.reading == "In any squares."


def test_no_measure_replaces_another() -> None:
    with pytest.raises(InputError, match="There is already a measure called 'medd'"):

        @measure("medd", title="Mine", better="lower")
        def mine(comparison: Comparison) -> float:
            return 0.0


@pytest.mark.parametrize("module", [registry, results], ids=lambda module: module.__name__)
def test_the_examples_run(module: ModuleType) -> None:
    outcome = doctest.testmod(module)

    assert outcome.attempted > 2
    assert not outcome.failed
