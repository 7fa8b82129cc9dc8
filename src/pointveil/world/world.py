"""The public knowledge about a place: boundary, water, land and roads."""

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from pointveil.cells.arrays import Bools, Bounds, Floats
from pointveil.cells.land import LandTest, PlainBox
from pointveil.errors import InputError
from pointveil.files.crs import crs_name, parse_crs, short_name, unit_of
from pointveil.files.vector_layer import LINES, POLYGONS
from pointveil.world import osm, package, shapes
from pointveil.world.land import land_test
from pointveil.world.layers import Layer, check_shapes, layer_from, read_layer
from pointveil.world.place import in_words, middle_in_words
from pointveil.world.prior import Prior
from pointveil.world.projection import Projection
from pointveil.world.roads import Roads, hash_attributes, plain_attributes, plain_lines

LEAST_AREA = 1.0  # square metres
BRIDGE = 12.0  # metres to each side of its line that a bridge is land: two lanes, and what a phone is off

Given = Any  # a path, a Layer, a GeoDataFrame, a GeoSeries, a shapely geometry or many, or a `__geo_interface__`


@dataclass(frozen=True, eq=False)
class World:
    """A place as everybody may know it; made with `World.make`, `World.read` or `World.from_place`.

    A world never comes from private data. Its shapes are in the CRS of the projection, as in its file; `bounds`,
    `size`, `land` and `on_land` are in metres from the south-west corner.

    Parameters
    ----------
    boundary
        The area that the data is about.
    projection
        How the world's coordinates become metres.
    out_of_bounds
        Where nobody can be, such as water.
    given_land
        The only area where people can be, if one was given.
    roads
        Lines with attributes, not cleaned.
    name
        What the place is called, for titles; a file's own name if nothing else is known.
    attribution
        Who is to be named where water and roads are drawn.
    prior
        What is already public about where people are; no part of the world's file or of its digest.

    Examples
    --------
    >>> world = pv.World.read("helsinki.gpkg")
    >>> world
    <World: 0.989 × 1.59 km, 94% land, 194 roads; bounds 24.93543, 60.1642, 24.95325, 60.1785 in EPSG:4326>
    >>> f"{world.land_area:,.0f} square metres"
    '1,485,845 square metres'
    """

    boundary: Any
    projection: Projection
    out_of_bounds: Any = None
    given_land: Any = None
    roads: Roads | None = None
    name: str = ""
    attribution: str = ""
    prior: Prior | None = None

    def __post_init__(self) -> None:
        if self.boundary_m.area < LEAST_AREA:
            raise InputError("The boundary covers less than a square metre. Give a larger one.")
        if self.land_area < LEAST_AREA:
            raise InputError("There is no land inside the boundary: all of it is out of bounds.")

    @classmethod
    def make(
        cls,
        boundary: Given | Sequence[float],
        *,
        crs: str = "EPSG:4326",
        out_of_bounds: Given | None = None,
        land: Given | None = None,
        roads: Given | None = None,
        network: str = osm.DEFAULT_NETWORK,
        name: str = "",
        attribution: str = "",
    ) -> "World":
        """Make a world from a boundary and layers.

        A boundary or layer may be a path, a GeoDataFrame, a GeoSeries, one or many shapely geometries, or anything
        with `__geo_interface__`. Whatever names a CRS of its own (a file, a frame, a series) is brought from that to
        `crs`; numbers and shapes that name none are taken to be in `crs`.

        Parameters
        ----------
        boundary
            West, south, east and north, or polygons. West may be larger than east to cross the antimeridian.
        crs
            The CRS of the world, EPSG:4326 (degrees) by default, also where the boundary names another.
        out_of_bounds
            Polygons where nobody can be, such as water.
        land
            Polygons outside of which nobody can be.
        roads
            Lines; their attributes `highway` (class) and `bridge` are used, and all others are kept.
        network
            Which streets to take from an OpenStreetMap file: those to "drive", "bike" or "walk" on, or "all".
        name
            What the place is called, for titles.
        attribution
            Who is to be named where layers are drawn; OpenStreetMap's files add their own.

        Examples
        --------
        >>> import shapely
        >>> river = shapely.box(10.009, 50.0, 10.011, 50.02)
        >>> pv.World.make((10.0, 50.0, 10.02, 50.012), out_of_bounds=river)
        <World: 1.43 × 1.33 km, 90% land, no roads; bounds 10, 50, 10.02, 50.012 in EPSG:4326>
        """
        osm.check_network(network)
        crs = crs_name(parse_crs(crs))
        area = _boundary(boundary, crs)
        projection = Projection.over(area.bounds, crs)
        projection.check(area.bounds)
        out_of_bounds = osm.open_layer(out_of_bounds, POLYGONS, area, crs, network)
        roads = osm.open_layer(roads, LINES, area, crs, network)
        named = [attribution, *(layer.attribution for layer in (out_of_bounds, roads) if isinstance(layer, Layer))]
        return cls(
            area,
            projection,
            _polygons(out_of_bounds, "out_of_bounds", area, projection),
            _polygons(land, "land", area, projection),
            _roads(roads, area, projection),
            name,
            ", ".join(dict.fromkeys(filter(None, named))),
        )

    @classmethod
    def from_place(cls, place: str, *, network: str = osm.DEFAULT_NETWORK) -> "World":
        """Make a world from the name of a place, with its streets and water as OpenStreetMap has them.

        Needs the internet and the extra `osm`. The name must be your own choice: never look it up from the data. The
        network is one of streets to "drive", "bike" or "walk" on, or "all" of them.
        """
        osm.check_network(network)
        boundary, roads, water = osm.fetch_place(place, network)
        return cls.make(boundary, out_of_bounds=water, roads=roads, name=place.partition(",")[0])

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "World":
        """Read a world that `write` has written."""
        crs, areas, layer, labels = package.read(path)
        boundary = areas["boundary"]
        projection = Projection.over(boundary.bounds, crs_name(parse_crs(crs)))
        projection.check(boundary.bounds)
        # A reader may choose narrower types than were written.
        roads = None if layer is None else Roads(layer.geometries, plain_attributes(layer.attributes), projection)
        return cls(boundary, projection, areas["out_of_bounds"], areas["land"], roads, prior=None, **labels)

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the world to one GeoPackage, whole or not at all; one that exists is replaced only with `force`."""
        areas = dict(zip(package.AREAS, (self.boundary, self.out_of_bounds, self.given_land), strict=True))
        labels = {"name": self.name, "attribution": self.attribution}
        package.write(Path(path), self.projection.crs, areas, self.roads, labels, force=force)

    @cached_property
    def boundary_m(self) -> Any:
        """The boundary in metres."""
        return self._in_metres(self.boundary)

    @cached_property
    def land(self) -> Any:
        """Where people can be, in metres: the boundary without what is out of bounds, and bridges."""
        land = self.boundary_m
        if self.given_land is not None:
            land = shapely.intersection(land, self._in_metres(self.given_land))
        if self.out_of_bounds is not None:
            land = shapely.difference(land, self._in_metres(self.out_of_bounds))
        if self.roads is not None and self.roads.bridge.any():
            decks = shapely.union_all(shapely.buffer(self.roads.lines_m[self.roads.bridge], BRIDGE, cap_style="flat"))
            land = shapely.union(land, shapely.intersection(decks, self.boundary_m))
        return shapes.polygons_only(land)

    @cached_property
    def land_area(self) -> float:
        """Square metres of land."""
        return float(self.land.area)

    @cached_property
    def bounds(self) -> Bounds:
        """The boundary's bounds in metres; the south-west corner is (0, 0)."""
        west, south, east, north = self.boundary_m.bounds
        return west, south, east, north

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box around the world, in metres."""
        west, south, east, north = self.bounds
        return east - west, north - south

    @cached_property
    def place(self) -> str:
        """Where the world is, in words: "41.146° N, 8.606° W, in or near Portugal"."""
        return in_words(self.boundary.bounds, self.projection.crs)

    @cached_property
    def land_test(self) -> PlainBox | LandTest:
        """What says which places are land."""
        return land_test(self.land, self.bounds)

    def on_land(self, xy: Floats) -> Bools:
        """Return which points, in metres, lie on land: never on the east or north edge of the bounds."""
        return self.land_test.holds(np.asarray(xy, dtype=np.float64))

    def snap(self, coordinates: Floats) -> Floats:
        """Round coordinates of the world's CRS to the public lattice."""
        return self.projection.snap(coordinates)

    @cached_property
    def digest(self) -> str:
        """A SHA-256 of all that is in the world but its labels, the same after writing and reading."""
        digest = hashlib.sha256(b"pointveil world 1")
        content = {
            "crs": self.projection.crs.encode(),
            "boundary": _bytes(self.boundary),
            "out_of_bounds": _bytes(self.out_of_bounds),
            "land": _bytes(self.given_land),
            "lines": b"" if self.roads is None else _bytes(self.roads.lines),
            "attributes": b"" if self.roads is None else hash_attributes(self.roads.attributes).encode(),
        }
        for name, value in content.items():
            digest.update(json.dumps([name, len(value)]).encode())
            digest.update(value)
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return public facts about the world, ready for JSON."""
        bounds = self.boundary.bounds
        return {
            "crs": self.projection.crs,
            "bounds": list(bounds),
            "place": self.place,
            "boundary": "box" if shapely.equals(self.boundary, shapely.box(*bounds)) else "polygon",
            "width_m": self.bounds[2],
            "height_m": self.bounds[3],
            "land_km2": self.land_area / 1e6,
            "land_share": self.land_area / float(self.boundary_m.area),
            "roads": 0 if self.roads is None else len(self.roads),
            "road_attributes": [] if self.roads is None else list(self.roads.attributes.column_names),
            "projection": {
                "kind": "equirectangular" if self.projection.is_geographic else "units of the CRS",
                "origin": list(self.projection.origin),
                "metres_per_unit": list(self.projection.metres_per_unit),
                "crosses_antimeridian": self.projection.wraps,
                "scale_error": self.projection.scale_error(bounds),
            },
            "lattice": self.projection.lattice,
            "digest": self.digest,
        }

    def __repr__(self) -> str:
        west, south, east, north = self.boundary.bounds
        width, height = (side / 1000 for side in self.size)
        roads = f"{len(self.roads):,} roads" if self.roads else "no roads"
        share = self.land_area / float(self.boundary_m.area)
        return (
            f"<World: {width:.3g} × {height:.3g} km, {share:.0%} land, {roads}; "
            f"bounds {west:.7g}, {south:.7g}, {east:.7g}, {north:.7g} in {short_name(self.projection.crs)}>"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, World) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def _in_metres(self, shape: Any) -> Any:
        moved = shapely.transform(shape, self.projection.to_metres)
        return moved if shapely.is_valid(moved) else shapes.join_polygons(np.array([moved]))


def _boundary(given: Any, crs: str) -> Any:
    many = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    if many and all(isinstance(value, int | float | np.number) for value in given):
        return _box(list(given), crs)
    layer = _layer(given, "boundary", POLYGONS, crs)
    polygons = layer.geometries
    if parse_crs(crs).is_geographic and len(polygons):
        polygons = shapes.unwrap_boundary(polygons)
    area = shapes.join_polygons(polygons)
    if area.is_empty:
        raise InputError(f"The boundary has no area: {layer.name} contains no polygon that encloses one.")
    return area


def _box(given: Sequence[float], crs: str) -> Any:
    if len(given) != 4 or not all(math.isfinite(value) for value in given):
        raise InputError(f"The boundary must be four finite numbers: west, south, east, north. It is {given}.")
    west, south, east, north = (float(value) for value in given)
    geographic = parse_crs(crs).is_geographic
    if geographic and not (max(abs(west), abs(east)) <= 360 and max(abs(south), abs(north)) <= 90):
        raise InputError(f"The boundary {given} is not on the globe. Are x and y swapped, or is it not in {crs}?")
    if geographic:
        west, south, east, north = shapes.unwrap_box((west, south, east, north))
        if given[0] > given[2] and east - west >= 180:
            raise InputError(
                f"In the boundary {given} west is larger than east, and from there to the east it is {east - west:g}° "
                "around the globe. Were they swapped? The order is west, south, east, north (x, y, x, y)."
            )
    if not (west < east and south < north):
        raise InputError(
            f"The boundary {given} has no area: west must be less than east, and south less than north. "
            "The order is west, south, east, north (x, y, x, y)."
        )
    # No city is a few metres or feet across; many are less than five degrees.
    on_globe = max(map(abs, (west, east))) <= 360 and max(map(abs, (south, north))) <= 90
    if not geographic and on_globe and max(east - west, north - south) < 5 and unit_of(parse_crs(crs)) <= 1:
        unit = parse_crs(crs).axis_info[0].unit_name
        raise InputError(
            f"The boundary {given} looks like degrees, but {short_name(crs)} counts in {unit}. "
            "Leave the CRS out (--crs, crs=) to give degrees, or give the boundary in its units."
        )
    return shapely.normalize(shapely.box(west, south, east, north))


def _layer(given: Any, name: str, kinds: Sequence[str], crs: str) -> Layer:
    """Return shapes from a file or from memory in the world's CRS, checked."""
    if isinstance(given, str | os.PathLike):
        given = read_layer(given, kinds=kinds)
    layer = given if isinstance(given, Layer) else layer_from(given, name, crs)
    check_shapes(layer.geometries, kinds, layer.name)
    layer = layer.to_crs(crs)
    check_shapes(layer.geometries, kinds, layer.name)
    return layer


def _polygons(given: Any, name: str, boundary: Any, projection: Projection) -> Any:
    if given is None:
        return None
    layer = _layer(given, name, POLYGONS, projection.crs)
    polygons = layer.geometries
    if not len(polygons):
        raise InputError(f"{layer.name} contains no polygons. Leave {name} out if there are none.")
    if projection.wraps:
        polygons = shapes.unwrap_polygons(polygons, projection.middle)
    area = shapes.clip(shapes.join_polygons(polygons), boundary.bounds)
    if area.is_empty:
        raise InputError(f"{layer.name} ({name}) does not overlap the boundary. {_apart(layer, boundary, projection)}")
    return area


def _roads(given: Any, boundary: Any, projection: Projection) -> Roads | None:
    if given is None:
        return None
    layer = _layer(given, "roads", LINES, projection.crs)
    if not len(layer.geometries):
        raise InputError(f"{layer.name} contains no lines. Leave roads out if there are none.")
    roads = Roads(plain_lines(layer.geometries), plain_attributes(layer.attributes), projection)
    boundary_m = shapely.transform(boundary, projection.to_metres)
    shapely.prepare(boundary_m)
    if not shapely.intersects(boundary_m, roads.lines_m).any():
        raise InputError(f"{layer.name} (roads) has no line inside the boundary. {_apart(layer, boundary, projection)}")
    return roads


def _apart(layer: Layer, boundary: Any, projection: Projection) -> str:
    """Say where a layer and a boundary are that do not meet, and what may be wrong."""
    there, (west, south, east, north) = shapely.total_bounds(layer.geometries).tolist(), boundary.bounds
    of_layer, of_boundary = (middle_in_words(bounds, projection.crs) for bounds in (there, boundary.bounds))
    where = f"It lies around {of_layer}, and the boundary around {of_boundary}."
    swapped = shapely.box(south, west, north, east)
    if projection.is_geographic and shapely.intersects(swapped, shapely.box(*there)):
        meant = ",".join(f"{value:.9g}" for value in swapped.bounds)
        return f"{where} Latitude and longitude of the boundary seem to be swapped: longitude comes first, {meant}."
    return f"{where} Check its CRS, or leave it out."


def _bytes(shape: Any) -> bytes:
    if shape is None:
        return b""
    return b"".join(np.atleast_1d(shapely.to_wkb(shape, byte_order=1)))
