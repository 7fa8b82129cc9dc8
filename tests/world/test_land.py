import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from pointveil.cells.land import MIXED, LandTest, PlainBox
from pointveil.world.land import land_test

BOUNDS = (0.0, 0.0, 1000.0, 600.0)
LAKE = shapely.Point(400, 300).buffer(150, quad_segs=40)
ISLE = shapely.Point(400, 300).buffer(20)
SHORE = shapely.union(shapely.box(*BOUNDS).difference(LAKE), ISLE)


def anywhere(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(7).uniform((-20, -20), (1020, 620), (count, 2))


def test_the_raster_says_what_the_shapes_say() -> None:
    xy = anywhere(300_000)

    assert np.array_equal(land_test(SHORE, BOUNDS).holds(xy), shapely.contains_xy(SHORE, *xy.T))


def test_few_cells_are_mixed() -> None:
    test = land_test(SHORE, BOUNDS)

    assert isinstance(test, LandTest)
    assert (test.raster == MIXED).mean() < 0.01


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 12)), min_size=3, max_size=30), st.integers(0, 99))
def test_any_water_with_corners_on_cell_edges_is_exact(corners: list[tuple[int, int]], seed: int) -> None:
    water = shapely.make_valid(shapely.Polygon(np.array(corners) * 50.0))
    land = shapely.get_parts(shapely.box(*BOUNDS).difference(water))
    shape = shapely.multipolygons(land[shapely.get_type_id(land) == 3])
    test = land_test(shape, BOUNDS)
    rng = np.random.default_rng(seed)
    near = shapely.get_coordinates(shape)[rng.integers(0, shapely.get_num_coordinates(shape), 2000)]
    xy = np.concatenate([rng.uniform((0, 0), (1000, 600), (2000, 2)), near, near + rng.normal(0, 1e-7, near.shape)])

    assert np.array_equal(test.holds(xy), PlainBox(BOUNDS).holds(xy) & shapely.intersects_xy(shape, *xy.T))


def test_narrow_water_and_slivers_of_land_are_not_lost() -> None:
    canal = shapely.LineString([(0, 123.4), (1000, 456.7)]).buffer(0.001)
    land = shapely.box(*BOUNDS).difference(canal)
    along = np.linspace(0, 1000, 5000)[1:-1]
    xy = np.column_stack([along, 123.4 + along * (456.7 - 123.4) / 1000])

    assert not land_test(land, BOUNDS).holds(xy).any()
    assert land_test(land, BOUNDS).holds(xy + np.array([0, 0.01])).all()


@pytest.mark.parametrize("test", [PlainBox(BOUNDS), land_test(SHORE, BOUNDS)])
@pytest.mark.filterwarnings("error")
def test_west_and_south_edges_are_land_and_east_and_north_are_not(test: PlainBox | LandTest) -> None:
    inside = [[0, 0], [0, 599.9999], [999.9999, 0], [0, 10]]
    outside = [[1000, 10], [10, 600], [0, 600], [1000, 0], [-1e-9, 5], [math.nan, 5], [5, math.nan]]
    odd = [[math.inf, 5], [5, -math.inf], [1e308, -1e308]]

    assert test.holds(np.array(inside, dtype=float)).all()
    assert not test.holds(np.array(outside + odd, dtype=float)).any()
    assert test.holds(np.empty((0, 2))).shape == (0,)


def test_a_very_long_world_has_a_raster_too() -> None:
    bounds = (0.0, 0.0, 1e6, 1.0)
    land = shapely.box(*bounds).difference(shapely.box(3, 0.2, 5e5, 0.5))
    xy = np.random.default_rng(3).uniform((0, 0), (1e6, 1), (50_000, 2))

    assert np.array_equal(land_test(land, bounds).holds(xy), shapely.contains_xy(land, *xy.T))
