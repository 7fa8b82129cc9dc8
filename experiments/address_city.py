"""A made-up city whose records sit on few exact places: about 190,000 records on 5,000 addresses near streets.

Complaints, calls, stops and shops look like this. Nothing here is real: streets form four crooked grids with an avenue
every kilometre, a corner of the box has no streets at all, and a few addresses have many more records than most.
"""

import numpy as np
import pyarrow as pa
import shapely

from pointveil.world import World

WEST, SOUTH, DEGREE = 20.0, 50.0, 111_320.0  # the corner in degrees, and metres of a degree of latitude
SIDE = 10_000.0  # metres
PLACES, RECORDS = 5_000, 190_000
SPREAD = 1.5  # of the logarithm of how many records a place has
FARTHEST = 25.0  # metres from the street


def make(seed: int = 20) -> tuple[World, pa.Table]:
    """Return the world, and a table of records with `lon` and `lat`."""
    rng = np.random.default_rng(seed)
    lines = streets(rng)
    roads = np.array([_line(ends) for ends in lines])
    world = World.make((WEST, SOUTH, *_degrees(np.array([[SIDE, SIDE]]))[0]), roads=roads)
    xy = places(lines, rng)
    share = rng.lognormal(0.0, SPREAD, len(xy)) * np.exp(-np.hypot(*(xy - SIDE / 2).T) / 4_000)
    records = xy[rng.choice(len(xy), RECORDS, p=share / share.sum())]
    lon, lat = _degrees(records).T
    return world, pa.table({"lon": lon, "lat": lat})


def streets(rng: np.random.Generator) -> np.ndarray:
    """Return the ends of straight pieces of street, (pieces, 2, 2) metres."""
    pieces = []
    half = SIDE / 2
    for corner in ((0, 0), (half, 0), (0, half)):  # the fourth quarter is the country: avenues only
        step = rng.uniform(90, 160, 2)
        for axis in (0, 1):
            for offset in np.arange(step[axis], half, step[axis]):
                wiggle = rng.normal(0, 8, 2)
                line = np.array([[offset + wiggle[0], 0], [offset + wiggle[1], half]])
                pieces.append(np.clip(line[:, ::-1] if axis else line, 0, half) + corner)
    for at in np.arange(500, SIDE, 1_000):
        pieces += [np.array([[at, 0], [at, SIDE]]), np.array([[0, at], [SIDE, at]])]
    return np.array(pieces)


def places(lines: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the addresses, (places, 2) metres: anywhere along a street, a few metres beside it."""
    start, way = lines[:, 0], lines[:, 1] - lines[:, 0]
    length = np.hypot(*way.T)
    piece = rng.choice(len(lines), PLACES, p=length / length.sum())
    beside = np.column_stack([-way[:, 1], way[:, 0]]) / length[:, None]
    offset = rng.uniform(4, FARTHEST, PLACES) * rng.choice([-1, 1], PLACES)
    xy = start[piece] + rng.random(PLACES)[:, None] * way[piece] + offset[:, None] * beside[piece]
    return np.clip(xy, 1, SIDE - 1)


def _degrees(xy: np.ndarray) -> np.ndarray:
    return np.column_stack([WEST + xy[:, 0] / (DEGREE * np.cos(np.radians(SOUTH))), SOUTH + xy[:, 1] / DEGREE])


def _line(ends: np.ndarray) -> shapely.LineString:
    return shapely.LineString(_degrees(ends))
