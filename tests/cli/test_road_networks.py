"""Networks of all formats and kinds, good and bad, from file to file: `pointveil world`, then `road`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pyproj
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.cli import main
from pointveil.world import World

WEST, SOUTH, EAST, NORTH = BOUNDS = (10.0, 50.0, 10.02, 50.012)
IN_FEET = "EPSG:2263"
Shapes = list[Any]


def streets() -> Shapes:
    across = [shapely.LineString([(WEST, y), (EAST, y)]) for y in (50.003, 50.006, 50.009)]
    along = [shapely.LineString([(x, SOUTH), (x, NORTH)]) for x in (10.004, 10.008, 10.012, 10.016)]
    return list(shapely.get_parts(shapely.union_all([*across, *along])))


def with_heights() -> Shapes:
    return [shapely.LineString([(*place, 7.0) for place in line.coords]) for line in streets()]


def zigzag() -> Shapes:
    """A line that crosses the southern border a hundred times."""
    return [shapely.LineString([(10 + 0.0002 * step, 49.999 if step % 2 else 50.001) for step in range(100)])]


def loops() -> Shapes:
    square = [(10.005, 50.003), (10.01, 50.003), (10.01, 50.006), (10.005, 50.006), (10.005, 50.003)]
    return [
        shapely.LineString(square),
        shapely.transform(shapely.LineString(square), lambda xy: xy + np.array([0.006, 0.004])),
    ]


GOOD: dict[str, tuple[Callable[[], Shapes], str, int]] = {
    "streets": (streets, "LineString", 31),
    "one edge": (lambda: streets()[:1], "LineString", 1),
    "a metre": (lambda: [shapely.LineString([(10.01, 50.006), (10.01001, 50.006)])], "LineString", 1),
    "loops": (loops, "LineString", 2),
    "many parts": (lambda: [shapely.MultiLineString(streets())], "MultiLineString", 31),
    "heights": (with_heights, "LineString Z", 31),
    "over the border many times": (zigzag, "LineString", 50),
    "both directions": (lambda: [*streets(), *(line.reverse() for line in streets())], "LineString", 31),
    "on the border": (lambda: [shapely.LineString([(WEST, NORTH), (EAST, NORTH)])], "LineString", 1),
}
BAD: dict[str, tuple[Callable[[], Shapes], str, str]] = {
    "outside": (lambda: [shapely.transform(line, lambda xy: xy + 5) for line in streets()], "LineString", "no line"),
    "points": (lambda: [shapely.Point(10.01, 50.005)], "Point", "contains Point; it should contain only LineString"),
    "polygons": (lambda: [shapely.box(10.005, 50.003, 10.01, 50.005)], "Polygon", "contains Polygon"),
    "no length": (lambda: [shapely.LineString([(10.01, 50.005)] * 2)], "LineString", "No road lies inside"),
    "only touching": (
        lambda: [shapely.LineString([(10.01, NORTH), (10.01, 50.03)])],
        "LineString",
        "No road lies inside",
    ),
    "nothing": (list, "LineString", "contains no lines"),
}


def write(path: Path, shapes: Shapes, kind: str = "LineString", crs: str = "EPSG:4326", **columns: Any) -> Path:
    table = pa.table({"number": pa.array(range(len(shapes)), pa.int64()), **columns})
    table = table.append_column("geometry", pa.array([shapely.to_wkb(shape) for shape in shapes], pa.binary()))
    pyogrio.write_arrow(table, path, geometry_name="geometry", geometry_type=kind, crs=crs)
    return path


def write_parquet(path: Path, shapes: Shapes, highway: list[str]) -> Path:
    column = {"encoding": "WKB", "geometry_types": ["LineString"]}
    about = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": column}}
    table = pa.table({"highway": highway, "geometry": [shapely.to_wkb(shape) for shape in shapes]})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(about)}), path)
    return path


def write_extract(path: Path, shapes: Shapes, highway: list[str]) -> Path:
    osmium = pytest.importorskip("osmium", reason="needs the extra osm")
    places = {place: number for number, place in enumerate(sorted({p for s in shapes for p in s.coords}), 1)}
    writer = osmium.SimpleWriter(str(path))
    for place, number in places.items():
        writer.add_node(osmium.osm.mutable.Node(id=number, location=place))
    for number, (line, kind) in enumerate(zip(shapes, highway, strict=True), 1):
        nodes = [places[place] for place in line.coords]
        writer.add_way(osmium.osm.mutable.Way(id=number, nodes=nodes, tags={"highway": kind}))
    writer.close()
    return path


def write_graph(path: Path, shapes: Shapes, highway: list[str]) -> Path:
    osmnx = pytest.importorskip("osmnx", reason="needs the extra osm")
    import networkx as nx

    graph = nx.MultiDiGraph(crs="epsg:4326", simplified=True)
    places = {place: number for number, place in enumerate(sorted({p for s in shapes for p in s.coords}), 1)}
    for (x, y), number in places.items():
        graph.add_node(number, x=x, y=y, street_count=3)
    for line, kind in zip(shapes, highway, strict=True):
        there = places[line.coords[0]], places[line.coords[-1]]
        for start, end in (there, there[::-1]):
            graph.add_edge(start, end, 0, osmid=1, highway=kind, oneway=False, reversed=start > end, length=1.0)
    osmnx.save_graphml(graph, path)
    return path


def write_in_format(folder: Path, suffix: str) -> Path:
    path, shapes = folder / f"streets.{suffix}", streets()
    highway = ["primary" if number % 2 else "residential" for number in range(len(shapes))]
    writers = {"parquet": write_parquet, "osm": write_extract, "osm.pbf": write_extract, "graphml": write_graph}
    return writers[suffix](path, shapes, highway) if suffix in writers else write(path, shapes, highway=highway)


@pytest.fixture
def points(tmp_path: Path) -> Path:
    xy = np.random.default_rng(1).uniform(BOUNDS[:2], BOUNDS[2:], (1500, 2))
    pq.write_table(pa.table({"lon": xy[:, 0], "lat": xy[:, 1]}), tmp_path / "points.parquet")
    return tmp_path / "points.parquet"


def run(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def make_world(folder: Path, roads: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    options = options or (f"--bounds={','.join(map(str, BOUNDS))}",)
    assert run("world", folder / "world.gpkg", *options, "--roads", roads, "--json") == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


def synthesize(folder: Path, points: Path) -> NDArray[np.float64]:
    """Return what `road` makes, in metres, after checking that all of it is on land."""
    output = folder / "synthetic.parquet"
    world = World.read(folder / "world.gpkg")
    options = ("--world", folder / "world.gpkg", "--epsilon", 2, "--method", "road", "--quiet")
    assert run("synthesize", points, output, *options) == 0
    table = pq.read_table(output)
    lonlat = np.column_stack([table["lon"], table["lat"]])
    there = pyproj.Transformer.from_crs("EPSG:4326", world.projection.crs, always_xy=True)
    xy = world.projection.to_metres(np.column_stack(there.transform(*lonlat.T)))
    assert world.on_land(xy).all()
    return xy


@pytest.mark.parametrize("suffix", ["gpkg", "geojson", "fgb", "shp", "parquet", "osm", "osm.pbf", "graphml"])
def test_every_format_gives_the_same_network(
    suffix: str, points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = make_world(tmp_path, write_in_format(tmp_path, suffix), capsys)["network"]

    assert network["edges"] == 31
    assert network["length_km"] == pytest.approx(9.64, abs=0.01)
    assert sorted(network["class_km"]) == ["primary", "residential"]
    assert len(synthesize(tmp_path, points)) > 1200


@pytest.mark.parametrize("name", GOOD)
def test_odd_networks_are_served(name: str, points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shapes, kind, edges = GOOD[name]

    network = make_world(tmp_path, write(tmp_path / "roads.gpkg", shapes(), kind), capsys)["network"]

    assert network["edges"] == edges
    assert list(network["class_km"]) == ["road"]
    assert len(synthesize(tmp_path, points)) > 1200


@pytest.mark.parametrize("name", BAD)
def test_networks_that_are_none_are_refused_and_no_world_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes, kind, message = BAD[name]
    roads = write(tmp_path / "roads.gpkg", shapes(), kind)

    code = run("world", tmp_path / "world.gpkg", f"--bounds={','.join(map(str, BOUNDS))}", "--roads", roads)

    assert code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "world.gpkg").exists()


@pytest.mark.parametrize("world_in_feet", [False, True])
def test_a_network_in_feet_is_measured_in_metres(
    world_in_feet: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    to_feet = pyproj.Transformer.from_crs("EPSG:4326", IN_FEET, always_xy=True).transform
    moved = [shapely.transform(line, lambda xy: xy - (10, 50) + (-73.99, 40.74)) for line in streets()]
    feet = [shapely.transform(line, lambda xy: np.column_stack(to_feet(*xy.T))) for line in moved]
    roads = write(tmp_path / "feet.gpkg", feet, crs=IN_FEET)
    xy = np.random.default_rng(1).uniform((-73.99, 40.74), (-73.97, 40.752), (1500, 2))
    pq.write_table(pa.table({"lon": xy[:, 0], "lat": xy[:, 1]}), tmp_path / "points.parquet")
    bounds = "985000,207000,994500,215000" if world_in_feet else "-73.99,40.74,-73.97,40.752"

    options = ("--crs", IN_FEET) if world_in_feet else ()
    network = make_world(tmp_path, roads, capsys, f"--bounds={bounds}", *options)["network"]

    assert network["length_km"] == pytest.approx(10.40, abs=0.02)
    assert len(synthesize(tmp_path, tmp_path / "points.parquet")) > 1200
