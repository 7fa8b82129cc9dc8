import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from pointveil.cells import Grid
from pointveil.errors import InputError

sizes = st.integers(1, 60)
lengths = st.floats(0.1, 1e6)
grids = st.builds(
    lambda west, south, width, height, columns, rows: Grid((west, south, west + width, south + height), columns, rows),
    st.floats(-1e5, 1e5),
    st.floats(-1e5, 1e5),
    lengths,
    lengths,
    sizes,
    sizes,
)


@given(grids)
def test_each_cell_holds_its_own_lower_corner(grid: Grid) -> None:
    assert grid.locate(grid.lower_corners()).tolist() == list(range(len(grid)))


@given(grids, st.data())
def test_a_point_is_in_the_one_cell_whose_edges_say_so(grid: Grid, data: st.DataObject) -> None:
    west, south, east, north = grid.bounds
    point = data.draw(st.tuples(st.floats(west - 1, east + 1), st.floats(south - 1, north + 1)))

    cell = grid.locate(np.array([point]))[0]

    lower = np.all(grid.rectangles()[:, :2] <= point, axis=1)
    holders = np.flatnonzero(lower & np.all(grid.rectangles()[:, 2:] > point, axis=1))
    assert holders.tolist() == ([] if cell == -1 else [cell])


@given(grids)
def test_the_last_value_before_an_edge_is_in_the_cell_before_it(grid: Grid) -> None:
    upper = np.nextafter(grid.rectangles()[:, 2:], -math.inf)

    assert grid.locate(upper).tolist() == list(range(len(grid)))


def test_cells_are_numbered_row_by_row_from_the_south_west() -> None:
    grid = Grid((0, 0, 3, 2), 3, 2)

    assert len(grid) == 6
    assert grid.cell_size == (1.0, 1.0)
    assert grid.locate(np.array([[0.5, 0.5], [2.5, 0.5], [0.5, 1.5], [1.0, 1.0]])).tolist() == [0, 2, 3, 4]
    assert shapely.equals(grid.polygons(np.array([4]))[0], shapely.box(1, 1, 2, 2))
    assert grid.lower_corners()[4].tolist() == [1, 1]


@pytest.mark.filterwarnings("error")
def test_what_lies_outside_is_nowhere_and_silent() -> None:
    grid = Grid((0, 0, 3, 2), 3, 2)
    odd = [[3, 1], [1, 2], [-1e-300, 1], [1, math.nan], [math.inf, 1], [-math.inf, 1], [1e308, 1e308]]

    assert grid.locate(np.array(odd)).tolist() == [-1] * len(odd)
    assert grid.locate(np.empty((0, 2))).tolist() == []


def test_many_points_give_the_same_answers_as_few() -> None:
    grid = Grid((0, 0, 3, 2), 7, 11)
    xy = np.random.default_rng(1).uniform(-0.1, 3.1, (100_000, 2))

    assert np.array_equal(grid.locate(xy), np.concatenate([grid.locate(part) for part in np.split(xy, 1000)]))


@pytest.mark.parametrize(
    ("bounds", "columns", "rows"),
    [
        ((0, 0, 0, 1), 1, 1),
        ((0, 1, 1, 0), 1, 1),
        ((0, 0, math.nan, 1), 1, 1),
        ((0, 0, 1, 1), 0, 1),
        ((0, 0, 1, 1), 1, -1),
        ((0, 0, 1, 1), 1 << 30, 1 << 30),
    ],
)
def test_a_grid_without_cells_or_with_too_many_is_refused(
    bounds: tuple[float, float, float, float], columns: int, rows: int
) -> None:
    with pytest.raises(InputError):
        Grid(bounds, columns, rows)
