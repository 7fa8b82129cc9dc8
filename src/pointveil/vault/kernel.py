"""Blur points within a region: the box kernel, on the numbers of public sites."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Ints

Words = Callable[[int], NDArray[np.uint64]]
WEIGHT_STEPS = 2**20  # the weight of a site outside the window; inside it is at most exp(epsilon) times that
TAYLOR_TERMS = 80
MOST_EPSILON = Fraction(20)  # a larger one is not used up: beyond it a kernel tells all there is to tell
MOST_SITES = 2**12  # of one region: exp(20) · 2^20 · 2^12 is less than 2^61, so every sum of weights fits a word


def scatter_tokens(
    regions: Ints,
    sites: Ints,
    site_counts: Ints,
    wanted: Ints,
    *,
    epsilon_per_use: Fraction,
    max_uses: int,
    words: Words,
) -> tuple[Ints, Ints]:
    """Return regions and sites of blurred points, `wanted` in each region, shuffled.

    Neighbours: add or remove one point, which enters the pool `max_uses` times; each use costs `epsilon_per_use`
    (kernel.md, theorem 2). All regions and sites must exist: the vault has left out points that have none.
    """
    if len(site_counts) and site_counts.max() > MOST_SITES:
        raise ValueError(f"A region may have at most {MOST_SITES:,} sites, not {site_counts.max():,}.")
    wanted = np.where(site_counts > 0, np.maximum(wanted, 0), 0)
    pool_region, pool_site = _draw_pool(regions, sites, wanted, max_uses, words)
    missing = wanted - np.bincount(pool_region, minlength=len(wanted))
    filler_region = np.repeat(np.arange(len(wanted)), missing)
    region = np.concatenate([pool_region, filler_region])
    site = np.concatenate([pool_site, np.full(len(filler_region), -1)])
    order = random_order(len(region), words)
    region, site = region[order], site[order]
    return region, blur_sites(site, site_counts[region], epsilon_per_use, words)


def _draw_pool(regions: Ints, sites: Ints, wanted: Ints, max_uses: int, words: Words) -> tuple[Ints, Ints]:
    """Return up to `wanted` tokens of each region, chosen evenly from all its points' tokens."""
    token_region = np.tile(regions, max_uses)
    token_site = np.tile(sites, max_uses)
    mixed = random_order(len(token_region), words)
    order = mixed[np.argsort(token_region[mixed], kind="stable")]
    token_region, token_site = token_region[order], token_site[order]
    first = np.searchsorted(token_region, np.arange(len(wanted)))
    chosen = np.arange(len(token_region)) - first[token_region] < wanted[token_region]
    return token_region[chosen], token_site[chosen]


def blur_sites(site: Ints, count: Ints, epsilon: Fraction, words: Words) -> Ints:
    """Return a site drawn around each given one, of `count` sites numbered from 0; -1 stands for "anywhere".

    A window of fixed size holds the site. Each site in it has the weight `inside`, all others WEIGHT_STEPS, and
    inside / WEIGHT_STEPS is at most exp(epsilon) (kernel.md, theorem 1). A ticket below the sum of all weights
    is drawn: the first ones belong to the window, site after site, the rest to the sites before and after it.
    """
    inside = weight_inside(epsilon)
    real = site >= 0
    window = window_sizes(count, inside)
    start = np.clip(site - window // 2, 0, count - window)
    heavy = np.where(real, window * inside, 0)
    light = np.where(real, count - window, count) * WEIGHT_STEPS
    ticket = below((heavy + light).astype(np.uint64), words).astype(np.int64)
    within = start + ticket // inside
    beyond = (ticket - heavy) // WEIGHT_STEPS
    beyond += np.where(real & (beyond >= start), window, 0)
    return np.asarray(np.where(ticket < heavy, within, beyond), dtype=np.int64)


def weight_inside(epsilon: Fraction) -> int:
    """Return a whole number that is at most exp(epsilon) · WEIGHT_STEPS, and nearly that.

    The exponential's Taylor sum, cut off, lies below it; every term is an exact fraction.
    """
    epsilon = min(epsilon, MOST_EPSILON)
    total, term = Fraction(1), Fraction(1)
    for power in range(1, TAYLOR_TERMS):
        term = term * epsilon / power
        total += term
    return math.floor(total * WEIGHT_STEPS)


def window_sizes(count: Ints, inside: int) -> Ints:
    """Return how many sites the window has: the share 1 / (1 + sqrt(weight)) tells most about a point.

    It depends on the number of sites alone, never on the point, so floating point can do no harm here.
    """
    share = 1 / (1 + math.sqrt(inside / WEIGHT_STEPS))
    return np.asarray(np.clip(np.rint(count * share), 1, np.maximum(count, 1)), dtype=np.int64)


def below(limits: NDArray[np.uint64], words: Words) -> NDArray[np.uint64]:
    """Return, for each limit, an even whole number below it: exact, by throwing biased words away."""
    result = words(len(limits)).copy()  # words from the operating system cannot be written to
    with np.errstate(over="ignore"):
        unfair = (np.uint64(0) - limits) % limits
    pending = np.flatnonzero(result < unfair)
    while len(pending):
        result[pending] = words(len(pending))
        pending = pending[result[pending] < unfair[pending]]
    return result % limits


def random_order(count: int, words: Words) -> Ints:
    """Return an even random order of `count` things: sort by fresh words, again if two are equal."""
    while True:
        keys = words(count)
        order = np.argsort(keys)
        ordered = keys[order]
        if count < 2 or bool((ordered[1:] != ordered[:-1]).all()):
            return order
