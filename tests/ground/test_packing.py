"""Packed places are in the area, about as many as wanted, and far apart."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.ground import pack
from pointveil.world import World

BOUNDS = (0.0, 0.0, 1000.0, 800.0)


def everywhere(xy: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.ones(len(xy), dtype=bool)


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1000])
def test_places_are_as_many_as_wanted_and_far_apart(count: int) -> None:
    places = pack(count, BOUNDS, everywhere, 800_000)

    assert len(places) == count
    if count > 1:
        apart = np.asarray(cKDTree(places).query(places, k=2)[0])[:, 1].min()
        assert apart > 0.7 * np.sqrt(2 / np.sqrt(3) * 800_000 / count)


def test_places_are_on_land(world: World) -> None:
    places = pack(200, world.bounds, world.on_land, world.land_area)

    assert len(places) == 200
    assert world.on_land(places).all()


def test_the_same_places_come_every_time(world: World) -> None:
    one, other = (pack(50, world.bounds, world.on_land, world.land_area) for _ in range(2))

    assert (one == other).all()


def test_a_thread_of_land_still_gets_some() -> None:
    def on_a_strip(xy: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(np.abs(xy[:, 1] - 123.4) < 0.5)

    places = pack(100, BOUNDS, on_a_strip, 1000)

    assert 1 <= len(places) <= 100
    assert on_a_strip(places).all()
