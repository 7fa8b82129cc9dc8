from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pointveil.cells import Grid
from pointveil.errors import InputError
from pointveil.ground import Triangulation, clip_to_land
from pointveil.world import World

HOLE = shapely.box(0, 0, 10, 10).difference(shapely.box(3, 3, 6, 6))
TWO = shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(5, 5, 7, 6)])
HOOK = shapely.Polygon([(0, 0), (4, 0), (4, 4), (3, 4), (3, 1), (0, 1)])
HEXAGON = shapely.Point(0, 0).buffer(1, quad_segs=2)


def test_triangles_add_up_to_each_region() -> None:
    regions = [HOLE, None, TWO, shapely.Polygon(), HOOK, shapely.Point(1, 1), HEXAGON, shapely.box(2, 2, 2, 5)]

    triangles = Triangulation.of(regions)

    wanted = [0 if region is None else region.area for region in regions]
    assert triangles.region_areas == pytest.approx(wanted)
    assert set(triangles.region) == {0, 2, 4, 6}
    assert (np.diff(triangles.region) >= 0).all()
    assert (triangles.areas > 0).all()


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=20))
@example([(0, 0), (0, 2), (2, 1), (1, 1), (1, 1)])
def test_any_polygon_is_covered_by_triangles_inside_it(corners: list[tuple[int, int]]) -> None:
    region = shapely.make_valid(shapely.Polygon(corners))

    triangles = Triangulation.of([region])

    assert triangles.areas.sum() == pytest.approx(region.area)
    outlines = shapely.polygons(triangles.corners)
    assert shapely.area(shapely.difference(outlines, region)).sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("region", [HOLE, TWO, HOOK, HEXAGON])
def test_points_are_even(region: shapely.Geometry) -> None:
    """A chi-square test at one in a million."""
    triangles = Triangulation.of([shapely.box(50, 50, 60, 60), region])
    west, south, east, north = region.bounds
    across = np.linspace(west, east, 6)
    along = np.linspace(south, north, 6)

    xy = triangles.pick(np.ones(60_000, dtype=int), np.random.default_rng(5))

    cells = shapely.box(across[:-1, None], along[None, :-1], across[1:, None], along[None, 1:])
    expected = shapely.area(shapely.intersection(cells, region)) / region.area * len(xy)
    seen = np.histogram2d(xy[:, 0], xy[:, 1], bins=[across, along])[0]
    full = expected > 5
    assert shapely.intersects_xy(region.buffer(1e-9), *xy.T).all()
    assert seen.sum() == len(xy)
    assert ((seen - expected)[full] ** 2 / expected[full]).sum() < 85  # 24 degrees of freedom


def test_each_point_lies_in_its_own_region() -> None:
    regions = shapely.box(np.arange(50.0), 0, np.arange(50.0) + 1, np.arange(50.0) + 1)
    asked = np.random.default_rng(2).integers(0, 50, 200_000)

    xy = Triangulation.of(regions).pick(asked, np.random.default_rng(3))

    assert np.array_equal(np.floor(xy[:, 0]), asked)
    assert (xy[:, 1] <= asked + 1).all()


def test_a_speck_beside_a_continent_gets_its_points() -> None:
    regions = [shapely.box(0, 0, 1e6, 1e6), shapely.box(-1e-2, 0, 0, 1e-2), shapely.box(0, -1e-2, 1e-2, 0)]

    xy = Triangulation.of(regions).pick(np.repeat([0, 1, 2], 1000), np.random.default_rng(3))

    for number, region in enumerate(regions):
        own = xy[number * 1000 : number * 1000 + 1000]
        west, south, east, north = region.bounds
        middle = (west + east) / 2, (south + north) / 2
        assert shapely.intersects_xy(region.buffer(1e-9), *own.T).all()
        assert own.mean(axis=0) == pytest.approx(middle, abs=0.06 * (east - west))


def test_no_region_reaches_into_the_next_by_a_rounding() -> None:
    angles = np.linspace(0, 2 * np.pi, 30)[:-1]
    regions = [shapely.Polygon(np.column_stack([np.cos(angles) * size, np.sin(angles)])) for size in range(1, 200)]

    triangles = Triangulation.of(regions)

    assert (triangles._shares <= triangles.region + 1).all()
    assert (np.diff(triangles._shares) >= 0).all()


class Highest(np.random.Generator):
    """A source of randomness whose every number is as near to one as can be."""

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.full(size, np.nextafter(1, 0))


def test_the_highest_random_number_stays_in_its_region() -> None:
    regions = shapely.box(np.arange(9.0), 0, np.arange(9.0) + 1, 1)

    xy = Triangulation.of(regions).pick(np.arange(8), Highest(np.random.PCG64()))

    assert shapely.intersects_xy(regions[:8], *xy.T).all()


def test_the_same_seed_gives_the_same_points() -> None:
    triangles = Triangulation.of([HOLE, TWO])

    one, other = (triangles.pick(np.array([0, 1, 1]), np.random.default_rng(9)) for _ in range(2))

    assert np.array_equal(one, other)
    assert triangles.pick(np.array([], dtype=int), np.random.default_rng(9)).shape == (0, 2)


@pytest.mark.parametrize("asked", [1, -1, 2])
def test_a_point_in_a_region_without_area_is_refused(asked: int) -> None:
    triangles = Triangulation.of([HOLE, None])

    with pytest.raises(InputError):
        triangles.pick(np.array([0, asked]), np.random.default_rng(9))


def test_a_region_that_crosses_itself_is_refused() -> None:
    pentagram = shapely.Polygon([(np.cos(a), np.sin(a)) for a in np.arange(5) * 4 * np.pi / 5])

    for crossed in (pentagram, shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 3)])):
        with pytest.raises(InputError, match="crosses itself"):
            Triangulation.of([HOLE, crossed])


def test_slivers_where_water_meets_a_grid_line_do_no_harm() -> None:
    """Water up to the world's corner, on the lines of many a grid up to rounding: all of them can be clipped."""
    water = shapely.box(24.9 + 2500 / 60000, 60.1 + 2500 / 111000, 24.95, 60.1 + 3000 / 111000)
    world = World.make((24.9, 60.1, 24.95, 60.1 + 3000 / 111000), out_of_bounds=water)

    for side in range(2, 90):
        grid = Grid(world.bounds, side, side)
        assert clip_to_land(grid, world).area.sum() == pytest.approx(world.land_area, rel=1e-6)
