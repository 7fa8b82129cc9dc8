"""What measures share is worked out once."""

from typing import Any

import numpy as np
import pytest
from tests.evaluation.towns import crossroads, people

from pointveil.evaluation import MEASURES, Comparison, comparison, measure_all
from pointveil.evaluation.facilities import Customers
from pointveil.network.candidates import CandidateGrid


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
    count(CandidateGrid, "nearest")
    count(Customers, "of")
    return counted


def test_all_measures_choose_centres_once_and_search_roads_once_for_each_side(calls: list[str]) -> None:
    result = measure_all(Comparison(people(300), people(300, seed=1), crossroads()))

    assert set(result.values) == set(MEASURES)
    assert sorted(calls) == ["choose_centres", "nearest", "nearest", "of", "of"]


def test_other_synthetic_points_find_what_is_known_of_the_real_ones(calls: list[str]) -> None:
    first = Comparison(people(300), people(300, seed=1), crossroads())
    measure_all(first)
    calls.clear()

    again = measure_all(first.against(people(200, seed=2)))

    assert sorted(calls) == ["nearest", "of"]
    assert again == measure_all(Comparison(people(300), people(200, seed=2), crossroads()))


def test_spots_are_distinct_places_with_the_number_of_points_on_each() -> None:
    xy = np.array([[5.0, 1.0], [2.0, 9.0], [5.0, 1.0], [5.0, 1.5]])

    spots, _ = Comparison(xy, xy, crossroads()).spots

    assert dict(zip(map(tuple, spots.places.tolist()), spots.weights.tolist(), strict=True)) == {
        (5.0, 1.0): 2.0,
        (2.0, 9.0): 1.0,
        (5.0, 1.5): 1.0,
    }
