"""Made-up cities on which margins are tried: nothing here is real, and each is made the same way each time.

`clumps` and the built-in city were looked at while margins were built; `few`, `wide`, `streets` and `addresses` only to
confirm them.
"""

from collections.abc import Sequence

import address_city
import numpy as np
import pyarrow as pa

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


CITIES = {"clumps": clumps, "few": few, "wide": wide, "streets": streets, "addresses": address_city.make}
