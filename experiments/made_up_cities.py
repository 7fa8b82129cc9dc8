"""Made-up cities on which margins are tried: nothing here is real, and each is made the same way each time.

`clumps`, `few`, `wide`, `streets`, `addresses`, `lot-11` to `lot-28` and the built-in city were looked at while margins
were built; `lot-1` to `lot-9` only to confirm an earlier fit, and `lot-29` to `lot-37` only to confirm this one.
`lot-29`, `lot-30`, `lot-33` and `lot-38` to `lot-49` were then looked at while other ways to invent people were tried.
"""

from collections.abc import Sequence
from functools import partial

import address_city
import numpy as np
import pyarrow as pa
import shapely

from pointveil.world import World


def clumps() -> tuple[World, pa.Table]:
    """Return 80,000 people in clumps of all sizes, down to a few metres, without streets."""
    world = World.make((5.0, 52.0, 5.1, 52.06))
    rng = np.random.default_rng(7)
    spreads = ((900, 6, 1.5), (300, 6, 1.5), (90, 6, 1.5), (30, 5, 1.5), (5, 4, 1.5))
    return world, table(world, grown(rng, world, rng.uniform(0, world.size, (40, 2)), spreads)[:80_000])


def few() -> tuple[World, pa.Table]:
    """Return 6,000 people in clumps."""
    world = World.make((8.0, 47.0, 8.06, 47.04))
    rng = np.random.default_rng(11)
    spreads = ((600, 8, 1.5), (200, 8, 2), (60, 8, 2))
    return world, table(world, grown(rng, world, rng.uniform(0, world.size, (30, 2)), spreads)[:6_000])


def wide() -> tuple[World, pa.Table]:
    """Return 60,000 people in three towns, in a box of 40 km that is empty otherwise."""
    world = World.make((10.0, 45.0, 10.5, 45.36))
    rng = np.random.default_rng(13)
    towns = np.repeat(np.array(world.size) * [[0.2, 0.3], [0.7, 0.6], [0.5, 0.15]], (30, 20, 10), axis=0)
    towns = towns + rng.normal(0, 1500, towns.shape)
    return world, table(world, grown(rng, world, towns, ((500, 8, 1.5), (150, 8, 1.5), (40, 20, 2)))[:60_000])


def streets() -> tuple[World, pa.Table]:
    """Return people along crooked streets of unequal business, fewer towards the rim."""
    rng = np.random.default_rng(17)
    lines = address_city.streets(rng)
    world, _ = address_city.make(17)
    start, way = lines[:, 0], lines[:, 1] - lines[:, 0]
    busy = np.hypot(*way.T) * rng.lognormal(0, 1, len(lines))
    piece = rng.choice(len(lines), 120_000, p=busy / busy.sum())
    xy = start[piece] + rng.random(len(piece))[:, None] * way[piece] + rng.normal(0, 6, (len(piece), 2))
    return world, table(world, xy[rng.random(len(xy)) < np.exp(-np.hypot(*(xy - 5000).T) / 2500)])


def by_lot(number: int) -> tuple[World, pa.Table]:
    """Return a city of which everything is drawn by lot: size, people, and whether there are streets, clumps or both.

    It is 3.5 to 14 km wide and has 4,000 to 150,000 people.
    """
    rng = np.random.default_rng([77, 100 + number])
    south, side, west = rng.uniform(30, 58), rng.uniform(3500, 14000), rng.uniform(-5, 30)
    count = int(np.exp(rng.uniform(np.log(4000), np.log(150_000))))
    scale = np.array([address_city.DEGREE * np.cos(np.radians(south)), address_city.DEGREE])
    has_clumps, has_streets = (100 + number) % 3 != 1, (100 + number) % 3 != 0
    lines = crossing(rng, side) if has_streets else None
    bounds = (west, south, west + side / scale[0], south + side / scale[1])
    roads = None if lines is None else np.array([shapely.LineString((west, south) + ends / scale) for ends in lines])
    world = World.make(bounds, roads=roads)
    parts = []
    if has_clumps:
        spreads = [(rng.uniform(0.4, 0.8) * side / 8 / 3**step, 5, rng.uniform(1.1, 2.5)) for step in range(4)]
        first = rng.uniform(0, np.array(world.size), (int(rng.integers(10, 50)), 2))
        xy = grown(rng, world, first, [*spreads, (rng.uniform(5, 20), 8, 1.5)])
        while len(xy) < count:
            xy = np.concatenate([xy, xy + rng.normal(0, 10, xy.shape)])
        parts.append(rng.permutation(xy[world.on_land(xy)])[:count])
    if lines is not None:
        start, way = lines[:, 0], lines[:, 1] - lines[:, 0]
        busy = np.hypot(*way.T) * rng.lognormal(0, rng.uniform(0.5, 1.3), len(lines))
        away = np.hypot(*(lines.mean(axis=1) - side * rng.uniform(0.3, 0.7, 2)).T)
        busy *= np.exp(-away / (side * rng.uniform(0.15, 0.5)))
        piece = rng.choice(len(lines), count, p=busy / busy.sum())
        along = start[piece] + rng.random(count)[:, None] * way[piece]
        parts.append(along + rng.normal(0, rng.uniform(3, 10), (count, 2)))
    xy = rng.permutation(np.concatenate(parts))
    return world, table(world, xy[world.on_land(xy)][:count])


def crossing(rng: np.random.Generator, side: float) -> np.ndarray:
    """Return the ends of pieces of street in two directions, (pieces, 2, 2) metres; a quarter is missing."""
    step, angle = rng.uniform(70, 180), rng.uniform(0, np.pi / 4)
    box, pieces = shapely.box(1, 1, side - 1, side - 1), []
    for turned in (angle, angle + np.pi / 2):
        ahead = np.array([np.cos(turned), np.sin(turned)])
        across = np.array([-ahead[1], ahead[0]])
        for offset in np.arange(-side, side, step * rng.uniform(0.7, 1.3)):
            for piece in range(-4, 4):
                if rng.random() < 0.75:
                    ends = offset, offset + rng.normal(0, 15)
                    line = [across * end + ahead * side * (piece + n) / 4 + side / 2 for n, end in enumerate(ends)]
                    pieces.append(shapely.intersection(shapely.LineString(line), box))
    return np.array([np.array(piece.coords)[[0, -1]] for piece in pieces if piece.length > 20])


def grown(
    rng: np.random.Generator, world: World, xy: np.ndarray, spreads: Sequence[tuple[float, int, float]]
) -> np.ndarray:
    """Return places on land, (n, 2) metres, in random order: children around parents, again and again.

    `spreads` are metres, children for each parent on average, and how equally they are shared.
    """
    for spread, children, equally in spreads:
        weight = rng.pareto(equally, len(xy)) + 0.2
        xy = xy[rng.choice(len(xy), len(xy) * children, p=weight / weight.sum())]
        xy = xy + rng.normal(0, spread, xy.shape)
    return rng.permutation(xy[world.on_land(xy)])


def table(world: World, xy: np.ndarray) -> pa.Table:
    """Return metres as longitude and latitude."""
    lon, lat = world.projection.from_metres(xy).T
    return pa.table({"lon": lon, "lat": lat})


CITIES = {
    "clumps": clumps, "few": few, "wide": wide, "streets": streets, "addresses": address_city.make,
    **{f"lot-{number}": partial(by_lot, number) for number in range(1, 50)},
}  # fmt: skip
