"""The built-in city."""

from pathlib import Path

import numpy as np
import shapely

from pointveil.demo.city import DATA, city, places
from pointveil.world.osm import ATTRIBUTION
from pointveil.world.world import World

KAISANIEMI_BAY = (24.9450, 60.1773)
TOOLO_BAY = (24.9357, 60.1783)
MARKET_BASIN = (24.9530, 60.1671)
RAILWAY_SQUARE = (24.9440, 60.1713)
MARKET_SQUARE = (24.9523, 60.1676)
SENATE_SQUARE = (24.9523, 60.1695)
KAISANIEMI_PARK = (24.9450, 60.1758)


def test_bays_and_harbour_basins_are_water() -> None:
    lonlat = np.array([KAISANIEMI_BAY, TOOLO_BAY, MARKET_BASIN])

    on_land = city().on_land(city().projection.to_metres(lonlat))

    assert not on_land.any()


def test_squares_and_parks_are_land() -> None:
    lonlat = np.array([RAILWAY_SQUARE, MARKET_SQUARE, SENATE_SQUARE, KAISANIEMI_PARK])

    on_land = city().on_land(city().projection.to_metres(lonlat))

    assert on_land.all()


def test_about_a_twentieth_of_the_city_is_water() -> None:
    share = city().land_area / city().boundary_m.area

    assert 0.92 < share < 0.96


def test_streets_leave_the_land_only_on_bridges() -> None:
    roads = city().roads
    assert roads is not None
    bridge = np.array(roads.attributes["bridge"].to_pylist()) == "yes"

    water = shapely.transform(city().out_of_bounds, city().projection.to_metres)
    wet = shapely.length(shapely.intersection(roads.lines_m, water.buffer(-0.1)))

    assert wet[~bridge].sum() < 1
    assert wet[bridge].sum() > 100


def test_streets_have_a_class_and_most_have_a_name() -> None:
    roads = city().roads
    assert roads is not None

    names = roads.attributes["name"].to_pylist()

    assert roads.attributes["highway"].null_count == 0
    assert {"Mannerheimintie", "Aleksanterinkatu", "Pohjoisesplanadi", "Pitkäsilta"} <= set(names)
    assert len(names) == len(roads.lines) > 150


def test_places_lie_in_the_city() -> None:
    kinds = {place.kind for place in places()}
    shapes = np.array([place.shape for place in places()])

    assert kinds == {"market", "square", "street", "park", "station", "ferry", "metro", "tram"}
    assert shapely.dwithin(shapes, city().boundary_m, 40).all()


def test_the_city_survives_being_written_and_read_back(tmp_path: Path) -> None:
    city().write(tmp_path / "again.gpkg")

    again = World.read(tmp_path / "again.gpkg")

    assert again.digest == city().digest


def test_the_city_is_read_once() -> None:
    assert city() is city()


def test_the_data_is_small_and_says_whose_it_is() -> None:
    sizes = {file.name: len(file.read_bytes()) for file in DATA.iterdir()}

    assert sum(sizes.values()) < 300_000
    assert 50_000 < sizes["helsinki.gpkg"] < 200_000
    assert ATTRIBUTION in (DATA / "README.md").read_text(encoding="utf-8")
    assert ATTRIBUTION in (DATA / "helsinki-places.geojson").read_text(encoding="utf-8")
