import math
import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyogrio
import pytest
import shapely
from tests.places import BOX, DRIVERS, NAMES, RIVER, STREETS, move, save

from pointveil.cells import Grid
from pointveil.errors import InputError
from pointveil.ground import Triangulation
from pointveil.network.edges import clean_edges
from pointveil.world import POLYGONS, Layer, World, read_layer

DATA = os.environ.get("POINTVEIL_DATA")
CITIES = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}


def streets() -> Layer:
    return Layer(np.array(STREETS), NAMES, "EPSG:4326", "streets")


def on_land(world: World, *coordinates: tuple[float, float]) -> list[bool]:
    found: list[bool] = world.on_land(world.projection.to_metres(np.array(coordinates))).tolist()
    return found


def test_a_box_becomes_metres_from_its_corner() -> None:
    world = World.make(BOX)

    assert world.bounds[:2] == (0, 0)
    assert world.bounds[2] == pytest.approx(7170, rel=0.001)
    assert world.land_area == pytest.approx(world.bounds[2] * world.bounds[3])
    assert shapely.equals(world.land, shapely.box(*world.bounds))


def test_water_is_not_land_and_its_shore_is() -> None:
    world = World.make(BOX, out_of_bounds=RIVER)

    assert on_land(world, (10.05, 50.01), (10.05, 50.025), (10.05, 50.04)) == [True, False, True]
    assert world.land_area == pytest.approx(0.8 * world.boundary_m.area)
    assert on_land(world, (10.0, 50.0), (10.1, 50.01), (10.01, 50.05), (9.99, 50.01)) == [True, False, False, False]


def test_only_the_given_land_less_the_water_is_land() -> None:
    world = World.make(BOX, land=shapely.box(10, 50, 10.05, 51), out_of_bounds=[RIVER])

    assert on_land(world, (10.02, 50.01), (10.08, 50.01), (10.02, 50.025)) == [True, False, False]


def test_every_point_on_land_is_in_one_cell_of_a_grid_over_the_bounds() -> None:
    world = World.make(shapely.Point(10.05, 50.02).buffer(0.02), out_of_bounds=RIVER)
    xy = Triangulation.of([world.land]).pick(np.zeros(50_000, dtype=int), np.random.default_rng(1))

    land = world.on_land(xy)

    assert land.mean() > 0.999
    assert (Grid(world.bounds, 17, 13).locate(xy[land]) >= 0).all()


@pytest.mark.parametrize("suffix", [*DRIVERS, ".parquet"])
def test_layers_come_from_files_in_any_crs(tmp_path: Path, suffix: str) -> None:
    crs = "EPSG:4326" if suffix == ".geojson" else "EPSG:3035"
    water = save(tmp_path / f"water{suffix}", [RIVER.segmentize(0.001)], crs=crs)
    roads = save(tmp_path / f"roads{suffix}", STREETS, crs=crs, attributes=NAMES)
    boundary = save(tmp_path / f"boundary{suffix}", [shapely.box(*BOX).segmentize(0.01)], crs=crs)

    world = World.make(boundary, out_of_bounds=water, roads=roads)

    assert world.describe()["land_share"] == pytest.approx(0.8, abs=1e-4)
    assert world.roads is not None
    assert len(world.roads) == 2
    assert {"name", "lanes", "length", "oneway"} <= set(world.roads.attributes.column_names)


def full_world(crs: str) -> World:
    high = shapely.LineString([(10.0, 50.01, 3.0), (10.1, 50.01, math.nan)])
    many = shapely.MultiLineString([[(10.05, 50), (10.05, 50.02)], [(10.07, 50), (10.07, 50.02)]])
    lines = [shapely.LinearRing([(10.01, 50.01), (10.02, 50.01), (10.02, 50.02)]), many]
    moved = [*move([*STREETS, *lines], crs), high] if crs == "EPSG:4326" else list(move([*STREETS, *lines], crs))
    boundary = shapely.Point(10.05, 50.02).buffer(0.02)
    table = pa.table({"fid": list(range(len(moved)))})
    return World.make(
        move([boundary], crs)[0],
        crs=crs,
        out_of_bounds=move([RIVER, shapely.box(10.05, 50, 10.06, 50.06)], crs),
        land=move([shapely.box(10, 50, 10.1, 50.1)], crs)[0],
        roads=Layer(np.array(moved), table, crs),
    )


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:32632", "+proj=laea +lat_0=50 +lon_0=10 +type=crs"])
def test_a_world_is_read_back_identically(tmp_path: Path, crs: str) -> None:
    world = full_world(crs)
    path = tmp_path / "world.gpkg"

    world.write(path)
    back = World.read(path)

    assert back == world
    assert back.digest == world.digest
    assert back.projection == world.projection
    assert back.describe() == world.describe()
    assert back.roads is not None
    assert world.roads is not None
    assert back.roads.attributes.equals(world.roads.attributes)
    assert shapely.to_wkb(back.roads.lines).tolist() == shapely.to_wkb(world.roads.lines).tolist()
    assert shapely.to_wkb(back.land) == shapely.to_wkb(world.land)
    assert [child.name for child in tmp_path.iterdir()] == ["world.gpkg"]


def test_writing_again_replaces_the_file_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "world.gpkg"
    World.make(BOX, out_of_bounds=RIVER, roads=streets()).write(path)
    plain = World.make(BOX)

    with pytest.raises(InputError, match="exists already"):
        plain.write(path)
    plain.write(path, force=True)

    assert World.read(path) == plain


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "world.gpkg"
    World.make(BOX).write(path)
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space"):
        World.make(BOX, roads=streets()).write(path, force=True)

    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["world.gpkg"]


@pytest.mark.parametrize(
    "other",
    [
        {"boundary": (10.0, 50.0, 10.1, 50.0500001)},
        {"out_of_bounds": shapely.box(10, 50, 10.01, 50.01)},
        {"land": shapely.box(10, 50, 10.09, 50.05)},
        {"roads": Layer(np.array(STREETS), NAMES.drop_columns(["lanes"]), "EPSG:4326")},
        {"roads": Layer(np.array(STREETS[::-1]), NAMES, "EPSG:4326")},
        {"roads": None},
        {"crs": "EPSG:4258"},
    ],
)
def test_any_change_changes_the_digest(other: dict[str, Any]) -> None:
    given: dict[str, Any] = {"boundary": BOX, "out_of_bounds": RIVER, "roads": streets(), "land": shapely.box(*BOX)}

    def make(boundary: Any, **options: Any) -> World:
        return World.make(boundary, **options)

    assert make(**given).digest == make(**given).digest
    assert make(**given).digest != make(**(given | other)).digest


def test_a_world_survives_pickling() -> None:
    world = World.make(BOX, out_of_bounds=RIVER, roads=streets())
    xy = np.random.default_rng(1).uniform((0, 0), world.bounds[2:], (1000, 2))
    before = world.on_land(xy)

    again = pickle.loads(pickle.dumps(world))

    assert again == world
    assert np.array_equal(again.on_land(xy), before)


def test_the_lattice_is_round_and_the_points_on_it_exact() -> None:
    world = World.make(BOX)

    assert world.snap(np.array([[10.01234567891, 50.00000005001]])).tolist() == [[10.0123457, 50.0000001]]


BOWTIE = shapely.Polygon([(10, 50), (10.1, 50.05), (10.1, 50), (10, 50.05)])


def test_a_boundary_that_crosses_itself_is_repaired() -> None:
    world = World.make(BOWTIE)

    assert shapely.is_valid(world.boundary)
    assert world.land_area == pytest.approx(0.5 * World.make(BOX).land_area)


def test_water_that_crosses_itself_overlaps_or_has_no_area_is_repaired() -> None:
    sliver = shapely.Polygon([(10, 50.01), (10.1, 50.01), (10, 50.01)])
    double = [BOWTIE, BOWTIE, shapely.box(10.04, 50, 10.06, 50.05), sliver]

    world = World.make(BOX, out_of_bounds=double)

    assert on_land(world, (10.05, 50.01), (10.01, 50.025), (10.03, 50.005)) == [False, False, True]


@pytest.mark.parametrize(
    ("boundary", "options", "words"),
    [
        ((10, 50, 10, 50.1), {}, "no area"),
        ((10, 50.1, 10.1, 50), {}, "no area"),
        ((10, 50, 10.1), {}, "four finite numbers"),
        ((10, 50, math.nan, 51), {}, "four finite numbers"),
        ((10, 50, math.inf, 51), {}, "four finite numbers"),
        ((50, 100, 51, 101), {}, "globe"),
        ((10, 50, 10.0000001, 50.0000001), {}, "square metre"),
        (shapely.Polygon(), {}, "no area"),
        (shapely.Polygon([(0, 0), (1, 1), (2, 2)]), {}, "no area"),
        (shapely.Point(1, 1), {}, "contains Point"),
        ("none.gpkg", {}, "does not exist"),
        (17, {}, "boundary must be"),
        ((0, 80, 90, 90), {}, "pole"),
        ((-180, -90, 180, 90), {}, "pole"),
        (BOX, {"crs": "EPSG:0"}, "not a CRS"),
        (BOX, {"out_of_bounds": shapely.box(9, 49, 11, 51)}, "no land"),
        (BOX, {"land": shapely.box(10, 50, 10.05, 51), "out_of_bounds": shapely.box(9, 49, 10.06, 51)}, "no land"),
        (BOX, {"out_of_bounds": shapely.box(20, 20, 21, 21)}, "does not overlap"),
        (BOX, {"land": shapely.box(20, 20, 21, 21)}, "does not overlap"),
        (BOX, {"land": []}, "no polygons"),
        (BOX, {"out_of_bounds": STREETS}, "contains LineString"),
        (BOX, {"roads": [shapely.Point(10, 50)]}, "contains Point"),
        (BOX, {"roads": []}, "no lines"),
        (BOX, {"roads": [None, shapely.LineString()]}, "no lines"),
        (BOX, {"roads": [shapely.LineString([(0, 0), (1, 1)])]}, "no line inside"),
        (BOX, {"roads": ["a", "b"]}, "shapely geometries"),
        (BOX, {"roads": 5}, "shapely geometries"),
    ],
)
def test_what_makes_no_sense_is_refused(boundary: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        World.make(boundary, **options)


@pytest.mark.parametrize("layer", ["out_of_bounds", "land", "roads"])
def test_a_layer_elsewhere_shows_that_latitude_and_longitude_were_swapped(layer: str) -> None:
    there = [shapely.LineString([(10.0, 50.0), (10.1, 50.05)])] if layer == "roads" else shapely.box(*BOX)
    given: Any = {layer: there}
    says = r"around 50\.\d+° N, 10\.\d+° E, and the boundary around 10\.\d+° N, 50\.\d+° E\. .* swapped: .* 10,50,"

    with pytest.raises(InputError, match=says):
        World.make((BOX[1], BOX[0], BOX[3], BOX[2]), **given)
    with pytest.raises(InputError, match=r"Check its CRS, or leave it out\.$"):
        World.make((20.0, 30.0, 20.1, 30.1), **given)


def test_a_million_vertices_are_no_trouble() -> None:
    angles = np.linspace(0, 2 * np.pi, 200_000, endpoint=False)
    radius = 0.01 + 0.002 * np.sin(50 * angles)
    lake = shapely.Polygon(np.column_stack([10.05 + radius * np.cos(angles), 50.02 + radius * np.sin(angles)]))

    world = World.make(BOX, out_of_bounds=lake)

    assert on_land(world, (10.05, 50.02), (10.001, 50.001)) == [False, True]


FIJI = {
    "a box": (177.0, -19.0, -178.0, -16.0),
    "a box beyond 180": (177.0, -19.0, 182.0, -16.0),
    "a box below -180": (-183.0, -19.0, -178.0, -16.0),
    "a polygon beyond 180": shapely.box(177, -19, 182, -16),
    "two halves": shapely.MultiPolygon([shapely.box(177, -19, 180, -16), shapely.box(-180, -19, -178, -16)]),
    "a polygon that jumps": shapely.Polygon([(177, -19), (-178, -19), (-178, -16), (177, -16)]),
}
SEAS = {
    "two halves": [shapely.box(179, -18, 180, -17), shapely.box(-180, -18, -179, -17)],
    "beyond 180": [shapely.box(179, -18, 181, -17)],
    "a polygon that jumps": [shapely.Polygon([(179, -18), (-179, -18), (-179, -17), (179, -17)])],
}


@pytest.mark.parametrize("boundary", FIJI.values(), ids=FIJI)
@pytest.mark.parametrize("sea", SEAS.values(), ids=SEAS)
def test_a_world_may_cross_the_antimeridian(tmp_path: Path, boundary: Any, sea: Any) -> None:
    roads = [shapely.LineString([(179.5, -17), (-179.5, -17)]), shapely.LineString([(-178.5, -17), (-178.4, -17)])]

    world = World.make(boundary, out_of_bounds=sea, roads=roads)

    assert on_land(world, (178, -17.5), (180, -17.5), (-180, -17.5), (-179.5, -17.5)) == [True, False, False, False]
    assert on_land(world, (-178.5, -17.5), (-177.5, -17.5), (176.5, -17.5), (0, -17.5)) == [True, False, False, False]
    assert world.roads is not None
    assert shapely.length(world.roads.lines_m) == pytest.approx([106200, 10620], rel=0.001)
    assert world.describe()["projection"]["crosses_antimeridian"]
    world.write(tmp_path / "fiji.gpkg")
    assert World.read(tmp_path / "fiji.gpkg") == world


def test_an_ocean_around_the_globe_covers_both_sides_of_the_antimeridian() -> None:
    ocean = shapely.box(-180, -17.5, 180, -10)

    world = World.make(FIJI["a box"], out_of_bounds=ocean)

    assert on_land(world, (178, -17), (-179, -17), (178, -18), (-179, -18)) == [False, False, True, True]


def test_a_box_far_east_is_the_same_as_far_west() -> None:
    assert World.make((190, -19, 192, -17)) == World.make((-170, -19, -168, -17))


def test_a_polar_crs_holds_the_pole() -> None:
    world = World.make((-1e5, -1e5, 1e5, 1e5), crs="EPSG:3413")

    assert on_land(world, (0.0, 0.0)) == [True]


def test_feet_become_metres() -> None:
    world = World.make((980000, 190000, 990000, 200000), crs="EPSG:2263")

    assert world.bounds[2] == pytest.approx(3048.006096)
    assert world.projection.lattice == 0.01


def test_a_file_that_is_no_world_is_refused(tmp_path: Path) -> None:
    other = save(tmp_path / "other.gpkg", [RIVER])
    World.make(BOX).write(tmp_path / "world.gpkg")
    layer = read_layer(tmp_path / "world.gpkg", kinds=POLYGONS)

    for path in (other, tmp_path / "none.gpkg", tmp_path):
        with pytest.raises(InputError):
            World.read(path)
    for path in (tmp_path / "world.shp", tmp_path / "none" / "world.gpkg"):
        with pytest.raises(InputError):
            World.make(BOX).write(path)
    assert shapely.equals(layer.geometries[0], shapely.box(*BOX))


def test_a_world_changed_by_hand_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "world.gpkg"
    World.make(BOX).write(path)
    table = pa.table({"geometry": pa.array([shapely.to_wkb(RIVER)], pa.binary())})

    pyogrio.write_arrow(
        table,
        path,
        layer="boundary",
        driver="GPKG",
        crs="EPSG:4326",
        geometry_type="Unknown",
        geometry_name="geometry",
        append=True,
    )

    with pytest.raises(InputError, match="was edited"):
        World.read(path)


def test_facts_are_public_and_plain() -> None:
    facts = World.make(BOX, out_of_bounds=RIVER, roads=streets()).describe()

    assert facts["boundary"] == "box"
    assert facts["bounds"] == pytest.approx(BOX)
    assert facts["roads"] == 2
    assert facts["road_attributes"] == ["name", "lanes", "length", "oneway"]
    assert facts["projection"]["scale_error"] < 0.001


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="needs the three real cities: set POINTVEIL_DATA")
@pytest.mark.parametrize("city", CITIES)
def test_a_real_city_is_read_back_identically(tmp_path: Path, city: str) -> None:
    folder = Path(DATA or "") / city
    water, land = (path if path.exists() else None for path in (folder / "water.geojson", folder / "land.geojson"))

    world = World.make(CITIES[city], out_of_bounds=water, land=land, roads=folder / "roads.parquet")
    world.write(tmp_path / "city.gpkg")

    assert World.read(tmp_path / "city.gpkg") == world
    xy = np.random.default_rng(4).uniform((0, 0), world.bounds[2:], (200_000, 2))
    assert np.array_equal(world.on_land(xy), shapely.intersects_xy(world.land, *xy.T))


METRES = "EPSG:3035"


def in_memory(shapes: list[Any], **columns: Any) -> dict[str, Any]:
    """Return shapes, given in degrees, in each form of memory that names its CRS; here metres."""
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(columns, geometry=list(move(shapes, METRES)), crs=METRES)
    named = SimpleNamespace(__geo_interface__=frame.__geo_interface__, crs=METRES)
    return {"GeoDataFrame": frame, "GeoSeries": frame.geometry, "geo_interface": named}


FORMS = ("GeoDataFrame", "GeoSeries", "geo_interface")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("layer", ["boundary", "out_of_bounds", "land", "roads"])
def test_a_layer_in_memory_is_where_its_own_crs_says(layer: str, form: str, tmp_path: Path) -> None:
    shapes = {
        "boundary": [shapely.box(*BOX).segmentize(0.01)],
        "out_of_bounds": [RIVER.segmentize(0.001)],
        "land": [shapely.box(10, 50, 10.05, 50.05).segmentize(0.01)],
        "roads": STREETS,
    }[layer]
    file = save(
        tmp_path / "layer.gpkg", shapes, crs=METRES, attributes=pa.table({"highway": ["primary"] * len(shapes)})
    )
    given = in_memory(shapes, highway=["primary"] * len(shapes))[form]

    parts: dict[str, Any] = {"boundary": BOX}
    from_memory = World.make(**parts | {layer: given})
    from_file = World.make(**parts | {layer: file})

    if layer == "roads" and form == "GeoSeries":  # it has no attributes
        assert from_memory.roads is not None
        assert from_file.roads is not None
        assert shapely.equals(from_memory.roads.lines, from_file.roads.lines).all()
    else:
        assert from_memory == from_file


def test_attributes_of_a_roads_frame_are_used_as_from_a_file(tmp_path: Path) -> None:
    columns = NAMES.append_column("highway", pa.array(["primary", "footway"])).append_column(
        "bridge", pa.array(["yes", None])
    )
    file = save(tmp_path / "roads.gpkg", STREETS, crs=METRES, attributes=columns)
    frame = in_memory(STREETS, **columns.to_pydict())["GeoDataFrame"]

    from_frame, from_file = World.make(BOX, roads=frame), World.make(BOX, roads=file)

    assert from_frame.roads is not None
    assert from_file.roads is not None
    assert from_frame.roads.attributes.equals(from_file.roads.attributes)
    assert from_frame == from_file
    assert clean_edges(from_frame).bridge.any()


def test_columns_of_lists_and_of_many_types_do_not_stop_a_frame() -> None:
    frame = in_memory([*STREETS, STREETS[0]], highway=[["primary", "residential"], "footway", None], ref=[1, "A1", 2.5])

    roads = World.make(BOX, roads=frame["GeoDataFrame"]).roads

    assert roads is not None
    assert roads.attributes.to_pydict() == {"highway": ["primary", "footway", None], "ref": ["1", "A1", "2.5"]}


def test_rows_without_a_shape_go_with_their_attributes() -> None:
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(
        {"name": ["none", "first", "empty", "second"]}, geometry=[None, STREETS[0], shapely.LineString(), STREETS[1]]
    )

    roads = World.make(BOX, roads=frame).roads

    assert roads is not None
    assert roads.attributes["name"].to_pylist() == ["first", "second"]


def test_shapes_that_name_no_crs_are_in_the_world_s() -> None:
    geopandas = pytest.importorskip("geopandas")
    bare = SimpleNamespace(__geo_interface__=shapely.geometry.mapping(RIVER))
    feature = SimpleNamespace(
        __geo_interface__={"type": "Feature", "properties": None, "geometry": bare.__geo_interface__}
    )

    worlds = [World.make(BOX, out_of_bounds=water) for water in (geopandas.GeoSeries([RIVER]), bare, feature, [RIVER])]

    assert all(world == World.make(BOX, out_of_bounds=RIVER) for world in worlds)


def test_the_world_is_in_the_crs_that_is_said_wherever_its_boundary_is_from(tmp_path: Path) -> None:
    boundary = [shapely.box(*BOX)]
    frame = in_memory(boundary)["GeoDataFrame"]

    assert World.make(frame).projection.crs == "EPSG:4326"
    assert World.make(frame, crs=METRES) == World.make(save(tmp_path / "b.gpkg", boundary, crs=METRES), crs=METRES)


@pytest.mark.parametrize("wrong", [42, ["a", "b"], {"type": "Polygon"}])
def test_what_is_no_layer_is_refused_with_what_would_be(wrong: Any) -> None:
    with pytest.raises(InputError, match="must be a path, a GeoDataFrame, a GeoSeries or shapely geometries"):
        World.make(BOX, out_of_bounds=wrong)


def test_bridges_are_land_and_other_roads_over_water_are_not() -> None:
    import pyarrow as pa

    from pointveil.world.layers import Layer

    river = shapely.box(10.009, 49.99, 10.011, 50.02)
    lines = np.array([shapely.LineString([(10.0, y), (10.02, y)]) for y in (50.003, 50.009)])
    roads = Layer(lines, pa.table({"bridge": ["yes", "no"]}), "EPSG:4326", "roads")

    world = World.make((10.0, 50.0, 10.02, 50.012), out_of_bounds=river, roads=roads)

    over_water = world.projection.to_metres(np.array([(10.01, 50.003), (10.01, 50.009), (10.01, 50.006)]))
    assert world.on_land(over_water).tolist() == [True, False, False]
    beside = over_water[0] + np.array([(0.0, 11.0), (0.0, -11.0), (0.0, 13.0)])
    assert world.on_land(beside).tolist() == [True, True, False]
    assert world.land.within(world.boundary_m.buffer(1e-6))
