"""Roads and water from OpenStreetMap: files (.osm.pbf, .osm), graphs (.graphml), and places by name."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from pointveil.errors import InputError, missing_extra
from pointveil.files.crs import DEGREES, crs_name, known_crs, same_crs, transform
from pointveil.files.vector_layer import LINES, POLYGONS
from pointveil.world.coast import enclose_sea
from pointveil.world.layers import Layer
from pointveil.world.shapes import shape_array, unwrap_boundary

BENDS = 64  # pieces of a boundary's longest side that stay straight in degrees
KEPT_TAGS = ("highway", "name", "bridge")
ATTRIBUTION = "© OpenStreetMap contributors"  # their licence, ODbL, asks for it wherever their data are drawn
EXTRACTS, GRAPH = (".pbf", ".osm"), ".graphml"  # how the names of files end

# Ways with one of these values for a tag are left out: of every network, then also of those that a car, a bicycle or a
# person on foot may use. They are those of osmnx, so that a file and a place by name give the same streets.
NOT_IN_USE = {
    *("abandoned", "construction", "no", "planned", "platform", "proposed", "raceway", "razed", "rest_area"),
    "services",
}
PUBLIC = {"access": {"private", "no"}, "area": {"yes"}, "service": {"private"}}
NOT_FOR_CARS = {
    *("bridleway", "bus_guideway", "busway", "corridor", "cycleway", "elevator", "escalator", "footway", "path"),
    *("pedestrian", "service", "steps", "track"),
}
NOT_FOR_BICYCLES = {
    *("bus_guideway", "corridor", "elevator", "escalator", "footway", "motorway", "motorway_link", "steps"),
}
NOT_ON_FOOT = {"bus_guideway", "cycleway", "motorway", "motorway_link"}
NETWORKS: dict[str, dict[str, set[str]]] = {
    "drive": {
        **PUBLIC,
        "highway": NOT_IN_USE | NOT_FOR_CARS,
        "motor_vehicle": {"no"},
        "motorcar": {"no"},
        "service": {"alley", "driveway", "emergency_access", "parking", "parking_aisle", "private"},
    },
    "bike": {**PUBLIC, "highway": NOT_IN_USE | NOT_FOR_BICYCLES, "bicycle": {"no"}},
    "walk": {
        **PUBLIC,
        "highway": NOT_IN_USE | NOT_ON_FOOT,
        "foot": {"no"},
        # Where pavements are ways of their own, they stand for the street.
        **{f"sidewalk{side}": {"separate"} for side in ("", ":both", ":left", ":right")},
    },
    "all": {**PUBLIC, "highway": NOT_IN_USE},
}
DEFAULT_NETWORK = "drive"

WATER = {"natural": ["water"], "waterway": ["riverbank", "dock"], "landuse": ["reservoir", "basin"]}
NOT_OPEN_WATER = {"intermittent": {"yes"}, "covered": {"yes"}, "tunnel": {"yes"}, "location": {"underground"}}

Tags = Mapping[str, str]
Nodes = list[tuple[int, tuple[float, float] | None]]  # number and place, longitude and latitude, of nodes in a row


def is_street(tags: Tags, network: str) -> bool:
    """Say whether a way is a street of a network that is open to the public."""
    return "highway" in tags and not _any_of(tags, NETWORKS[network])


def check_network(network: str) -> None:
    """Refuse a network that is not known by name."""
    if network not in NETWORKS:
        raise InputError(f"'{network}' is not a network of streets. Choose {', '.join(NETWORKS)}.")


def is_water(tags: Tags) -> bool:
    """Say whether an area is open water the year round."""
    return any(tags.get(key) in values for key, values in WATER.items()) and not _any_of(tags, NOT_OPEN_WATER)


def open_layer(given: Any, kinds: Iterable[str], boundary: Any, crs: str, network: str) -> Any:
    """Read roads (lines) or water (polygons) if `given` is a path to OpenStreetMap data, else return it as it is.

    The world's boundary closes the sea; `crs` is that of the boundary. The network chooses among the roads of a file;
    those of a graph were chosen when it was made.
    """
    roads, path = tuple(kinds) == LINES, os.fspath(given).casefold() if isinstance(given, str | os.PathLike) else ""
    if roads and given is not None and network != DEFAULT_NETWORK and not path.endswith(EXTRACTS):
        raise InputError(
            f"Only of an OpenStreetMap extract ({', '.join(EXTRACTS)}) or a place can the streets of the network "
            f"'{network}' be chosen. These roads are taken as they are: leave the network out."
        )
    if not path.endswith((*EXTRACTS, GRAPH)):
        return given
    file = Path(given)
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    if file.suffix.casefold() == GRAPH:
        if not roads:
            raise InputError(f"{file.name} is a graph of streets: give it as roads.")
        return read_graph(file)
    return read_roads(file, network) if roads else read_water(file, _to_degrees(boundary, crs))


def read_roads(path: str | os.PathLike[str], network: str = DEFAULT_NETWORK) -> Layer:
    """Return the streets of an .osm.pbf or .osm file, cut at junctions and where nodes are missing."""
    with _reading(Path(path)) as file:
        streets = [(tags, nodes) for tags, nodes in ways(file, "highway") if is_street(tags, network)]
    uses = Counter(node for _, nodes in streets for node, _ in nodes)
    rows, lines = [], []
    for tags, nodes in streets:
        for stretch in stretches(nodes, uses):
            rows.append(tags)
            lines.append(shapely.LineString(stretch))
    if not lines:
        raise InputError(f"{Path(path).name} has no streets of the network '{network}'.")
    attributes = {key: pa.array([row.get(key) for row in rows], pa.string()) for key in KEPT_TAGS}
    return Layer(shape_array(lines), pa.table(attributes), DEGREES, Path(path).name, ATTRIBUTION)


def read_water(path: str | os.PathLike[str], boundary: Any) -> Layer:
    """Return the lakes, rivers and sea of an .osm.pbf or .osm file; the sea ends at the boundary, in degrees."""
    name = Path(path).name
    with _reading(Path(path)) as file:
        shores = (nodes for tags, nodes in ways(file, "natural") if tags["natural"] == "coastline")
        coast = [shapely.LineString(stretch) for nodes in shores for stretch in stretches(nodes)]
        inland = [shape for tags, shape in areas(file, *WATER) if is_water(tags)]
    polygons = [*enclose_sea(coast, boundary, name), *inland]
    if not polygons:
        raise InputError(f"{name} has no water and no coastline inside the boundary. Leave it out.")
    return Layer(shape_array(polygons), pa.table({}), DEGREES, name, ATTRIBUTION)


def read_graph(path: Path) -> Layer:
    """Return the streets of a graph that osmnx saved as GraphML."""
    osmnx = _imported("osmnx")
    with path.open("rb") as stream:
        if b"<!" in stream.read(4096):
            raise InputError(f"{path.name} is not a graph saved by osmnx: it declares XML entities.")
    try:
        graph = osmnx.load_graphml(path)
    except Exception as error:  # the reader fails in many ways on what is not a graph
        raise InputError(f"{path.name} cannot be read as a graph saved by osmnx: {error}") from error
    return streets_of(graph, path.name)


def streets_of(graph: Any, name: str) -> Layer:
    """Return the edges of an osmnx graph as lines, each street once."""
    osmnx = _imported("osmnx")
    if not graph.number_of_edges():
        raise InputError(f"{name} has no streets.")
    frame = osmnx.graph_to_gdfs(osmnx.convert.to_undirected(graph), nodes=False)
    attributes = {
        key: pa.array([_word(value) for value in frame[key]], pa.string()) for key in KEPT_TAGS if key in frame
    }
    crs = crs_name(known_crs(graph.graph["crs"], name))
    return Layer(shape_array(frame.geometry), pa.table(attributes), crs, name, ATTRIBUTION)


def fetch_place(place: str, network: str = DEFAULT_NETWORK) -> tuple[Any, Layer, Layer | None]:
    """Ask OpenStreetMap for a place by name; return its boundary, streets and water, in degrees.

    Only the name leaves this machine, and then the outline of the place: nothing about any data.
    """
    osmnx = _imported("osmnx")
    with _asking(place):
        boundary = shapely.force_2d(shapely.union_all(shape_array(osmnx.geocode_to_gdf(place).geometry)))
        if boundary.geom_type not in POLYGONS:
            raise InputError(f"In OpenStreetMap '{place}' is a point, not an area. Name a town, or give its bounds.")
        wanted = "all_public" if network == "all" else network
        graph = osmnx.graph_from_polygon(boundary, network_type=wanted, retain_all=True, truncate_by_edge=True)
        roads = streets_of(graph, place)
        water = _fetch_water(osmnx, boundary, place)
    return boundary, roads, water


def _fetch_water(osmnx: Any, boundary: Any, place: str) -> Layer | None:
    tags = {**WATER, "natural": [*WATER["natural"], "coastline"]}
    try:
        features = osmnx.features_from_polygon(boundary, tags)
    except osmnx._errors.InsufficientResponseError:  # noqa: SLF001 - osmnx has no public name for it
        return None
    rows = [{key: row[key] for key in row if _is_text(row[key])} for row in features.to_dict("records")]
    found = list(zip(rows, features.geometry, strict=True))
    coast = [shape for row, shape in found if row.get("natural") == "coastline"]
    inland = [shape for row, shape in found if is_water(row) and shape.geom_type in POLYGONS]
    polygons = [*enclose_sea(coast, boundary, place), *inland]
    return Layer(shape_array(polygons), pa.table({}), DEGREES, place, ATTRIBUTION) if polygons else None


@contextlib.contextmanager
def _asking(place: str) -> Iterator[None]:
    """Turn what goes wrong on the way into errors that say what to do; keep no copy of answers on disk."""
    osmnx = _imported("osmnx")
    import requests

    kept = osmnx.settings.use_cache
    osmnx.settings.use_cache = False
    try:
        yield
    except requests.exceptions.RequestException as error:
        raise InputError(
            f"'{place}' could not be fetched: OpenStreetMap cannot be reached from here. Give files instead."
        ) from error
    except (osmnx._errors.InsufficientResponseError, TypeError, ValueError) as error:  # noqa: SLF001
        if isinstance(error, InputError):
            raise
        raise InputError(f"OpenStreetMap has no area, or no streets, named '{place}': {error}") from error
    finally:
        osmnx.settings.use_cache = kept


@contextlib.contextmanager
def _reading(file: Path) -> Iterator[Path]:
    try:
        yield file
    except RuntimeError as error:
        raise InputError(f"{file.name} cannot be read as OpenStreetMap data: {error}") from error


def ways(file: Path, *keys: str) -> Iterator[tuple[dict[str, str], Nodes]]:
    """Yield tags and nodes of every way that has one of these keys, or of all; nodes outside the file have no place."""
    osmium = _imported("osmium", "osmium.filter", "osmium.geom")
    wanted = osmium.FileProcessor(str(file)).with_locations().with_filter(osmium.filter.EntityFilter(osmium.osm.WAY))
    for way in wanted.with_filter(osmium.filter.KeyFilter(*keys)) if keys else wanted:
        yield dict(way.tags), [(n.ref, (n.lon, n.lat) if n.location.valid() else None) for n in way.nodes]


def areas(file: Path, *keys: str) -> Iterator[tuple[dict[str, str], Any]]:
    """Yield tags and shape of every whole area that has one of these keys, or of all."""
    osmium = _imported("osmium", "osmium.filter", "osmium.geom")
    factory = osmium.geom.WKBFactory()
    wanted = osmium.FileProcessor(str(file)).with_areas(*([osmium.filter.KeyFilter(*keys)] if keys else []))
    for area in wanted.with_filter(osmium.filter.EntityFilter(osmium.osm.AREA)):
        if area.num_rings()[0] > 0:
            yield dict(area.tags), shapely.from_wkb(factory.create_multipolygon(area))


def stretches(nodes: Nodes, uses: Mapping[int, int] = MappingProxyType({})) -> Iterator[list[tuple[float, float]]]:
    """Yield the stretches between nodes that are used more than once or missing, of two places or more."""
    stretch: list[tuple[float, float]] = []
    for node, place in nodes:
        if place is not None:
            stretch.append(place)
        if place is None or uses.get(node, 0) > 1:
            if len(stretch) > 1:
                yield stretch
            stretch = [] if place is None else [place]
    if len(stretch) > 1:
        yield stretch


def _to_degrees(boundary: Any, crs: str) -> Any:
    """Return a boundary in degrees; beyond 180 of them where it reaches over the antimeridian."""
    if same_crs(crs, DEGREES):
        return boundary
    # A straight side is bent in degrees.
    west, south, east, north = boundary.bounds
    bendable = shapely.segmentize(boundary, max(east - west, north - south) / BENDS)
    return unwrap_boundary(np.array([shapely.transform(bendable, transform(crs, DEGREES))], dtype=object))[0]


def _any_of(tags: Tags, table: dict[str, set[str]]) -> bool:
    return any(tags.get(key) in values for key, values in table.items())


def _word(value: Any) -> str | None:
    value = value[0] if isinstance(value, list) and value else value
    return value if _is_text(value) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _imported(package: str, *modules: str) -> Any:
    try:
        loaded, *_ = [import_module(name) for name in (package, *modules)]
    except ImportError:
        raise missing_extra("osm", package) from None
    return loaded
