"""How low the error in cells of 100 m could get: square leaves of the best size, if the density of people were known.

Run: POINTVEIL_DATA=FOLDER python experiments/bound.py [EPSILON]. The number of people in a leaf is then a Poisson
number around a known mean, of which a noisy count (77 % of epsilon) and that mean tell as much as they can (the
Wiener estimate); within a leaf people are spread evenly. For each cell of a random grid the size of leaves is taken
that is best there. No method that counts leaves once can know all this, so it is a bound for them, and not to be
reached.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from pointveil.cells.arrays import Floats
from pointveil.lab.experiments.plan import CITIES
from pointveil.world import World

CELL = 100.0  # metres
SIDES = np.geomspace(4, 400, 80)  # of leaves, in metres
SHARE = 0.765  # of epsilon that goes to leaves
GRIDS = 5


def variance(people: Floats, side: float, noise: float) -> Floats:
    """Return the squared error to expect in cells with so many people, wherever the leaves lie."""
    # Along one axis: the parts of leaves inside the cell, squared and summed, on average over all places of the leaves.
    squares = CELL / side - 1 / 3 if side <= CELL else (2 * CELL**3 / 3 + (side - CELL) * CELL**2) / side**3
    leaves, mean = (CELL / side) ** 2, people * (side / CELL) ** 2
    counted = squares**2 * mean * noise / (mean + noise)
    cut = (leaves - squares**2) * mean  # who is on which side of the cell's border is left to chance
    return np.asarray(counted + cut)


def bound(xy: Floats, epsilon: float) -> float:
    """Return the NCE for points (n, 2) in metres."""
    found = []
    for offset in np.random.default_rng(0).uniform(0, CELL, (GRIDS, 2)):
        _, people = np.unique(np.floor((xy + offset) / CELL), axis=0, return_counts=True)
        least = np.min([variance(people, side, 2 / (SHARE * epsilon) ** 2) for side in SIDES], axis=0)
        found.append(np.sqrt(2 / np.pi * least).sum() / len(xy))  # the mean size of a normal error
    return float(np.mean(found))


def main(epsilon: float) -> None:
    """Print one line for each city."""
    for name, city in CITIES.items():
        if city.folder is not None and city.bounds is not None:
            table = pq.read_table(Path(os.environ["POINTVEIL_DATA"], city.folder, city.points), columns=["lon", "lat"])
            metres = World.make(city.bounds).projection.to_metres(np.column_stack([table["lon"], table["lat"]]))
            print(f"{name}: {bound(metres, epsilon):.3f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
