"""What each part of veil is worth: leave it out, and measure again.

Run: POINTVEIL_DATA=FOLDER python scripts/veil_ablation.py [SEEDS], or without the folder on the built-in city. Prints a
Markdown table of the error in cells of 100 m (random grids), the difference in distance to roads, and the error of
counts within 1 km. Everything is a rehearsal: repeatable, and not private.
"""

import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from pointveil.demo import city, write_people
from pointveil.estimate import project_to_total
from pointveil.estimate.posterior import Estimates
from pointveil.estimate.totals import match_totals
from pointveil.evaluation import MEASURES, Comparison
from pointveil.methods import METHODS, Method
from pointveil.partition import veil
from pointveil.placement import Density
from pointveil.releases import synthesize
from pointveil.vault import NoisyCounts, Vault
from pointveil.world import World

BOUNDS = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}


def cities() -> Iterator[tuple[str, World, Path]]:
    """Yield each city's name, world and points."""
    folder = os.environ.get("POINTVEIL_DATA")
    if not folder:
        path = Path(tempfile.mkdtemp()) / "people.parquet"
        write_people(path, city())
        yield "helsinki", city(), path
        return
    for name, bounds in BOUNDS.items():
        water = Path(folder, name, "water.geojson")
        roads = Path(folder, name, "roads.parquet")
        world = World.make(bounds, roads=roads, out_of_bounds=water if water.exists() else None)
        yield name, world, Path(folder, name, "points.parquet")


def clipped(noisy: NoisyCounts, prior: Any, leaves: Any) -> Estimates:  # noqa: ARG001
    """Take counts as they are, negative ones as none."""
    counts = np.maximum(noisy.values, 0).astype(np.float64)
    return Estimates(counts, counts, np.full(len(counts), noisy.variance))


def projected(noisy: NoisyCounts, prior: Any, leaves: Any) -> Estimates:  # noqa: ARG001
    """Make counts non-negative with their total kept."""
    counts = project_to_total(noisy.values.astype(np.float64), float(noisy.values.sum()))
    return Estimates(counts, counts, np.full(len(counts), noisy.variance))


def without_districts(counts: Any, leaves: Any, level: int, *answers: Any) -> Any:
    """Match the totals of large squares only, which leaves and blocks tell."""
    return counts if len(answers) > 2 else match_totals(counts, leaves, level, *answers)


def distances_last(pieces: Any, squares: Any, held: Any, people: Any, variance: float) -> Any:  # noqa: ARG001
    """Give the histogram of distances the last word, and blocks none."""
    now = np.bincount(pieces.bin, pieces.area, minlength=len(people))
    return np.ones(len(squares)), people / np.maximum(now, 1e-9)


def equal_levels(mass: Any, target: float, **sizes: Any) -> Any:  # noqa: ARG001
    """Give every leaf the reference size."""
    return np.full(mass.shape, max(0, round(sizes["reference"])), dtype=np.int8)


@contextmanager
def replaced(**functions: Callable[..., Any]) -> Iterator[None]:
    """Put other functions in the place of veil's own."""
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(patch.object(veil, name, function))
        yield


FULL = METHODS["veil"]
WITHOUT: dict[str, tuple[Method, dict[str, Callable[..., Any]]]] = {
    "full method": (FULL, {}),
    "independent placement": (dataclasses.replace(FULL, placement=Density("independent")), {}),
    "no roads": (FULL, {}),
    "leaves all of one size": (FULL, {"split_levels": equal_levels}),
    "negative counts set to zero instead of denoised": (FULL, {"denoise": clipped}),
    "counts projected instead of denoised": (FULL, {"denoise": projected}),
    "no fusion with blocks": (FULL, {"fuse_blocks": lambda estimates, *_: estimates.median}),
    "no matching of totals": (FULL, {"match_totals": lambda counts, *_: counts}),
    "no districts": (FULL, {"match_totals": without_districts}),
    "distances have the last word": (FULL, {"settle": distances_last}),
    "no check of blocks and districts": (FULL, {"within_noise": lambda mass, *_: mass}),
    "no blur": (dataclasses.replace(FULL, partitioner=veil.Veil(blur=0.0)), {}),
    "rounding of coordinates not asked": (FULL, {"shared_rounding": lambda *_: None}),
}


def measure(name: str, world: World, points: Path, seeds: int) -> tuple[float, float, float]:
    """Return the mean errors of one variant."""
    method, functions = WITHOUT[name]
    seen = dataclasses.replace(world, roads=None) if name == "no roads" else world
    found = []
    for seed in range(1, seeds + 1):
        vault = Vault.rehearse(points, seen, epsilon=1, seed=seed)
        with replaced(**functions):
            synthetic = synthesize(vault, method, seed=seed)
        compared = Comparison(vault.exact_points(), world.projection.to_metres(synthetic.coordinates), world)
        found.append([MEASURES[measure](compared) for measure in ("nce_shifted_100", "medd", "range_1000")])
    nce, medd, reach = np.mean(found, axis=0)
    return float(nce), float(medd), float(reach)


def main(seeds: int) -> None:
    """Print one row for each variant."""
    places = list(cities())
    print("| variant | " + " | ".join(f"{name}: NCE / MEDD / 1 km" for name, _, _ in places) + " |")
    print("| --- |" + " --- |" * len(places))
    for name in WITHOUT:
        cells = [measure(name, world, points, seeds) for _, world, points in places]
        print(f"| {name} | " + " | ".join(f"{a:.3f} / {b:.2f} / {c:.0f}" for a, b, c in cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
