"""What measures share is worked out once."""

from typing import Any

import numpy as np
import pytest
from tests.evaluation.towns import crossroads, people

from pointveil.evaluation import MEASURES, Comparison, comparison, measure_all
from pointveil.evaluation.facilities import Customers


class Counted:
    """Stands for another object, and notes the name of each method that is called."""

    def __init__(self, other: Any, calls: list[str]) -> None:
        self.other, self.calls = other, calls

    def __getattr__(self, name: str) -> Any:
        self.calls.append("searched")
        return getattr(self.other, name)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of costly functions, as often as they are called."""
    counted: list[str] = []

    def count(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def called(*arguments: Any, **options: Any) -> Any:
            counted.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, called)

    count(comparison, "choose_centres")
    count(Customers, "of")
    return counted


def compared(calls: list[str]) -> Comparison:
    made = Comparison(people(300), people(300, seed=1), crossroads())
    made.__dict__["_road_search"] = Counted(made._road_search, calls)
    return made


def test_all_measures_choose_centres_once_and_search_roads_once_for_each_side(calls: list[str]) -> None:
    result = measure_all(compared(calls))

    assert set(result.values) == {name for name, row in MEASURES.items() if row.always}
    assert sorted(calls) == ["choose_centres", "of", "of", "searched", "searched"]


def test_other_synthetic_points_find_what_is_known_of_the_real_ones(calls: list[str]) -> None:
    first = compared(calls)
    measure_all(first)
    calls.clear()

    again = measure_all(first.against(people(200, seed=2)))

    assert sorted(calls) == ["of", "searched"]
    assert again == measure_all(Comparison(people(300), people(200, seed=2), crossroads()))


def test_spots_are_distinct_places_with_the_number_of_points_on_each() -> None:
    xy = np.array([[5.0, 1.0], [2.0, 9.0], [5.0, 1.0], [5.0, 1.5]])

    spots, _ = Comparison(xy, xy, crossroads()).spots

    assert dict(zip(map(tuple, spots.places.tolist()), spots.weights.tolist(), strict=True)) == {
        (5.0, 1.0): 2.0,
        (2.0, 9.0): 1.0,
        (5.0, 1.5): 1.0,
    }
