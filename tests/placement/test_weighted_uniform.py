"""WUD leans towards busy neighbours, and by area alone where there are none."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.cells import Grid, NestedGrid, Regions, Voronoi
from pointveil.errors import InputError
from pointveil.ground import clip_to_land, pack
from pointveil.partition import Counted
from pointveil.placement import WeightedUniform
from pointveil.testing import ScriptedVault
from pointveil.world import World


def counted(regions: Regions, world: World, counts: Any) -> Counted:
    land = clip_to_land(regions, world)
    return Counted(regions, np.where(land.area > 0, np.asarray(counts, dtype=np.float64), 0.0), land)


def draw(placement: WeightedUniform, world: World, people: Counted, count: int) -> NDArray[np.float64]:
    asked = placement.ask(ScriptedVault(world), world, people, {})
    return placement.draw(world, people, asked, count, np.random.default_rng(1))


def test_the_side_with_the_busy_neighbour_gets_more(plain_world: World) -> None:
    grid = Grid(plain_world.bounds, 3, 1)
    people = counted(grid, plain_world, [0, 4000, 4000])

    xy = draw(WeightedUniform(), plain_world, people, 8000)

    middle = xy[grid.locate(xy) == 1]
    width, height = grid.cell_size
    # In the middle cell the east triangle has a quarter of the area and the only neighbour: 1/2 · 1/4 + 1/2 · 1.
    east = middle[:, 0] - 1.5 * width > np.abs(middle[:, 1] - height / 2) * width / height
    assert east.mean() == pytest.approx(0.625, abs=0.001)


def test_only_area_is_the_even_law(plain_world: World) -> None:
    grid = Grid(plain_world.bounds, 3, 1)
    people = counted(grid, plain_world, [0, 4000, 4000])

    asked = WeightedUniform(1.0).ask(ScriptedVault(plain_world), plain_world, people, {})

    assert asked.counts == pytest.approx([1000] * 8)


def test_without_neighbours_the_sides_share_by_area(plain_world: World) -> None:
    grid = Grid(plain_world.bounds, 1, 1)

    asked = WeightedUniform(0.0).ask(ScriptedVault(plain_world), plain_world, counted(grid, plain_world, [80]), {})

    assert asked.counts == pytest.approx([20] * 4)


@pytest.mark.parametrize("shape", ["grid", "nested", "voronoi"])
def test_every_region_keeps_its_people_and_they_stay_on_land(world: World, shape: str) -> None:
    coarse = Grid(world.bounds, 5, 4)
    regions: Regions = {
        "grid": coarse,
        "nested": NestedGrid(coarse, 1 + np.arange(20) % 4),
        "voronoi": Voronoi(world.bounds, pack(30, world.bounds, world.on_land, world.land_area)),
    }[shape]  # type: ignore[assignment]
    people = counted(regions, world, 10 + np.arange(len(regions)) % 7)

    xy = draw(WeightedUniform(), world, people, people.total)

    assert len(xy) == people.total
    assert world.on_land(xy).mean() > 0.999
    found = np.bincount(regions.locate(xy), minlength=len(regions))
    assert np.abs(found - people.counts).max() <= 4.01  # rounding: less than one for each side


def test_nobody_gives_no_points(world: World) -> None:
    grid = Grid(world.bounds, 2, 2)

    assert len(draw(WeightedUniform(), world, counted(grid, world, [0, 0, 0, 0]), 0)) == 0


def test_a_weight_outside_zero_to_one_is_refused() -> None:
    with pytest.raises(InputError, match="area_weight must be between 0 and 1"):
        WeightedUniform(1.5)
