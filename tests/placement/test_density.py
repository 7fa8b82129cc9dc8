"""Points as dense as people are expected, without a pattern."""

import dataclasses

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from pointveil.ground import raster_of
from pointveil.partition import PlaceMasses
from pointveil.placement import Density, evening
from pointveil.placement.base import shuffled
from pointveil.world import World


@pytest.fixture
def masses(world: World) -> PlaceMasses:
    raster = raster_of(world, 16.0, 8)
    return PlaceMasses(raster, np.random.default_rng(1).gamma(0.5, size=len(raster.entry_cell)))


def drawn(masses: PlaceMasses, world: World, placement: Density, seed: int, count: int = 5000) -> np.ndarray:
    return placement.draw(world, masses, None, count, np.random.default_rng(seed))


def entries(masses: PlaceMasses, xy: np.ndarray) -> np.ndarray:
    cell = masses.raster.index[masses.raster.cell_of(xy)]
    return np.bincount(cell, minlength=len(masses.raster.column))


def test_points_are_on_land_and_as_many_as_asked(masses: PlaceMasses, world: World) -> None:
    xy = drawn(masses, world, Density(), 1)

    assert len(xy) == 5000
    assert world.on_land(xy).mean() > 0.999


def test_every_cell_gets_what_it_should_on_average(masses: PlaceMasses, world: World) -> None:
    mean = np.mean([entries(masses, drawn(masses, world, Density(), seed)) for seed in range(40)], axis=0)

    expected = np.bincount(masses.raster.entry_cell, masses.mass) * 5000 / masses.mass.sum()
    assert mean == pytest.approx(expected, abs=0.6)
    assert np.abs(mean - expected).mean() < 0.1


def test_even_spacing_keeps_counts_closer_than_independent_points(masses: PlaceMasses, world: World) -> None:
    expected = np.bincount(masses.raster.entry_cell, masses.mass) * 5000 / masses.mass.sum()
    even, independent = (
        np.abs(entries(masses, drawn(masses, world, Density(spacing), 3)) - expected).sum()
        for spacing in ("even", "independent")
    )

    assert even < 0.7 * independent


def gap(masses: PlaceMasses, at: np.ndarray, side: int) -> float:
    """Return the sum of squared gaps between points and what is expected, in squares of so many cells laid anywhere."""
    raster, running = masses.raster, np.cumsum(masses.mass)
    cell = raster.entry_cell[np.searchsorted(running, at, side="right")]
    field = np.zeros(raster.shape)
    np.add.at(field, (raster.column[cell], raster.row[cell]), 1.0)
    wanted = np.bincount(raster.entry_cell, masses.mass, len(raster.column)) * len(at) / running[-1]
    field[raster.column, raster.row] -= wanted
    return float((uniform_filter(field, side, mode="constant") ** 2).sum())


@pytest.mark.parametrize("tile", [9, 4], ids=["one tile", "many tiles"])
def test_points_move_a_little_until_squares_have_what_is_expected(
    masses: PlaceMasses, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evening, "TILE", tile)
    running, count = np.cumsum(masses.mass), 2000
    part = running[-1] / count
    at = np.sort(np.random.default_rng(2).random(count)) * part + np.arange(count) * part
    moved = at.copy()

    evening.even_out(masses.raster, masses.mass, running, moved, np.random.default_rng(3))

    assert np.abs(moved - at).max() <= part
    assert (moved != at).mean() > 0.02
    assert gap(masses, moved, 6) < 0.8 * gap(masses, at, 6)


def test_points_stay_where_squares_have_so_many_that_one_does_not_show(
    masses: PlaceMasses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evening, "MANY", 0)
    running = np.cumsum(masses.mass)
    at = np.linspace(0, running[-1], 2000, endpoint=False)
    moved = at.copy()

    evening.even_out(masses.raster, masses.mass, running, moved, np.random.default_rng(3))

    assert (moved == at).all()


@pytest.mark.parametrize("count", [0, 1, 2, 1000, 1024, 1025])
def test_a_random_order_has_every_number_once(count: int) -> None:
    order = shuffled(np.arange(count), np.random.default_rng(1))

    assert (np.sort(order) == np.arange(count)).all()
    assert count < 1000 or abs(np.corrcoef(order, np.arange(count))[0, 1]) < 0.15  # wrong once in 100,000 orders


def test_the_order_tells_nothing(masses: PlaceMasses, world: World) -> None:
    xy = drawn(masses, world, Density(), 1)
    steps = np.hypot(*np.diff(xy, axis=0).T)

    assert np.median(steps) > 0.2 * np.hypot(*world.bounds[2:])


def test_where_nobody_is_expected_asked_points_are_spread_over_the_land(masses: PlaceMasses, world: World) -> None:
    nobody = dataclasses.replace(masses, mass=np.zeros(len(masses.mass)))

    assert nobody.total == 0
    assert len(drawn(nobody, world, Density(), 1, count=100)) == 100
    assert len(drawn(nobody, world, Density(), 1, count=0)) == 0
