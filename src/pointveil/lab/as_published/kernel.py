"""The paper's kernel: an exponential radius around a real point. Not private."""

import numpy as np
import shapely
from scipy.spatial.distance import pdist

from pointveil.cells import Floats, Ints, Regions
from pointveil.partition import Counted
from pointveil.vault import Rehearsal
from pointveil.world import World

MAX_USES = 2
TRIES = 10_000


def scatter(vault: Rehearsal, world: World, counted: Counted, epsilon: float, rng: np.random.Generator) -> Floats:
    """Return as many points as each region's count, sampled around its real points (equations 9 to 11).

    A real point is picked evenly for each; one that was picked `MAX_USES` times before, or a region that has none,
    gives an even point of the region. What falls outside the region or into water is drawn again.
    """
    real = vault.exact_points()
    slots = np.repeat(np.arange(len(counted.counts)), counted.counts.astype(np.int64))
    token = pick_tokens(slots, counted.regions.locate(real), len(counted.counts), rng)
    xy = np.empty((len(slots), 2))
    filler = token < 0
    xy[filler] = counted.land.pick(slots[filler], rng)
    kernel = np.flatnonzero(~filler)
    bandwidth = diameters(counted.regions) * (MAX_USES / epsilon)
    xy[kernel] = sample_around(
        real[token[kernel]], slots[kernel], bandwidth[slots[kernel]], epsilon / MAX_USES, counted.regions, world, rng
    )
    return np.asarray(rng.permutation(xy))


def pick_tokens(slots: Ints, region: Ints, regions: int, rng: np.random.Generator) -> Ints:
    """Return the number of the real point that each slot is drawn around; -1 for none."""
    order = np.argsort(region, kind="stable")
    first = np.searchsorted(region[order], np.arange(regions + 1))
    here = np.diff(first)[slots]
    picked = first[slots] + np.floor(rng.random(len(slots)) * here).astype(np.int64)
    token = np.where(here > 0, order[np.minimum(picked, len(order) - 1)] if len(order) else -1, -1)
    return np.where(times_before(token) < MAX_USES, token, -1)


def times_before(values: Ints) -> Ints:
    """Return how often each value has come before in the list."""
    order = np.argsort(values, kind="stable")
    ranked = np.empty(len(values), dtype=np.int64)
    ranked[order] = np.arange(len(values)) - np.searchsorted(values[order], values[order])
    return ranked


def sample_around(
    centre: Floats,
    region: Ints,
    bandwidth: Floats,
    spread: float,
    regions: Regions,
    world: World,
    rng: np.random.Generator,
) -> Floats:
    """Return a point around each centre, drawn again until it lies in its region and on land."""
    # `spread` is the region's diameter in bandwidths. A radius larger than the diameter never falls into the region, so
    # it is left out from the start: what comes out has the same law, several times sooner.
    xy = centre.copy()
    left = np.arange(len(centre))
    for _ in range(TRIES):
        if not len(left):
            break
        radius = -np.log1p(-rng.random(len(left)) * -np.expm1(-spread)) * bandwidth[left]
        angle = rng.uniform(0, 2 * np.pi, len(left))
        xy[left] = centre[left] + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        good = world.on_land(xy[left])
        good[good] = regions.locate(xy[left[good]]) == region[left[good]]
        left = left[~good]
    return xy


def diameters(regions: Regions) -> Floats:
    """Return the largest distance between any two places of each region."""
    rectangles = regions.rectangles()
    if rectangles is not None:
        return np.asarray(np.hypot(*(rectangles[:, 2:] - rectangles[:, :2]).T))
    outlines = regions.polygons(np.arange(len(regions)))
    return np.array([pdist(shapely.get_coordinates(outline)).max() for outline in outlines])
