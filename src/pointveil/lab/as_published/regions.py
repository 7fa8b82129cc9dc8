"""The paper's three ways to divide the world, with the true number of points. Not private."""

import math
from collections.abc import Mapping

import numpy as np
from scipy.spatial import cKDTree

from pointveil.cells import Everywhere, Floats, Grid, Ints, NestedGrid, Regions, Voronoi
from pointveil.ground import clip_to_land
from pointveil.partition import Counted
from pointveil.partition.clusters import distinct, move_centres
from pointveil.vault import Rehearsal
from pointveil.world import World

Shares = Mapping[str, float]
CLUSTERS, ROUNDS = 1000, 100
DARTS, HALVINGS = 20, 12


def uniform_grid(vault: Rehearsal, world: World, shares: Shares, rng: np.random.Generator) -> Counted:
    """Divide into equal cells, as many as the true number of points asks for."""
    side = math.ceil(math.sqrt(true_total(vault) * shares["count"] / 10))
    return count_noisily(Grid(world.bounds, max(side, 1), max(side, 1)), vault, world, shares["count"], rng)


def adaptive_grid(vault: Rehearsal, world: World, shares: Shares, rng: np.random.Generator) -> Counted:
    """Divide into coarse cells, then each by its noisy count; the two levels are not made to agree."""
    side = max(10, math.ceil(math.sqrt(true_total(vault) * shares["shape"] / 10)) // 4)
    coarse = Grid(world.bounds, side, side)
    busy = noisy_counts(vault.exact_count(coarse), shares["shape"], rng)
    sides = np.maximum(np.ceil(np.sqrt(busy * shares["count"] / 5)), 1).astype(np.int64)
    return count_noisily(NestedGrid(coarse, sides), vault, world, shares["count"], rng)


def clusters(vault: Rehearsal, world: World, shares: Shares, rng: np.random.Generator) -> Counted:
    """Divide into Voronoi regions around centres that k-means finds on a noisy grid (EUGKM)."""
    side = max(math.ceil(math.sqrt(true_total(vault) * shares["shape"] / 10)), 1)
    grid = Grid(world.bounds, side, side)
    weights = noisy_counts(vault.exact_count(grid), shares["shape"], rng)
    places = grid.lower_corners() + np.array(grid.cell_size) / 2
    start = pack_at_random(CLUSTERS, world, rng)
    centres = move_centres(start, places[weights > 0], weights[weights > 0], ROUNDS)
    return count_noisily(Voronoi(world.bounds, distinct(centres)), vault, world, shares["count"], rng)


def count_noisily(
    regions: Regions, vault: Rehearsal, world: World, epsilon: float, rng: np.random.Generator
) -> Counted:
    """Return noisy counts; none where there is no land, for which the paper's filter would wait for ever."""
    land = clip_to_land(regions, world)
    counts = noisy_counts(vault.exact_count(regions), epsilon, rng)
    return Counted(regions, np.where(land.area > 0, counts, 0.0), land)


def noisy_counts(tally: Ints, epsilon: float, rng: np.random.Generator) -> Floats:
    """Add Laplace noise in floating point, round, and set what is negative to zero."""
    return np.asarray(np.maximum(np.rint(tally + rng.laplace(0, 1 / epsilon, len(tally))), 0.0))


def true_total(vault: Rehearsal) -> int:
    """Return the true number of points."""
    return int(vault.exact_count(Everywhere())[0])


def pack_at_random(count: int, world: World, rng: np.random.Generator) -> Floats:
    """Return centres of equal discs thrown at random into the bounds, as wide as lets `count` of them lie apart."""
    west, south, east, north = world.bounds
    darts = rng.uniform((west, south), (east, north), (DARTS * count, 2))
    tree = cKDTree(darts)
    low, high = 0.0, 2 * math.sqrt((east - west) * (north - south) / count)
    best = darts[:count]
    for _ in range(HALVINGS):
        apart = (low + high) / 2
        kept = _keep_apart(darts, tree, apart, count)
        low, high, best = (apart, high, kept) if len(kept) == count else (low, apart, best)
    return best


def _keep_apart(darts: Floats, tree: cKDTree, apart: float, count: int) -> Floats:
    """Return the first darts, in turn, that are at least so far from all kept before them; at most `count`."""
    free = np.ones(len(darts), dtype=bool)
    kept: list[int] = []
    for number in range(len(darts)):
        if free[number] and len(kept) < count:
            kept.append(number)
            free[tree.query_ball_point(darts[number], apart)] = False
    return np.asarray(darts[kept])
