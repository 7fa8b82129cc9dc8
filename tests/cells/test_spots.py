"""Small places: each record is in one of them or in none, and what stands out becomes a place of its own."""

import numpy as np
import pytest

from pointveil.cells import ChosenCells, ChosenPixels, SmallSquares
from pointveil.ground import pick_in_entries, raster_of
from pointveil.partition.crowds import pixel_bins, with_spots
from pointveil.world import World


def test_small_squares_are_half_open_and_no_place_is_nowhere() -> None:
    xy = np.array([[0.0, 0.0], [2.49, 2.49], [2.5, 0.0], [np.nan, 1.0], [np.inf, 1.0], [1e300, 1.0]])

    found = SmallSquares().locate(xy)

    assert found[0] == found[1] != found[2]
    assert (found[3:] == -1).all()
    assert 0 <= found[2] < len(SmallSquares())


def test_chosen_cells_and_pixels_hold_a_record_once_or_not_at_all(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    cells = np.arange(10, 200, 7)
    xy = np.random.default_rng(1).uniform((0, 0), world.size, (5000, 2))
    xy[0] = np.nan

    cell = raster.index[raster.cell_of(xy)]
    by_cell, by_pixel = ChosenCells(raster, cells).locate(xy), ChosenPixels(raster, cells).locate(xy)

    chosen = np.isin(cell, cells)
    assert ((by_cell >= 0) == chosen).all()
    assert (cells[by_cell[chosen]] == cell[chosen]).all()
    assert (by_pixel[chosen] // raster.per_side**2 == by_cell[chosen]).all()
    assert (by_pixel[~chosen] == -1).all()
    none = np.zeros(0, dtype=np.int64)
    assert (ChosenCells(raster, none).locate(xy) == -1).all()
    assert (ChosenPixels(raster, none).locate(xy) == -1).all()


def test_a_pixel_that_stands_out_becomes_a_place_of_its_own(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    mass = np.random.default_rng(2).gamma(1.0, size=len(raster.entry_cell))
    cells = np.array([30, 31])
    bins = pixel_bins(raster, cells)
    expected, likely = np.full(bins.shape, 0.1), np.full(bins.shape, 0.01)
    likely[0, 5] = 40.0

    finer, people = with_spots(raster, mass, cells, bins, expected, likely)

    entry = int(np.argmax(people))
    assert people[entry] == pytest.approx(40)
    assert (finer.entry_cell[entry], finer.entry_area[entry]) == (30, 1)
    assert (np.diff(finer.entry_cell) >= 0).all()
    others = ~np.isin(raster.entry_cell, cells)
    assert people[~np.isin(finer.entry_cell, cells)] == pytest.approx(mass[others])
    xy = pick_in_entries(finer, np.full(20, entry), np.linspace(0, 0.99, 20), np.random.default_rng(1))
    assert (ChosenPixels(raster, cells).locate(xy) == 5).all()
    assert people.sum() == pytest.approx(mass[others].sum() + likely.sum())
