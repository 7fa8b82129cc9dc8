"""Voronoi regions hold what is nearest to their centre, and their outlines agree."""

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.cells import Voronoi, nearest_of
from pointveil.cells.outlines import sure_outlines
from pointveil.errors import InputError
from pointveil.ground import Triangulation
from pointveil.ground.packing import honeycomb

BOUNDS = (0.0, 0.0, 1000.0, 800.0)
RNG = np.random.default_rng(1)
TURN = np.arange(200) / 200 * 2 * np.pi
LAYOUTS = {
    "scattered": RNG.uniform((0, 0), (1000, 800), (300, 2)),
    "one": np.array([[3.0, 4.0]]),
    "two": np.array([[3.0, 4.0], [3.0, 4.01]]),
    "in a row": np.column_stack([np.linspace(1, 999, 50), np.full(50, 400.0)]),
    "honeycomb": honeycomb(40, BOUNDS),
    "honeycomb in centimetres": np.rint(honeycomb(33.3, BOUNDS) * 100) / 100,
    "square lattice": np.stack(np.meshgrid(np.arange(20.0, 1000, 40), np.arange(20.0, 800, 40)), -1).reshape(-1, 2),
    "on one circle": 400 + 300 * np.column_stack([np.cos(TURN), np.sin(TURN)]),
    "crowded": np.unique(np.rint(RNG.uniform(500, 500.3, (200, 2)) * 100) / 100, axis=0),
    "on the edges": np.array([[0.0, 0.0], [0.0, 400.0], [500.0, 0.0], [999.0, 799.0]]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_outlines_cover_the_bounds_and_hold_what_is_located_in_them(layout: str) -> None:
    regions = Voronoi(BOUNDS, LAYOUTS[layout])
    outlines = regions.polygons(np.arange(len(regions)))
    triangles = Triangulation.of(outlines)
    region = np.repeat(np.unique(triangles.region), 30)

    picked = triangles.pick(region, np.random.default_rng(2))

    assert shapely.area(outlines).sum() == pytest.approx(800_000)
    assert (regions.locate(picked) == region).mean() > 0.999


def test_the_slow_way_gives_the_same_outlines() -> None:
    centres = LAYOUTS["scattered"]

    quick = Voronoi(BOUNDS, centres).polygons(np.arange(len(centres)))
    sure = sure_outlines(centres, BOUNDS)

    assert shapely.area(shapely.symmetric_difference(quick, sure)).max() < 1e-2


def brute_force(centres: NDArray[np.float64], xy: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.asarray(np.square(centres[None] - xy[:, None]).sum(axis=2).argmin(axis=1))


def test_a_tie_goes_to_the_lowest_number() -> None:
    centres = np.array([[1.0, 1.0], [3.0, 3.0], [1.0, 3.0], [3.0, 1.0], [50.0, 50.0]])
    between = np.array([[2.0, 2.0], [2.0, 3.0], [3.0, 2.0], [2.0, 1.0], [26.5, 26.5]])

    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]):
        assert nearest_of(centres[order], between).tolist() == brute_force(centres[order], between).tolist()


def test_a_place_as_near_to_very_many_centres_belongs_to_the_first_of_them() -> None:
    # Whole numbers whose squares add up to 1105²: all distances are exactly the same.
    x, y = np.meshgrid(np.arange(-1105.0, 1106), np.arange(-1105.0, 1106))
    circle = np.column_stack([x[x**2 + y**2 == 1105**2], y[x**2 + y**2 == 1105**2]])
    company = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [-500.0, 2.0]])

    for order in (slice(None), slice(None, None, -1)):
        centres = np.concatenate([[[2000.0, 0.0]], circle[order]])
        found = nearest_of(centres, company)
        assert len(circle) > 100
        assert found[[0, 2]].tolist() == [1, 1]
        assert found.tolist() == brute_force(centres, company).tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_nearest_centre_is_found_also_on_a_tie(layout: str) -> None:
    centres = LAYOUTS[layout]
    xy = RNG.uniform((0, 0), (1000, 800), (2000, 2))
    lattice = np.rint(xy / 20) * 20  # on the square lattice, each of these is as near to four centres
    xy = np.concatenate([xy, lattice[(lattice < BOUNDS[2:]).all(axis=1)], centres])

    found = Voronoi(BOUNDS, centres).locate(xy)

    assert (found == brute_force(centres, xy)).all()
    assert (nearest_of(centres, xy[:2000]) == found[:2000]).all()


def test_a_point_is_located_alike_alone_and_in_company() -> None:
    regions = Voronoi(BOUNDS, LAYOUTS["square lattice"])
    xy = np.concatenate([RNG.uniform((0, 0), (1000, 800), (70_000, 2)), [[40.0, 40.0], [60.0, 40.0]]])

    together = regions.locate(xy)

    assert [int(regions.locate(xy[number : number + 1])[0]) for number in range(-50, -1)] == together[-50:-1].tolist()


def test_outside_and_nan_are_nowhere() -> None:
    regions = Voronoi(BOUNDS, LAYOUTS["two"])
    places = np.array([[-1.0, 5.0], [1000.0, 5.0], [5.0, 800.0], [np.nan, 5.0], [0.0, 0.0]])

    assert regions.locate(places).tolist() == [-1, -1, -1, -1, 0]


def test_centres_in_one_place_are_refused() -> None:
    for centres in (np.empty((0, 2)), np.array([[1.0, 1.0], [1.0, 1.0]])):
        with pytest.raises(InputError, match="no two in the same place"):
            Voronoi(BOUNDS, centres)
