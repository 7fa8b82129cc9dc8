"""Blur points within a region: the box kernel, on the numbers of public sites."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Words = Callable[[int], NDArray[np.uint64]]
Numbers = NDArray[np.int64]
WEIGHT_STEPS = 2**20
"""The weight inside the window is a whole number of these steps, rounded down."""


def scatter_tokens(
    regions: Numbers,
    sites: Numbers,
    site_counts: Numbers,
    wanted: Numbers,
    *,
    epsilon_per_use: Fraction,
    max_uses: int,
    words: Words,
) -> tuple[Numbers, Numbers]:
    """Return regions and sites of blurred points, `wanted` in each region, shuffled.

    Neighbours: add or remove one point. Each point enters the pool `max_uses` times, and each use costs
    `epsilon_per_use`; the proof is in kernel.md.
    """
    wanted = np.where(site_counts > 0, np.maximum(wanted, 0), 0)
    pool_region, pool_site = _draw_pool(regions, sites, wanted, max_uses, words)
    missing = wanted - np.bincount(pool_region, minlength=len(wanted))
    filler_region = np.repeat(np.arange(len(wanted)), missing)
    region = np.concatenate([pool_region, filler_region])
    site = np.concatenate([pool_site, np.full(len(filler_region), -1)])
    order = random_order(len(region), words)
    region, site = region[order], site[order]
    return region, blur_sites(site, site_counts[region], epsilon_per_use, words)


def _draw_pool(
    regions: Numbers, sites: Numbers, wanted: Numbers, max_uses: int, words: Words
) -> tuple[Numbers, Numbers]:
    """Return up to `wanted` tokens of each region, chosen evenly from all its points' tokens."""
    token_region = np.tile(regions, max_uses)
    token_site = np.tile(sites, max_uses)
    mixed = random_order(len(token_region), words)
    order = mixed[np.argsort(token_region[mixed], kind="stable")]
    token_region, token_site = token_region[order], token_site[order]
    first = np.searchsorted(token_region, np.arange(len(wanted)))
    chosen = np.arange(len(token_region)) - first[token_region] < wanted[token_region]
    return token_region[chosen], token_site[chosen]


def blur_sites(site: Numbers, count: Numbers, epsilon: Fraction, words: Words) -> Numbers:
    """Return a site near each given one, of `count` sites numbered from 0; -1 stands for "anywhere".

    Inside a window of fixed size around the site every site weighs `inside`, outside WEIGHT_STEPS, and
    inside / WEIGHT_STEPS is at most exp(epsilon).
    """
    inside = weight_inside(epsilon)
    window = window_sizes(count, inside)
    start = np.clip(site - window // 2, 0, count - window)
    somewhere = site >= 0
    heavy = np.where(somewhere, window * inside, 0)
    light = np.where(somewhere, count - window, count) * WEIGHT_STEPS
    ticket = below((heavy + light).astype(np.uint64), words).astype(np.int64)
    within = start + ticket // inside
    beyond = (ticket - heavy) // WEIGHT_STEPS
    beyond += np.where(somewhere & (beyond >= start), window, 0)
    return np.asarray(np.where(ticket < heavy, within, beyond), dtype=np.int64)


def weight_inside(epsilon: Fraction) -> int:
    """Return a whole number of steps that is at most exp(epsilon) · WEIGHT_STEPS, and nearly that.

    The exponential's Taylor sum, cut off, lies below it; every term is an exact fraction.
    """
    epsilon = min(epsilon, Fraction(20))
    total, term = Fraction(1), Fraction(1)
    for power in range(1, 80):
        term = term * epsilon / power
        total += term
    return max(WEIGHT_STEPS, math.floor(total * WEIGHT_STEPS))


def window_sizes(count: Numbers, inside: int) -> Numbers:
    """Return how many sites the window has: the share 1 / (1 + sqrt(weight)) tells most about a point."""
    share = 1 / (1 + math.sqrt(inside / WEIGHT_STEPS))
    return np.asarray(np.clip(np.rint(count * share), 1, np.maximum(count, 1)), dtype=np.int64)


def below(limits: NDArray[np.uint64], words: Words) -> NDArray[np.uint64]:
    """Return, for each limit, an even whole number below it: exact, by throwing biased words away."""
    result = words(len(limits))
    with np.errstate(over="ignore"):
        unfair = (np.uint64(0) - limits) % limits
    pending = np.flatnonzero(result < unfair)
    while len(pending):
        result[pending] = words(len(pending))
        pending = pending[result[pending] < unfair[pending]]
    return result % limits


def random_order(count: int, words: Words) -> Numbers:
    """Return an even random order of `count` things: sort by fresh words, again if two are equal."""
    while True:
        keys = words(count)
        order = np.argsort(keys)
        ordered = keys[order]
        if count < 2 or bool((ordered[1:] != ordered[:-1]).all()):
            return order
