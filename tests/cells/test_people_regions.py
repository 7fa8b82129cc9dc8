"""Regions of equal people put every finite place into exactly one region."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells import PeopleRegions

BLOCK = 1 << 16

# West and east of x = 10; the west cut at y = 5, the east at y = 7.
FOUR = PeopleRegions(np.array([0, 1, 1], dtype=np.int8), np.array([10.0, 5.0, 7.0]))


def test_regions_are_the_leaves_of_the_tree_from_left_to_right() -> None:
    places = np.array([[0.0, 0.0], [0.0, 9.0], [20.0, 6.0], [20.0, 8.0]])

    assert FOUR.locate(places).tolist() == [0, 1, 2, 3]


def test_a_place_on_a_cut_belongs_to_the_upper_side() -> None:
    places = np.array([[10.0, 6.9], [np.nextafter(10.0, 0), 5.0], [10.0, 7.0], [0.0, np.nextafter(5.0, 0)]])

    assert FOUR.locate(places).tolist() == [2, 1, 3, 0]


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_every_finite_place_has_the_region_that_its_coordinates_say(x: float, y: float) -> None:
    expected = (2 if x >= 10 else 0) + (1 if y >= (7 if x >= 10 else 5) else 0)

    assert FOUR.locate(np.array([[x, y]])).tolist() == [expected]


def test_what_is_not_finite_is_nowhere() -> None:
    places = np.array([[np.nan, 1.0], [1.0, np.inf], [-np.inf, 1.0]])

    assert FOUR.locate(places).tolist() == [-1, -1, -1]
    assert PeopleRegions(np.zeros(0, dtype=np.int8), np.zeros(0)).locate(places).tolist() == [-1, -1, -1]


def test_each_record_is_looked_at_alone() -> None:
    rng = np.random.default_rng(1)
    places = rng.uniform(0, 20, (BLOCK + 100, 2))
    order = rng.permutation(len(places))

    together = FOUR.locate(places)

    assert (FOUR.locate(places[order]) == together[order]).all()
    assert [int(FOUR.locate(place[None])[0]) for place in places[-150:]] == together[-150:].tolist()
    assert together.dtype == np.int64


def test_one_region_holds_everything_and_none_gives_none() -> None:
    whole = PeopleRegions(np.zeros(0, dtype=np.int8), np.zeros(0))

    assert len(whole) == 1
    assert whole.locate(np.array([[3.0, 4.0]])).tolist() == [0]
    assert FOUR.locate(np.empty((0, 2))).tolist() == []


def test_cuts_that_make_no_full_tree_are_refused() -> None:
    with pytest.raises(ValueError, match="2\\*\\*levels - 1"):
        PeopleRegions(np.zeros(2, dtype=np.int8), np.zeros(2))
