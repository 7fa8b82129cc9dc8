"""Small invented towns, measured in metres from their south-west corner."""

from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.world import World

CORNER = (500_000.0, 5_000_000.0)  # somewhere in UTM zone 33, where a unit is a metre


def town(side: float = 1000.0, *, roads: list[Any] | None = None, water: Any = None) -> World:
    """A square town; roads and water are given in metres from its corner."""
    x, y = CORNER
    return World.make(
        (x, y, x + side, y + side),
        crs="EPSG:32633",
        roads=None if roads is None else np.array([_moved(line) for line in roads]),
        out_of_bounds=None if water is None else _moved(water),
    )


def crossroads(side: float = 1000.0, *, streets: int = 12) -> World:
    """A town with a lattice of streets, split at every crossing."""
    at = np.linspace(0.05, 0.95, streets) * side
    lines = [
        line
        for one, other in pairwise(at)
        for across in at
        for line in (
            shapely.LineString([(one, across), (other, across)]),
            shapely.LineString([(across, one), (across, other)]),
        )
    ]
    return town(side, roads=lines)


def people(count: int, side: float = 1000.0, *, seed: int = 0) -> NDArray[np.float64]:
    """Points in three crowds and a few anywhere."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.3, 0.3], [0.7, 0.4], [0.5, 0.8]]) * side
    crowd = centres[rng.integers(3, size=count)] + rng.normal(0, 0.06 * side, size=(count, 2))
    anywhere = rng.uniform(0, side, size=(count, 2))
    chosen = np.where(rng.random((count, 1)) < 0.8, crowd, anywhere)
    return np.asarray(np.clip(chosen, 0, side - 0.01), dtype=np.float64)


def _moved(shape: Any) -> Any:
    return shapely.transform(shape, lambda xy: xy + np.array(CORNER))
