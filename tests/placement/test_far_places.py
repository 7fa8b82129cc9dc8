"""Places for people far from all roads."""

import numpy as np
import pytest
import shapely

from pointveil.cells import NestedGrid, RoadBins
from pointveil.cells.arrays import Floats
from pointveil.estimate.offset_laws import FarLaw
from pointveil.network import Network, road_cells
from pointveil.placement import far_places
from pointveil.placement.far_places import FarPlaces
from pointveil.world import World

REACH = 25.0


@pytest.fixture(scope="module")
def town() -> World:
    """A street along the western edge, another in the south-eastern corner, and a lake."""
    streets = shapely.from_wkt(["LINESTRING(10 0, 10 400)", "LINESTRING(200 100, 400 100)"])
    return World.make((0, 0, 400, 400), crs="EPSG:32633", roads=streets, out_of_bounds=shapely.box(250, 250, 350, 350))


def cut(world: World, side: int) -> RoadBins:
    """Cells of 200 m, each cut into side × side parts."""
    cells = road_cells(world, REACH, 200.0)
    return RoadBins(cells, np.ones(len(cells.streets), dtype=np.int64), NestedGrid(cells.far, np.full(4, side)))


def drawn(places: FarPlaces, part: int, count: int = 2000) -> Floats:
    rng = np.random.default_rng(1)
    return places.draw(np.full(count, part), (np.arange(count) + rng.random(count)) / count, rng)


@pytest.mark.parametrize("side", [1, 2, 7])
def test_all_places_are_in_their_part_on_land_and_out_of_reach(side: int, town: World) -> None:
    bins = cut(town, side)
    people = np.full(len(bins.far), 20.0)
    places = FarPlaces.of(town, bins, people, None)

    for part, (west, south, east, north) in enumerate(bins.far.rectangles()):
        if places.pool[part] != part or places.first[part] == places.first[part + 1]:
            continue
        x, y = drawn(places, part).T
        assert ((x >= west) & (x <= east) & (y >= south) & (y <= north)).all()
        assert town.on_land(np.column_stack([x, y])).all()
        assert (Network.of(town).distances(np.column_stack([x, y])) > REACH).all()


def test_places_are_spread_over_all_of_a_part(town: World) -> None:
    xy = drawn(FarPlaces.of(town, cut(town, 1), np.array([0.0, 0, 5000, 0]), None), 2, 20_000)

    # From x = 35 to 200 and y = 200 to 400, evenly, and no place twice.
    assert np.abs(np.histogram(xy[:, 0], 5, (35, 200))[0] - 4000).max() < 400
    assert np.abs(np.histogram(xy[:, 1], 5, (200, 400))[0] - 4000).max() < 200
    assert len(np.unique(xy, axis=0)) == len(xy)


def test_a_part_with_nothing_out_of_reach_takes_places_of_its_cell(town: World) -> None:
    bins = cut(town, 10)
    by_the_street = 0  # from x = 0 to 20
    places = FarPlaces.of(town, bins, np.eye(len(bins.far))[by_the_street], None)

    xy = drawn(places, by_the_street)

    assert (Network.of(town).distances(xy) > REACH).all()
    assert ((xy > 0) & (xy < 200)).all()


def test_where_a_cell_has_no_place_at_all_there_is_none(town: World) -> None:
    bins = cut(town, 1)
    covered = World.make((0, 0, 400, 400), crs="EPSG:32633", out_of_bounds=shapely.box(0, 0, 399, 399))

    assert np.isnan(drawn(FarPlaces.of(covered, bins, np.array([5.0, 0, 0, 0]), None), 0)).all()
    assert np.isnan(drawn(FarPlaces.of(covered, bins, np.zeros(4), None), 0)).all()


def test_places_follow_the_histogram_of_distances(town: World) -> None:
    bins = cut(town, 1)
    people = np.array([0.0, 0, 1000, 0])
    near_roads = FarLaw(np.array([REACH, 50.0, 100.0]), np.array([800.0, 150, 50]), 0.5, 1000.0)

    distance = Network.of(town).distances(drawn(FarPlaces.of(town, bins, people, near_roads), 2))

    assert np.histogram(distance, [25, 50, 100, 999])[0] / 2000 == pytest.approx([0.8, 0.15, 0.05], abs=0.03)


def test_however_many_people_and_parts_there_are_squares_are_few(town: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(far_places, "MOST_SQUARES", 2000)
    bins = cut(town, 8)

    places = FarPlaces.of(town, bins, np.full(len(bins.far), 1e9), None)

    assert 500 < len(places.middle) < 2000 + len(bins.far)
