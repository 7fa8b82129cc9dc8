"""A city from the data folder: its world, and its points as a table."""

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pointveil.cells import Floats
from pointveil.demo.city import city as built_in_city
from pointveil.demo.people import people
from pointveil.errors import InputError
from pointveil.evaluation import Comparison
from pointveil.lab.experiments.plan import City
from pointveil.network.network import Network
from pointveil.vault import Vault
from pointveil.world import World

VARIABLE = "POINTVEIL_DATA"
SUFFIXES = (".parquet", ".geojson", ".gpkg", ".fgb", ".shp")
SAMPLE_SEED = 2021


@dataclass(frozen=True, eq=False)
class Loaded:
    """A city that is ready for experiments."""

    world: World  # what is public
    points: pa.Table  # longitude and latitude, as a table that a vault can be opened on
    real: Floats  # the points on land, in metres: what results are compared with. Not private
    population: Floats | None = None  # those that they are a sample of, if they are one

    @cached_property
    def comparison(self) -> Comparison:
        """The real points beside themselves: what measures need to know of them is worked out once for all runs."""
        return Comparison(self.real, self.real, self.world, population=self.population)


def find_data(given: Path | None) -> Path | None:
    """Return the data folder: the one given, or the one that POINTVEIL_DATA names."""
    named = os.environ.get(VARIABLE)
    folder = given or (Path(named) if named else None)
    if folder is not None and not folder.is_dir():
        raise InputError(f"The data folder {folder} does not exist. Name it with --data or in {VARIABLE}.")
    return folder


def check_city(name: str, city: City, data: Path | None) -> None:
    """Refuse a city whose files are not there, before anything is run."""
    if city.folder is None:
        return
    if data is None:
        raise InputError(f"The city '{name}' needs a data folder. Name it with --data or in {VARIABLE}.")
    folder = data / city.folder
    if not (folder / city.points).is_file():
        raise InputError(f"The city '{name}' needs {folder / city.points}, which does not exist.")
    if city.bounds is None and not (folder / "world.gpkg").is_file():
        raise InputError(f"The city '{name}' needs bounds in the plan, or {folder / 'world.gpkg'}.")


@lru_cache(maxsize=2)
def load_city(city: City, data: Path | None, how: str) -> Loaded:
    """Read a city; kept, since many runs in turn need the same."""
    if city.folder is None:
        world = built_in_city()
        points = _table(world, people(world))
    else:
        world, points = _from_folder(city, (data or Path()) / city.folder)
    population = None
    if city.sample is not None and city.sample < len(points):
        population = _real(points, world)
        points = points.take(np.random.default_rng(SAMPLE_SEED).choice(len(points), city.sample, replace=False))
    if how == "on roads":  # every point at the nearest place on a road: the paper's map-matched input
        points = _table(world, Network.of(world).nearest(_real(points, world)).foot)
    return Loaded(world, points, _real(points, world), population)


def _from_folder(city: City, folder: Path) -> tuple[World, pa.Table]:
    points = pq.read_table(folder / city.points, columns=["lon", "lat"])
    if city.bounds is None:
        return World.read(folder / "world.gpkg"), points
    layers: dict[str, Any] = {"out_of_bounds": _layer(folder, "water"), "roads": _layer(folder, "roads")}
    if layers["out_of_bounds"] is None:
        layers["land"] = _layer(folder, "land")
    return World.make(city.bounds, **layers), points


def _layer(folder: Path, name: str) -> Path | None:
    """Return the file of a layer, in whatever format there is."""
    return next((folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").is_file()), None)


def _real(points: pa.Table, world: World) -> Floats:
    return Vault.rehearse(points, world, epsilon=1, seed=0).exact_points()


def _table(world: World, xy: Floats) -> pa.Table:
    lon, lat = world.projection.from_metres(xy).T
    return pa.table({"lon": lon, "lat": lat})
