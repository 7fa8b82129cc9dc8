"""pointveil world: gather public knowledge into one file."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointveil.cli.common import Force, Json, Quiet, parse_bounds, print_json, tell
from pointveil.errors import InputError

if TYPE_CHECKING:
    from pointveil.world import World


def world(
    output: Annotated[Path, typer.Argument(help="GeoPackage to write.")],
    bounds: Annotated[
        str | None, typer.Option("--bounds", help="Boundary as west,south,east,north, in units of --crs.")
    ] = None,
    boundary: Annotated[Path | None, typer.Option("--boundary", help="Boundary as a file of polygons.")] = None,
    water: Annotated[
        Path | None, typer.Option("--water", help="File of polygons where nobody can be, such as lakes.")
    ] = None,
    land: Annotated[Path | None, typer.Option("--land", help="File of polygons that contain all the land.")] = None,
    roads: Annotated[Path | None, typer.Option("--roads", help="File of streets, as lines.")] = None,
    place: Annotated[
        str | None, typer.Option("--place", help="Name of a town; gets boundary, water and roads from OpenStreetMap.")
    ] = None,
    network: Annotated[
        str, typer.Option("--network", help="Streets to take from OpenStreetMap: drive, bike, walk or all.")
    ] = "drive",
    name: Annotated[str, typer.Option("--name", help="What the place is called, for titles.")] = "",
    attribution: Annotated[
        str, typer.Option("--attribution", help="Who is to be named on maps; OpenStreetMap's files add their own.")
    ] = "",
    crs: Annotated[str, typer.Option("--crs", help="Coordinate system of the bounds and of the world.")] = "EPSG:4326",
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make a world from public files: a boundary that you choose, water, land and roads.

    Never take the boundary from the private data. Layers may be GeoJSON, GeoPackage, Shapefile, FlatGeobuf or
    GeoParquet, in any coordinate system. Roads and water may also be OpenStreetMap extracts (.osm.pbf, .osm), and
    roads a graph saved by osmnx (.graphml). --place fetches all of it from OpenStreetMap.

    pointveil world porto.gpkg --bounds=-8.635,41.123,-8.576,41.168 --roads roads.parquet --water water.geojson
    """
    from pointveil.files.whole import check_target, refuse_existing
    from pointveil.network.network import Network
    from pointveil.world import World

    if [bounds, boundary, place].count(None) != 2:
        raise InputError("Give the boundary as exactly one of --bounds W,S,E,N, --boundary FILE or --place NAME.")
    if place is not None and (water, land, roads, crs, name, attribution) != (None, None, None, "EPSG:4326", "", ""):
        raise InputError("--place brings its own water, roads, name and system: leave the other options out.")
    refuse_existing(check_target(output), force=force)
    if place is not None:
        made = World.from_place(place, network=network)
    else:
        made = World.make(
            parse_bounds(bounds) if bounds is not None else boundary,
            crs=crs,
            out_of_bounds=water,
            land=land,
            roads=roads,
            network=network,
            name=name,
            attribution=attribution,
        )
    streets = None if made.roads is None else Network.of(made).describe()
    made.write(output, force=force)
    facts = made.describe() | ({} if streets is None else {"network": streets})
    if json:
        print_json(facts)
    for line in _lines(made, facts):
        tell(f"  {line}", quiet=quiet or json)
    tell(f"Wrote {output}.", quiet=quiet or json)


def _lines(made: "World", facts: dict[str, Any]) -> Iterator[str]:
    """Say in a few lines what a world is."""
    yield repr(made).removeprefix("<World: ").removesuffix(">").replace("; bounds", "\n  bounds")
    yield f"around {facts['place']}"
    yield f"{facts['land_km2']:,.3g} km² of land"
    if "network" in facts:
        yield "{length_km:,.1f} km of streets in {edges:,} pieces; bridges: {bridges:,}".format(**facts["network"])
    yield f"digest {made.digest}"
