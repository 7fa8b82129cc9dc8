"""KDE asks where points are, once, and draws on land from the blurred answer."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pointveil.cells import Grid
from pointveil.errors import InputError
from pointveil.ground import clip_to_land
from pointveil.partition import Counted
from pointveil.placement import KernelDensity
from pointveil.placement.kernel_density import choose_points
from pointveil.testing import ScriptedVault
from pointveil.vault import Share, Vault
from pointveil.world import World

BUDGET = {"place": Share("place", Fraction(1))}


def one_region(world: World, count: float) -> Counted:
    grid = Grid(world.bounds, 1, 1)
    return Counted(grid, np.array([count]), clip_to_land(grid, world))


def draw(world: World, counted: Counted, count: int) -> NDArray[np.float64]:
    placement = KernelDensity()
    asked = placement.ask(ScriptedVault(world), world, counted, BUDGET)
    return placement.draw(world, counted, asked, count, np.random.default_rng(1))


@pytest.mark.parametrize("count", [0, 1, 50, 100, 350])
def test_any_number_of_points_can_be_drawn(world: World, count: int) -> None:
    xy = draw(world, one_region(world, 100.0), count)

    assert len(xy) == count
    assert world.on_land(xy).all()


def test_nobody_gives_no_points(world: World) -> None:
    assert len(draw(world, one_region(world, 0.0), 10)) == 0


def test_much_epsilon_keeps_points_near_where_they_were(plain_world: World) -> None:
    place = (10.0151, 50.0091)
    table = pa.table({"lon": [place[0]] * 400, "lat": [place[1]] * 400})
    real = plain_world.projection.to_metres(np.array([place]))

    def median_distance(epsilon: int) -> float:
        vault = Vault.rehearse(table, plain_world, epsilon=epsilon, seed=1)
        counted, placement = one_region(plain_world, 400.0), KernelDensity()
        asked = placement.ask(vault, plain_world, counted, {"place": Share("place", Fraction(epsilon))})
        xy = placement.draw(plain_world, counted, asked, 400, np.random.default_rng(2))
        return float(np.median(np.hypot(*(xy - real).T)))

    # A site is about 180 by 167 metres; the world 1430 by 1335.
    assert median_distance(15) < 180
    assert median_distance(1) > 250


def test_all_points_are_used_alike() -> None:
    rng = np.random.default_rng(1)

    assert sorted(choose_points(4, 8, rng).tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert len(set(choose_points(10, 4, rng).tolist())) == 4
    assert choose_points(0, 9, rng).tolist() == []


def test_impossible_numbers_are_refused() -> None:
    for wrong in ({"max_uses": 0}, {"side": 3}, {"side": 128}):
        with pytest.raises(InputError, match="max_uses must be at least 1"):
            KernelDensity(**wrong)
