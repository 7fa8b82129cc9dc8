"""Roads and water from OpenStreetMap, read from small files and answers that are made here."""

import json
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
import shapely.affinity

from pointveil.errors import InputError
from pointveil.network import Network
from pointveil.world import World, osm
from pointveil.world.coast import enclose_sea

osmium = pytest.importorskip("osmium", reason="needs the extra osm")
osmnx = pytest.importorskip("osmnx", reason="needs the extra osm")

BOX = (10.0, 50.0, 10.02, 50.02)
NODES = {
    1: (10.002, 50.010),
    2: (10.010, 50.010),
    3: (10.018, 50.010),
    4: (10.010, 50.018),
    5: (10.005, 50.004),
    6: (10.006, 50.004),
    7: (10.006, 50.005),
    8: (10.005, 50.005),
    20: (10.016, 49.99),
    21: (10.016, 50.03),
}
WAYS: list[tuple[int, list[int], dict[str, str]]] = [
    (100, [1, 2, 3], {"highway": "primary", "name": "High Street"}),
    (101, [2, 4], {"highway": "residential", "bridge": "yes"}),
    (102, [1, 4], {"highway": "footway"}),
    (103, [3, 4], {"highway": "service"}),
    (104, [1, 5], {"highway": "residential", "access": "private"}),
    (105, [5, 6, 7, 8, 5], {"natural": "water"}),
    (106, [4, 99, 3, 1], {"highway": "tertiary"}),
]
COAST = (107, [21, 20], {"natural": "coastline"})  # southwards: land in the east, sea in the west
OTHER_COAST = (107, [20, 21], {"natural": "coastline"})


def write_extract(
    path: Path, ways: list[tuple[int, list[int], dict[str, str]]], nodes: dict[int, tuple[float, float]] = NODES
) -> Path:
    """Write nodes and ways as .osm or .osm.pbf; node 99 is used and missing, as at the edge of an extract."""
    writer = osmium.SimpleWriter(str(path))
    for number, place in nodes.items():
        writer.add_node(osmium.osm.mutable.Node(id=number, location=place))
    for number, along, tags in ways:
        writer.add_way(osmium.osm.mutable.Way(id=number, nodes=along, tags=tags))
    writer.close()
    return path


both_formats = pytest.mark.parametrize("suffix", ["osm", "osm.pbf"])


@both_formats
def test_only_driveable_streets_are_read_and_they_are_cut_at_junctions(suffix: str, tmp_path: Path) -> None:
    layer = osm.read_roads(write_extract(tmp_path / f"town.{suffix}", WAYS))

    assert sorted(layer.attributes["highway"].to_pylist()) == ["primary", "primary", "residential", "tertiary"]
    assert layer.attributes["bridge"].to_pylist().count("yes") == 1
    assert layer.crs == "EPSG:4326"


KINDS = [
    *("motorway", "residential", "service", "cycleway", "footway", "steps", "path", "bus_guideway", "construction"),
]
MORE = [
    {"highway": "primary", "bicycle": "no"},
    {"highway": "primary", "foot": "no"},
    {"highway": "primary", "sidewalk": "separate"},
    {"highway": "primary", "motor_vehicle": "no"},
    {"highway": "service", "service": "alley"},
    {"highway": "path", "access": "private"},
    {"name": "no street"},
]


@pytest.mark.parametrize(
    ("network", "kinds", "more"),
    [
        ("drive", {"motorway", "residential"}, [0, 1, 2]),
        ("bike", {"residential", "service", "cycleway", "path"}, [1, 2, 3, 4]),
        ("walk", {"residential", "service", "footway", "steps", "path"}, [0, 3, 4]),
        ("all", set(KINDS) - {"construction"}, [0, 1, 2, 3, 4]),
    ],
)
def test_a_network_takes_the_streets_that_its_traffic_may_use(network: str, kinds: set[str], more: list[int]) -> None:
    assert {kind for kind in KINDS if osm.is_street({"highway": kind}, network)} == kinds
    assert [number for number, tags in enumerate(MORE) if osm.is_street(tags, network)] == more


@both_formats
def test_a_world_of_footpaths_is_read_from_an_extract(suffix: str, tmp_path: Path) -> None:
    path = write_extract(tmp_path / f"town.{suffix}", WAYS)

    world = World.make(BOX, roads=path, network="walk")

    assert world.roads is not None
    assert set(world.roads.attributes["highway"].to_pylist()) == {
        *("primary", "residential", "footway", "service", "tertiary"),
    }


def test_a_network_is_not_chosen_in_silence_from_roads_that_are_taken_as_they_are() -> None:
    street = shapely.LineString([(BOX[0], BOX[1]), (BOX[2], BOX[3])])

    with pytest.raises(InputError, match="leave the network out"):
        World.make(BOX, roads=[street], network="walk")


def test_an_unknown_network_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'swim' is not a network of streets\. Choose drive, bike, walk, all\."):
        World.make(BOX, roads=write_extract(tmp_path / "town.osm", WAYS), network="swim")


def test_what_openstreetmap_drew_says_so_after_writing_and_reading(tmp_path: Path) -> None:
    path = write_extract(tmp_path / "town.osm", WAYS)
    plain = World.make(BOX)

    world = World.make(BOX, roads=path, out_of_bounds=path, name="Town", attribution="The surveyor")

    world.write(tmp_path / "file.gpkg")
    again = World.read(tmp_path / "file.gpkg")
    assert (again.name, again.attribution) == ("Town", "The surveyor, © OpenStreetMap contributors")
    assert again.digest == world.digest == World.make(BOX, roads=path, out_of_bounds=path).digest
    plain.write(tmp_path / "plain.gpkg")
    assert (World.read(tmp_path / "plain.gpkg").name, plain.attribution) == ("plain", "")


@both_formats
def test_a_world_takes_roads_and_water_from_an_extract(suffix: str, tmp_path: Path) -> None:
    path = write_extract(tmp_path / f"town.{suffix}", WAYS)

    world = World.make(BOX, roads=path, out_of_bounds=path)

    pond = world.projection.to_metres(np.array([[10.0055, 50.0045]]))
    assert not world.on_land(pond).any()
    assert len(Network.of(world)) == 4
    assert Network.of(world).edges.classes == ("primary", "residential", "tertiary")


def test_the_sea_lies_on_the_right_of_the_coast(tmp_path: Path) -> None:
    west = World.make(BOX, out_of_bounds=write_extract(tmp_path / "west.osm", [COAST]))
    east = World.make(BOX, out_of_bounds=write_extract(tmp_path / "east.osm", [OTHER_COAST]))

    # 80 % of the box lies west of the coast.
    assert west.land_area / west.boundary_m.area == pytest.approx(0.2, abs=0.001)
    assert east.land_area / east.boundary_m.area == pytest.approx(0.8, abs=0.001)


def test_an_island_is_land_and_a_ring_the_other_way_round_is_a_lagoon() -> None:
    box = shapely.box(0, 0, 10, 10)
    ring = [(4, 4), (6, 4), (6, 6), (4, 6), (4, 4)]  # land on the left: inside

    around = shapely.union_all(enclose_sea([shapely.LineString(ring)], box, "x"))
    inside = shapely.union_all(enclose_sea([shapely.LineString(ring[::-1])], box, "x"))

    assert around.area == pytest.approx(96)
    assert inside.area == pytest.approx(4)


@pytest.mark.parametrize("turn", range(0, 90, 7))
def test_a_coast_across_a_slanting_boundary_closes_the_sea(turn: int) -> None:
    tilted = shapely.affinity.rotate(shapely.box(0, 0, 10, 10), turn + 0.123)
    coast = [shapely.LineString([(-20, 4.7), (5.1, 4.9)]), shapely.LineString([(5.1, 4.9), (20, 4.6)])]

    sea = shapely.union_all(enclose_sea(coast, tilted, "x"))

    assert shapely.contains_xy(sea, 5, 4)
    assert not shapely.contains_xy(sea, 5, 6)
    assert 35 < sea.area < 60


def test_a_coast_that_ends_in_the_middle_is_refused() -> None:
    with pytest.raises(InputError, match="ends inside the boundary"):
        enclose_sea([shapely.LineString([(5, -1), (5, 5)])], shapely.box(0, 0, 10, 10), "x")


COASTLINE = {"natural": "coastline"}
FIJI = (179.99, -17.0, -179.99, -16.98)
IN_FIJI = {
    1: (179.98, -16.99),
    2: (180.0, -16.99),
    3: (-180.0, -16.99),
    4: (-179.98, -16.99),
    5: (179.995, -16.995),
    6: (180.0, -16.995),
    7: (180.0, -16.985),
    8: (179.995, -16.985),
    9: (-180.0, -16.995),
    10: (-179.995, -16.995),
    11: (-179.995, -16.985),
    12: (-180.0, -16.985),
    13: (179.999, -16.99),
}


def test_a_coast_goes_on_beyond_the_antimeridian(tmp_path: Path) -> None:
    # Eastwards in two ways that end where the globe is cut open: the sea lies in the south.
    ways = [(1, [1, 2], COASTLINE), (2, [3, 4], COASTLINE)]

    world = World.make(FIJI, out_of_bounds=write_extract(tmp_path / "fiji.osm", ways, IN_FIJI))

    places = np.array([[179.995, -16.985], [-179.995, -16.985], [179.995, -16.995], [-179.995, -16.995]])
    assert world.on_land(world.projection.to_metres(places)).tolist() == [True, True, False, False]
    assert world.land_area / world.boundary_m.area == pytest.approx(0.5, abs=0.001)


def test_a_coast_on_one_side_of_the_antimeridian_makes_sea_of_the_other_too(tmp_path: Path) -> None:
    island = [(1, [5, 13, 8, 5], COASTLINE)]

    world = World.make(FIJI, out_of_bounds=write_extract(tmp_path / "fiji.osm", island, IN_FIJI))

    places = np.array([[179.996, -16.99], [179.9999, -16.99], [-179.995, -16.99]])
    assert world.on_land(world.projection.to_metres(places)).tolist() == [True, False, False]


def test_an_island_that_the_antimeridian_cuts_in_two_is_one(tmp_path: Path) -> None:
    # Both halves are closed along 180 degrees, where there is no shore.
    halves = [(1, [5, 6, 7, 8, 5], COASTLINE), (2, [9, 10, 11, 12, 9], COASTLINE)]

    world = World.make(FIJI, out_of_bounds=write_extract(tmp_path / "fiji.osm", halves, IN_FIJI))

    places = np.array([[179.999, -16.99], [-179.999, -16.99], [179.992, -16.99], [-179.992, -16.99]])
    assert world.on_land(world.projection.to_metres(places)).tolist() == [True, True, False, False]
    assert shapely.get_num_geometries(world.land) == 1
    assert world.land_area / world.boundary_m.area == pytest.approx(0.25, abs=0.001)


def test_a_projected_world_may_lie_over_the_antimeridian_too(tmp_path: Path) -> None:
    ways = [(1, [1, 2], COASTLINE), (2, [3, 4], COASTLINE)]
    path = write_extract(tmp_path / "fiji.osm", ways, IN_FIJI)

    # Zone 60 of UTM ends at 180 degrees; the box reaches 900 m to both sides of it.
    world = World.make((818_600, 8_118_200, 820_400, 8_120_000), crs="EPSG:32760", out_of_bounds=path)

    assert world.land_area / world.boundary_m.area == pytest.approx(0.5, abs=0.01)


def test_without_a_coast_there_is_no_sea() -> None:
    assert enclose_sea([], shapely.box(0, 0, 10, 10), "x") == []


def test_an_extract_without_water_is_refused_as_water(tmp_path: Path) -> None:
    path = write_extract(tmp_path / "dry.osm", WAYS[:2])

    with pytest.raises(InputError, match="no water and no coastline"):
        World.make(BOX, out_of_bounds=path)


def test_an_extract_without_streets_is_refused_as_roads(tmp_path: Path) -> None:
    path = write_extract(tmp_path / "empty.osm.pbf", [WAYS[5]])

    with pytest.raises(InputError, match="no streets of the network 'drive'"):
        World.make(BOX, roads=path)


@pytest.mark.parametrize("name", ["town.osm.pbf", "town.osm"])
def test_a_file_that_is_no_extract_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"these are not the roads you are looking for")

    with pytest.raises(InputError, match="cannot be read as OpenStreetMap data"):
        World.make(BOX, roads=tmp_path / name)


def test_a_missing_extract_is_named() -> None:
    with pytest.raises(InputError, match=r"There is no file .*nowhere\.osm\.pbf"):
        World.make(BOX, roads="nowhere.osm.pbf")


def make_graph() -> Any:
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph(crs="epsg:4326", simplified=True)
    for number in (1, 2, 3, 4):
        graph.add_node(number, x=NODES[number][0], y=NODES[number][1], street_count=3)
    bent = shapely.LineString([NODES[1], (10.006, 50.011), NODES[2]])
    for u, v, shape in ((1, 2, bent), (2, 1, bent.reverse())):
        graph.add_edge(
            u, v, 0, osmid=100, highway="primary", oneway=False, reversed=u > v, length=600.0, geometry=shape
        )
    graph.add_edge(2, 3, 0, osmid=101, highway=["residential", "unclassified"], oneway=True, reversed=False, length=9.0)
    return graph


def test_a_graph_saved_by_osmnx_gives_each_street_once(tmp_path: Path) -> None:
    osmnx.save_graphml(make_graph(), tmp_path / "town.graphml")

    world = World.make(BOX, roads=tmp_path / "town.graphml")

    network = Network.of(world)
    assert len(network) == 2
    assert network.edges.classes == ("primary", "residential")
    assert shapely.get_num_coordinates(network.edges.lines).tolist() == [3, 2]


@pytest.mark.parametrize("content", ["not a graph", "<!DOCTYPE x [<!ENTITY a 'b'>]><graphml/>"])
def test_a_file_that_is_no_graph_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "town.graphml").write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match=r"town\.graphml"):
        World.make(BOX, roads=tmp_path / "town.graphml")


def test_a_graph_is_refused_as_water(tmp_path: Path) -> None:
    osmnx.save_graphml(make_graph(), tmp_path / "town.graphml")

    with pytest.raises(InputError, match="give it as roads"):
        World.make(BOX, out_of_bounds=tmp_path / "town.graphml")


def answer_overpass(data: dict[str, Any]) -> dict[str, Any]:
    """Answer as the map's server would: streets that cars may use or water, with all their nodes."""
    roads = "highway" in str(data["data"])
    chosen = [way for way in [*WAYS[:2], WAYS[5], COAST] if ("highway" in way[2]) == roads]
    nodes = sorted({node for way in chosen for node in way[1]})
    return {
        "elements": [
            *({"type": "node", "id": n, "lon": NODES[n][0], "lat": NODES[n][1]} for n in nodes),
            *({"type": "way", "id": number, "nodes": refs, "tags": tags} for number, refs, tags in chosen),
        ]
    }


def answer_nominatim(*_: Any, **__: Any) -> list[dict[str, Any]]:
    west, south, east, north = BOX
    return [
        {
            "place_id": 1,
            "osm_type": "relation",
            "osm_id": 7,
            "lat": "50.01",
            "lon": "10.01",
            "class": "boundary",
            "type": "administrative",
            "importance": 0.5,
            "name": "Town",
            "display_name": "Town",
            "boundingbox": [str(south), str(north), str(west), str(east)],
            "geojson": json.loads(shapely.to_geojson(shapely.box(*BOX))),
        }
    ]


@pytest.fixture
def offline_map(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Answer for the map's servers from here; no test goes to the network."""
    from osmnx import _nominatim, _overpass

    monkeypatch.setattr(_overpass, "_overpass_request", answer_overpass)
    monkeypatch.setattr(_nominatim, "_nominatim_request", answer_nominatim)

    def change(name: str, answer: Any) -> None:
        monkeypatch.setattr({"overpass": _overpass, "nominatim": _nominatim}[name], f"_{name}_request", answer)

    return change


@pytest.mark.usefixtures("offline_map")
def test_a_place_brings_its_boundary_streets_and_water() -> None:
    world = World.from_place("Town")

    assert shapely.equals(world.boundary, shapely.box(*BOX))
    assert Network.of(world).edges.classes == ("primary", "residential")
    # A fifth is dry, and a bridge over the water is land too.
    assert world.land_area / world.boundary_m.area == pytest.approx(0.2067, abs=0.001)
    assert osmnx.settings.use_cache
    assert (world.name, world.attribution) == ("Town", osm.ATTRIBUTION)


@pytest.mark.parametrize("network", osm.NETWORKS)
def test_a_place_is_asked_for_the_very_streets_that_a_file_would_give(
    network: str, offline_map: Callable[[str, Any], None]
) -> None:
    if version("osmnx").startswith("2.0."):
        pytest.skip("an older osmnx asks for rest areas, and for streets with a sidewalk of their own, too")
    asked: list[str] = []

    def answer(data: dict[str, Any]) -> dict[str, Any]:
        asked.append(str(data["data"]))
        return answer_overpass(data)

    offline_map("overpass", answer)

    World.from_place("Town", network=network)

    left_out = {
        (key, value)
        for key, values in re.findall(r'\["([a-z_:]+)"!~"([^"]+)"\]', next(text for text in asked if "highway" in text))
        for value in values.split("|")
    }
    ours = {(key, value) for key, values in osm.NETWORKS[network].items() for value in values}
    # They look for parts of words, so "motor" stands for both kinds of motorway; we leave out a little more.
    kinds = {("highway", kind) for kind in ("motorway", "motorway_link", "busway")}
    assert left_out - {("highway", "motor")} <= ours
    assert ours - left_out <= {*kinds, ("access", "no")}


def test_a_place_without_water_is_all_land(offline_map: Callable[[str, Any], None]) -> None:
    def no_water(data: dict[str, Any]) -> dict[str, Any]:
        return answer_overpass(data) if "highway" in str(data["data"]) else {"elements": []}

    offline_map("overpass", no_water)

    assert World.from_place("Town").out_of_bounds is None


def test_an_unknown_place_is_refused_by_name(offline_map: Callable[[str, Any], None]) -> None:
    offline_map("nominatim", lambda *_, **__: [])

    with pytest.raises(InputError, match="named 'Atlantis'"):
        World.from_place("Atlantis")


def test_a_machine_without_a_network_is_told_to_give_files(offline_map: Callable[[str, Any], None]) -> None:
    import requests

    def fail(*_: Any, **__: Any) -> None:
        raise requests.exceptions.ConnectionError("no route to host")

    offline_map("nominatim", fail)

    with pytest.raises(InputError, match="cannot be reached from here"):
        World.from_place("Town")
