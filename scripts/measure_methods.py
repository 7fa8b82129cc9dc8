"""Measure every method on the demo city, for the table of `pointveil methods`.

The people of the demo are invented, so the figures may be shown to anyone. Run it after adding a row to METHODS
or changing one; with names, only those rows are measured again:

    python scripts/measure_methods.py [name …]
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from pointveil.demo import city, people
from pointveil.evaluation import MEASURES, Comparison
from pointveil.methods import METHODS
from pointveil.releases import synthesize
from pointveil.vault import Vault

PAGE = Path(__file__).parent.parent / "src" / "pointveil" / "measured.json"
EPSILON, CELL, RUNS = 1, 100.0, 5


def measure(name: str) -> float:
    """Return the mean error of a method over several surveys of the same people."""
    world = city()
    xy = people(world)
    real = xy[world.on_land(xy)]
    lonlat = world.projection.from_metres(xy)
    table = pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1]})
    errors = []
    for seed in range(RUNS):
        points = synthesize(Vault.rehearse(table, world, epsilon=EPSILON, seed=seed), name, seed=seed)
        xy = world.projection.to_metres(points.coordinates)
        errors.append(MEASURES["nce_shifted_100"](Comparison(real, xy, world), cell=CELL))
    return float(np.mean(errors))


def main(names: list[str]) -> None:
    """Write the table."""
    known = json.loads(PAGE.read_text(encoding="utf-8"))["errors"] if PAGE.exists() else {}
    known |= {name: round(measure(name), 4) for name in names or METHODS}
    content = {
        "what": "NCE: differences in all cells of 100 m, over the number of points, on grids placed at random",
        "city": "the demo city with 50,000 invented people",
        "epsilon": str(EPSILON),
        "runs": RUNS,
        "errors": {name: known[name] for name in METHODS if name in known},
    }
    PAGE.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
