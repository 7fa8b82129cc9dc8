"""The public raster: cells with land, their distance to roads, and even random places in them."""

from pathlib import Path

import numpy as np
import pytest
import shapely

from pointveil.files.crs import DEGREES, transform
from pointveil.ground import (
    Rounding,
    leaves_from_levels,
    peopled_area,
    pick_in_entries,
    precision,
    raster_of,
    roundings,
    split_levels,
)
from pointveil.ground.quadtree import hilbert_index
from pointveil.ground.rasterizing import DISTANCES, distance_bins, land_cells
from pointveil.network import Network
from pointveil.world import World


def test_the_hilbert_curve_visits_every_cell_and_steps_to_a_neighbour() -> None:
    column, row = (axis.ravel() for axis in np.indices((16, 16)))

    order = np.argsort(hilbert_index(column, row, 4))

    steps = np.abs(np.diff(column[order])) + np.abs(np.diff(row[order]))
    assert (steps == 1).all()


def test_bins_tell_the_distance_to_the_nearest_road(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    rng = np.random.default_rng(1)
    xy = rng.uniform((0, 0), world.bounds[2:], (5000, 2))
    xy = xy[world.on_land(xy)]

    bin_ = raster.bin_of(xy)

    distance = Network.of(world).nearest(xy).offset
    known = (bin_ >= 0) & (distance < 90)
    reach = raster.side / raster.per_side  # a pixel's middle is nearer than this to any point in it
    ends = np.append(DISTANCES[1:], np.inf)
    assert known.mean() > 0.2
    assert (distance[known] >= DISTANCES[bin_[known]] - reach).all()
    assert (distance[known] <= ends[bin_[known]] + reach).all()


def test_the_areas_of_all_places_add_up_to_the_land(world: World) -> None:
    raster = raster_of(world, 16.0, 8)

    area = raster.entry_area.sum() * (raster.side / raster.per_side) ** 2

    assert area == pytest.approx(world.land_area, rel=0.01)


def test_even_no_place_at_all_has_a_bin(world: World) -> None:
    raster = raster_of(world, 16.0, 8)

    bins = raster.bin_of(np.array([[np.nan, 5.0], [np.inf, -np.inf], [1e300, 5.0]]))

    assert ((bins >= -1) & (bins < raster.bins)).all()


def test_places_are_picked_in_their_cell_and_bin(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    entry = np.random.default_rng(1).integers(len(raster.entry_cell), size=3000)

    xy = pick_in_entries(raster, entry, np.random.default_rng(3).random(3000), np.random.default_rng(2))

    column, row = raster.cell_of(xy)
    assert (raster.index[column, row] == raster.entry_cell[entry]).all()
    assert (raster.bin_of(xy) == raster.entry_bin[entry]).all()


def test_even_places_within_an_entry_take_each_of_its_pixels_once(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    number = int(np.argmax((raster.entry_area > 3) & (raster.entry_area < raster.per_side**2)))
    size = int(raster.entry_area[number])

    within = (np.arange(size) + 0.5) / size
    xy = pick_in_entries(raster, np.full(size, number), within, np.random.default_rng(1))

    assert len(np.unique(np.floor(xy / (raster.side / raster.per_side)), axis=0)) == size


def test_rounded_coordinates_are_recognised_and_kept() -> None:
    world = World.make((10.0, 50.0, 10.02, 50.012))
    told = precision(world, DEGREES)
    rng = np.random.default_rng(1)
    for decimals, cell in ((2, 0), (3, 1), (4, 2), (6, 3)):
        coordinates = np.round(rng.uniform((10.0, 50.0), (10.02, 50.012), (200, 2)), decimals)
        coordinates[:, 0] = (
            np.round(coordinates[:, 0] + 10.0**-decimals, decimals) if decimals < 3 else coordinates[:, 0]
        )
        located = told.locate(world.projection.to_metres(coordinates))
        assert np.median(located) == cell

    raster = raster_of(world, 16.0, 8, rounded_to=Rounding(DEGREES, 1000))
    entry = np.arange(len(raster.entry_cell))
    picked = world.projection.from_metres(pick_in_entries(raster, entry, rng.random(len(entry)), rng))

    assert np.allclose(np.round(picked, 4), picked, atol=1e-10)


BOXES = {DEGREES: (10.0, 50.0, 10.02, 50.012), "EPSG:32632": (571_500.0, 5_539_000.0, 573_000.0, 5_540_300.0)}


@pytest.mark.parametrize("here", BOXES)
@pytest.mark.parametrize(("crs", "steps"), [("EPSG:32632", 1000), ("EPSG:3035", 10_000), ("EPSG:2263", 1000)])
def test_coordinates_rounded_in_the_files_own_crs_are_recognised_and_kept(here: str, crs: str, steps: int) -> None:
    """To 10 m, to 100 m in a CRS that is turned against the world's, and to 10 feet in one far away."""
    world, rng = World.make(BOXES[here], crs=here), np.random.default_rng(1)
    there, back, unit = transform(here, crs), transform(crs, here), steps / 100
    inside = world.projection.from_metres(rng.uniform(0, world.size, (400, 2)))
    rounded = world.snap(back(np.rint(there(inside) / unit) * unit))

    located = precision(world, crs).locate(world.projection.to_metres(rounded))
    raster = raster_of(world, 16.0, 8, rounded_to=Rounding(crs, steps))
    entry = np.arange(len(raster.entry_cell))
    picked = there(world.projection.from_metres(pick_in_entries(raster, entry, rng.random(len(entry)), rng)))

    assert np.mean([roundings(crs)[cell] == (crs, steps) for cell in located]) > 0.85  # some fit a coarser one, too
    assert raster.sites is not None
    assert np.allclose(np.rint(picked / unit) * unit, picked, atol=1e-4)
    assert (
        precision(world, crs).locate(world.projection.to_metres(world.snap(inside))) == len(roundings(crs))
    ).mean() > 0.9


def test_feet_that_were_degrees_before_are_recognised() -> None:
    """Four decimals of a degree, brought to feet and rounded to whole ones."""
    box = (985_000.0, 205_000.0, 992_000.0, 212_000.0)
    world, rng = World.make(box, crs="EPSG:2263"), np.random.default_rng(1)
    degrees = transform("EPSG:2263", DEGREES)(rng.uniform(box[:2], box[2:], (400, 2)))
    feet = np.rint(transform(DEGREES, "EPSG:2263")(np.round(degrees, 4)))

    located = precision(world, "EPSG:2263").locate(world.projection.to_metres(feet))

    assert (located == roundings("EPSG:2263").index(Rounding(DEGREES, 1000))).mean() > 0.95


def test_the_raster_is_made_once_for_a_world(world: World) -> None:
    assert raster_of(world, 16.0, 8) is raster_of(world, 16.0, 8)


def test_the_peopled_area_is_the_land_near_roads(world: World, plain_world: World) -> None:
    assert peopled_area(plain_world) == pytest.approx(plain_world.land_area)
    assert 0.2 * world.land_area < peopled_area(world) < 0.6 * world.land_area


def test_every_point_is_in_exactly_one_leaf_and_leaves_tile_the_land(world: World) -> None:
    raster = raster_of(world, 16.0, 8)
    mass = np.random.default_rng(1).gamma(0.1, size=raster.shape)
    mass[:, 40:] = 0

    leaves = leaves_from_levels(raster, split_levels(mass, 0.8, slope=0.5, reference=2, top=3))

    assert set(np.unique(leaves.level)) == {0, 1, 2, 3}
    assert (np.bincount(leaves.leaf_of) <= leaves.cells).all()
    middles = np.column_stack([leaves.column + 0.5, leaves.row + 0.5]) * raster.side
    assert (leaves.locate(middles) == np.arange(len(leaves))).all()
    inside = np.asarray((np.column_stack([raster.column, raster.row]) + 0.5) * raster.side, dtype=np.float64)
    assert (leaves.locate(inside) == leaves.leaf_of).all()


def test_a_square_is_cut_while_it_holds_more_than_twice_the_target() -> None:
    mass = np.zeros((8, 8))
    mass[0, 0] = 2.1

    level = split_levels(mass, 1.0, slope=0.0, reference=2, top=3)

    assert level[0, 0] == 0
    assert level[1, 1] == 0
    assert level[2, 2] == 1
    assert level[7, 7] == 2


def test_a_world_of_slivers_still_has_places() -> None:
    islet = shapely.box(10.0100001, 50.0050001, 10.0100301, 50.0050201)
    world = World.make((10.0, 50.0, 10.02, 50.012), land=islet)

    raster = raster_of(world, 64.0, 8)
    rng = np.random.default_rng(1)

    assert world.on_land(pick_in_entries(raster, np.zeros(50, dtype=np.int64), rng.random(50), rng)).mean() > 0.2


def test_a_raster_is_kept_on_disk_and_read_back_the_same(tmp_path: Path) -> None:
    """Two worlds with the same content share the file; a broken file is made anew."""
    bounds = (10.0, 50.0, 10.01, 50.006)
    road = np.array([shapely.LineString([(10.0, 50.003), (10.01, 50.003)])])
    first = raster_of(World.make(bounds, roads=road), 16.0, 8)
    (kept,) = (tmp_path / "cache").glob("raster-*.bin")

    again = raster_of(World.make(bounds, roads=road), 16.0, 8)
    kept.write_bytes(b"broken")
    anew = raster_of(World.make(bounds, roads=road), 16.0, 8)

    for other in (again, anew):
        assert other is not first
        assert other.shape == first.shape
        for name in ("column", "row", "patch", "pixels", "index", "entry_cell", "entry_bin", "entry_area"):
            assert np.array_equal(getattr(other, name), getattr(first, name)), name


def test_far_bins_are_kept_where_there_is_land_so_far_from_roads() -> None:
    near_city = np.concatenate([np.zeros(90), np.full(9, 120.0), np.full(1, 350.0)])
    wide_box = np.concatenate([np.zeros(50), np.full(25, 700.0), np.full(25, 9000.0)])

    assert distance_bins(near_city).max() == 100  # hardly any land is farther than 140 m
    assert distance_bins(wide_box)[-3:].tolist() == [100, 500, 5000]


def test_far_from_roads_the_cell_tells_the_distance() -> None:
    road = np.array([shapely.LineString([(0, 50), (10_000, 50)])])
    world = World.make((0, 0, 10_000, 10_000), crs="EPSG:32633", roads=road)
    raster = raster_of(world, 64.0, 8)
    begins = distance_bins(np.arange(10_000.0))
    xy = np.array([[5000.0, 50.0 + away] for away in (0.5, 20, 170, 400, 1500, 6000)])

    assert begins[raster.bin_of(xy)].tolist() == [0, 18, 100, 300, 1000, 5000]


def test_land_is_found_by_tiles_as_it_is_cell_by_cell(world: World) -> None:
    """Where a cell is called whole, all of it is land; where neither whole nor partly, none is."""
    side, shape = 16.0, (72, 80)
    whole, partly = land_cells(world, side, shape)
    rng = np.random.default_rng(3)
    column, row = rng.integers((72, 80), size=(20_000, 2)).T

    dry = world.on_land(np.asarray((np.column_stack([column, row]) + rng.random((20_000, 2))) * side))

    assert whole.any()
    assert partly.any()
    assert not (whole & partly).any()
    assert dry[whole[column, row]].all()
    assert not dry[~(whole | partly)[column, row]].any()
