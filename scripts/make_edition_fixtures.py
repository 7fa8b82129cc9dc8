"""Write small releases of invented people with every method, so that later versions can prove they still verify them.

Run: python scripts/make_edition_fixtures.py tests/fixtures/edition-N

It uses the command line alone, so that it also runs with the code of another commit on PYTHONPATH.
"""

import itertools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

BOUNDS = (10.0, 50.0, 10.02, 50.012)
RIVER = [[[10.009, 49.99], [10.011, 49.99], [10.011, 50.02], [10.009, 50.02], [10.009, 49.99]]]
STREETS = [[[10.0, 50.003], [10.02, 50.003]], [[10.004, 50.0], [10.004, 50.012]]]
METHODS = (
    *("veil", "ugrid-uni", "ugrid-wud", "ugrid-kde", "agrid-uni", "agrid-wud", "agrid-kde"),
    *("clust-uni", "clust-wud", "clust-kde", "road"),
)
IN_FULL = ("veil", "ugrid-uni", "road")
"""Methods of which every combination of world and unit is written; of the others two suffice."""
SUFFIXES = (".csv", ".geojson", ".tsv", ".parquet", ".csv", ".fgb", ".tsv", ".geoparquet")
WORLDS_AND_UNITS = (("roads", "points"), ("bare", "persons"), ("roads", "persons"), ("bare", "points"))
PERSONS = ("--person", "who", "--max-points", "2")
UNITS = {
    "kilometres": "+proj=utm +zone=32 +datum=WGS84 +units=km",
    "us-feet": "+proj=utm +zone=32 +datum=WGS84 +units=us-ft",
    "metres": "EPSG:32632",
}


def main(target: Path) -> None:
    """Write every release, a survey, the public key and nothing private."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(XDG_DATA_HOME=str(folder / "data"), POINTVEIL_CACHE=str(folder / "cache"))
        ledger, key = folder / "ledger.db", folder / "publisher.pem"
        make_inputs(folder)
        run("ledger", "cap", "people", 1000, "--ledger", ledger, "--quiet")
        run("keys", "new", "--key", key, "--quiet")
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(key.with_suffix(".pub"), target)
        common = ("--dataset", "people", "--ledger", ledger, "--quiet")
        for number, (output, source, options) in enumerate(releases()):
            signed = ("--key", key) if number % 5 < 3 else ()
            noisy = ("--epsilon", ("1", "1/3", "0.5")[number % 3], "--count", 20, "--seed", number, *signed)
            run("synthesize", folder / source, target / output, *paths(folder, options), *noisy, *common)
        survey = ("--world", folder / "roads.gpkg", "--epsilon", 1, "--method", "veil")
        run("survey", folder / "people.csv", target / "veil.survey", *survey, *common)


def releases() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the output, the input and the options of each release."""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for method, (world, unit) in itertools.product(METHODS, WORLDS_AND_UNITS):
        if (method in IN_FULL or (world, unit) in WORLDS_AND_UNITS[:2]) and (method, world) != ("road", "bare"):
            options = ("--world", f"{world}.gpkg", "--method", method, *(PERSONS if unit == "persons" else ()))
            suffix = SUFFIXES[len(found) % len(SUFFIXES)]
            found.append((f"{method}-{world}-{unit}{suffix}", "people.csv", options))
    plain = ("--world", "bare.gpkg", "--method", "ugrid-uni")
    for unit, crs in UNITS.items():
        found.append((f"ugrid-uni-{unit}.csv", f"{unit}.csv", (*plain, "--columns", "x,y", "--crs", crs)))
    return [*found, ("ugrid-uni.gpkg", "people.csv", plain), ("ugrid-uni.shp", "people.csv", plain)]


def paths(folder: Path, options: tuple[str, ...]) -> list[object]:
    """Put the worlds where they are."""
    return [folder / option if option.endswith(".gpkg") else option for option in options]


def make_inputs(folder: Path) -> None:
    """Invent 300 people in a square with a river and two roads, in degrees and in other units."""
    from pyproj import Transformer

    rng = np.random.default_rng(7)
    xy = np.concatenate([rng.normal((10.004, 50.003), (0.001, 0.0008), (200, 2)), rng.uniform(*corners(), (100, 2))])
    rows = [f"{x:.7f},{y:.7f},p{number // 2}" for number, (x, y) in enumerate(xy)]
    (folder / "people.csv").write_text("\n".join(["lon,lat,who", *rows]) + "\n", encoding="utf-8")
    for unit, crs in UNITS.items():
        moved = np.column_stack(Transformer.from_crs("EPSG:4326", crs, always_xy=True).transform(*xy.T))
        np.savetxt(folder / f"{unit}.csv", moved, fmt="%.4f", delimiter=",", header="x,y", comments="")
    geojson(folder / "river.geojson", "Polygon", [RIVER])
    geojson(folder / "streets.geojson", "LineString", STREETS)
    box = "--bounds=" + ",".join(str(side) for side in BOUNDS)
    layers = ("--water", folder / "river.geojson", "--roads", folder / "streets.geojson")
    run("world", folder / "roads.gpkg", box, *layers, "--quiet")
    run("world", folder / "bare.gpkg", box, "--quiet")


def corners() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the south-west and the north-east corner."""
    return BOUNDS[:2], BOUNDS[2:]


def geojson(path: Path, kind: str, shapes: list[Any]) -> None:
    """Write shapes in degrees."""
    features = [{"type": "Feature", "properties": {}, "geometry": {"type": kind, "coordinates": s}} for s in shapes]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")


def run(*arguments: object) -> None:
    """Run one command, which must end well."""
    from pointveil.cli import main as pointveil

    try:
        pointveil([str(argument) for argument in arguments])
    except SystemExit as stop:
        if stop.code:
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))
