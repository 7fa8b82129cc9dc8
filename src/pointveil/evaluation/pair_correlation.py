"""Whether points huddle together as much (Ripley's K and the pair correlation)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from pointveil.evaluation.base import XY, Place, need_points

RADII = (12.5, 25.0, 50.0, 100.0, 200.0)


def ripley_k(xy: XY, world: Place, *, radii: Sequence[float] = RADII) -> NDArray[np.float64]:
    """Return Ripley's K: area × the share of all pairs of points that lie at most r apart, in m².

    No correction for the edge: both sets have the same edge, and K is used to compare them. The area is that
    of the world's bounds; it cancels in `pair_correlation_error`.

    Parameters
    ----------
    xy
        At least two points, in metres.
    world
        Where they are.
    radii
        The distances r, rising, in metres.
    """
    west, south, east, north = world.bounds
    tree = cKDTree(xy)
    pairs = np.asarray(tree.count_neighbors(tree, np.asarray(radii, dtype=np.float64))) - len(xy)
    share = np.asarray(pairs / (float(len(xy)) * (len(xy) - 1)), dtype=np.float64)
    return (east - west) * (north - south) * share


def pair_correlation(xy: XY, world: Place, *, radii: Sequence[float] = RADII) -> NDArray[np.float64]:
    """Return how many more pairs lie between one radius and the next than if points were spread evenly."""
    rings = np.pi * np.diff(np.square(radii), prepend=0.0)
    return np.diff(ripley_k(xy, world, radii=radii), prepend=0.0) / rings


def pair_correlation_error(real: XY, synthetic: XY, world: Place, *, radii: Sequence[float] = RADII) -> float:
    """Return the mean over rings of |real − synthetic| pair correlation, as a share of the larger one.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    radii
        The outer radii of the rings, rising, in metres.
    """
    need_points("the pair correlation", real, "real", at_least=2)
    need_points("the pair correlation", synthetic, "synthetic", at_least=2)
    one, other = (pair_correlation(xy, world, radii=radii) for xy in (real, synthetic))
    larger = np.maximum(one, other)
    shares = np.divide(np.abs(one - other), larger, out=np.zeros_like(larger), where=larger > 0)
    return float(shares.mean())
