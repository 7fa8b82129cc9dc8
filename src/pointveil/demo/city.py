"""Central Helsinki: its real streets and sea, as public knowledge."""

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np
import shapely

from pointveil.world.osm import ATTRIBUTION
from pointveil.world.world import World

DATA = files("pointveil.demo") / "data"


@dataclass(frozen=True)
class Place:
    """Somewhere people gather: a square, a park, a station, a stop."""

    kind: str  # one of market, square, street (for walking), park, station, ferry, metro, tram
    name: str | None  # what the map calls it, if anything
    shape: shapely.Geometry  # a polygon or a point, in the metres of the city


@cache
def city() -> World:
    """The centre of Helsinki, about 1.0 by 1.6 kilometres, with its streets, bays and ponds."""
    with as_file(DATA / "helsinki.gpkg") as path:
        return replace(World.read(path), name="Helsinki", attribution=ATTRIBUTION)


@cache
def places() -> tuple[Place, ...]:
    """The squares, parks, stations and stops of the city."""
    features = json.loads((DATA / "helsinki-places.geojson").read_text(encoding="utf-8"))["features"]
    return tuple(_place(feature) for feature in features)


def _place(feature: dict[str, Any]) -> Place:
    shape = shapely.from_geojson(json.dumps(feature["geometry"]))
    metres = shapely.transform(shape, lambda lonlat: city().projection.to_metres(np.asarray(lonlat)))
    return Place(feature["properties"]["kind"], feature["properties"]["name"], metres)
