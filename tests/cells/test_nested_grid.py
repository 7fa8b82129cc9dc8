"""A nested grid puts every point into exactly one part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells import Grid, NestedGrid
from pointveil.errors import InputError

GRID = NestedGrid(Grid((0.0, 0.0, 30.0, 20.0), 3, 2), np.array([1, 2, 3, 1, 5, 7]))


def test_parts_are_numbered_cell_by_cell() -> None:
    assert len(GRID) == 1 + 4 + 9 + 1 + 25 + 49
    assert GRID.locate(np.array([[5.0, 5.0], [11.0, 1.0], [16.0, 1.0], [11.0, 6.0], [16.0, 6.0]])).tolist() == [
        *(0, 1, 2, 3, 4)
    ]


def test_every_part_holds_its_lower_corner_and_its_middle_and_not_its_upper_corner() -> None:
    west, south, east, north = GRID.rectangles().T
    numbers = np.arange(len(GRID))

    assert (GRID.locate(np.column_stack([west, south])) == numbers).all()
    assert (GRID.locate(np.column_stack([(west + east) / 2, (south + north) / 2])) == numbers).all()
    assert (GRID.locate(np.column_stack([east, south])) != numbers).all()
    assert (GRID.locate(np.column_stack([west, north])) != numbers).all()


def test_a_hair_before_an_edge_is_still_the_part_before_it() -> None:
    # Sides that are no whole number of metres, so that edges are rounded.
    grid = NestedGrid(Grid((0.0, 0.0, 100 / 3, 70 / 3), 7, 3), 1 + np.arange(21) % 19)
    west, south, east, north = grid.rectangles().T
    numbers = np.arange(len(grid))

    assert (grid.locate(np.column_stack([np.nextafter(east, -1), south])) == numbers).all()
    assert (grid.locate(np.column_stack([west, np.nextafter(north, -1)])) == numbers).all()
    assert (grid.locate(np.column_stack([west, south])) == numbers).all()


@given(st.floats(-5, 35), st.floats(-5, 25))
def test_a_point_is_in_the_one_part_whose_rectangle_holds_it(x: float, y: float) -> None:
    west, south, east, north = GRID.rectangles().T
    holding = np.flatnonzero((west <= x) & (x < east) & (south <= y) & (y < north))

    found = GRID.locate(np.array([[x, y]])).tolist()

    assert found == (holding.tolist() or [-1])


def test_rectangles_cover_the_bounds_without_overlap() -> None:
    west, south, east, north = GRID.rectangles().T

    assert ((east - west) * (north - south)).sum() == pytest.approx(600)


def test_outside_and_nan_are_nowhere() -> None:
    outside = np.array([[-1.0, 1.0], [30.0, 1.0], [1.0, 20.0], [np.nan, 1.0], [np.inf, 1.0]])

    assert (GRID.locate(outside) == -1).all()
    assert GRID.locate(np.empty((0, 2))).tolist() == []


def test_sides_that_do_not_fit_are_refused() -> None:
    for sides in ([1, 1], [1, 1, 1, 1, 1, 0]):
        with pytest.raises(InputError, match="one side of at least 1"):
            NestedGrid(GRID.coarse, np.array(sides))
