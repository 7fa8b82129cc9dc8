"""Even placement is even, on land, and keeps every region's count."""

import numpy as np
import pytest

from pointveil.cells import Grid
from pointveil.ground import clip_to_land
from pointveil.partition import Counted
from pointveil.placement import Uniform
from pointveil.world import World


def test_points_are_spread_evenly_over_land_and_never_in_water(world: World) -> None:
    grid = Grid(world.bounds, 1, 1)
    people = Counted(grid, np.array([6000.0]), clip_to_land(grid, world))

    xy = Uniform().draw(world, people, None, 6000, np.random.default_rng(1))

    west_of_river = xy[:, 0] < world.bounds[2] * 0.45
    assert world.on_land(xy).all()
    assert west_of_river.mean() == pytest.approx(0.5, abs=0.03)  # five standard deviations


def test_each_region_gets_its_share(world: World) -> None:
    grid = Grid(world.bounds, 2, 1)
    people = Counted(grid, np.array([30.0, 70.0]), clip_to_land(grid, world))

    xy = Uniform().draw(world, people, None, 1000, np.random.default_rng(1))

    assert np.bincount(grid.locate(xy)).tolist() == [300, 700]
