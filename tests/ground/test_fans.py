"""Fans cut a region's land by its sides."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.cells import Grid, NestedGrid, Regions, Voronoi
from pointveil.ground import clip_to_land, cut_into_fans, pack
from pointveil.world import World


def every_shape(world: World) -> list[Regions]:
    coarse = Grid(world.bounds, 4, 3)
    return [
        coarse,
        NestedGrid(coarse, np.arange(1, 13)),
        Voronoi(world.bounds, pack(40, world.bounds, world.on_land, world.land_area)),
    ]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_sides_add_up_to_the_land_of_their_region(world: World, number: int) -> None:
    regions = every_shape(world)[number]
    land = clip_to_land(regions, world)
    which = np.flatnonzero(land.area > 0)

    fans = cut_into_fans(regions, land, world, which)

    assert np.bincount(fans.region, fans.area, len(regions)) == pytest.approx(land.area)
    assert (fans.area > 0).all()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_points_of_a_side_lie_in_its_region_on_land(world: World, number: int) -> None:
    regions = every_shape(world)[number]
    land = clip_to_land(regions, world)
    fans = cut_into_fans(regions, land, world, np.flatnonzero(land.area > 0))
    side = np.repeat(np.arange(len(fans)), 5)

    xy = fans.land.pick(side, np.random.default_rng(1))

    assert (regions.locate(xy) == fans.region[side]).mean() > 0.999
    assert world.on_land(xy).mean() > 0.999


@pytest.mark.parametrize("number", [0, 1, 2])
def test_past_a_side_lies_another_region_or_the_end_of_the_world(world: World, number: int) -> None:
    regions = every_shape(world)[number]
    land = clip_to_land(regions, world)
    fans = cut_into_fans(regions, land, world, np.flatnonzero(land.area > 0))

    across = regions.locate(fans.beyond)

    assert (across != fans.region).all()
    west, south, east, north = world.bounds
    x, y = fans.beyond.T
    outside = (x < west) | (x >= east) | (y < south) | (y >= north)
    assert ((across == -1) == outside).all()


def test_a_cell_faces_its_four_neighbours(plain_world: World) -> None:
    grid = Grid(plain_world.bounds, 3, 3)

    fans = cut_into_fans(grid, clip_to_land(grid, plain_world), plain_world, np.array([4]))

    assert grid.locate(fans.beyond).tolist() == [1, 5, 7, 3]


def test_no_regions_give_no_sides(plain_world: World) -> None:
    grid = Grid(plain_world.bounds, 3, 3)
    nothing: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    assert len(cut_into_fans(grid, clip_to_land(grid, plain_world), plain_world, nothing)) == 0
