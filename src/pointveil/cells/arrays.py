"""The arrays that everything else is made of: their types, and how to go through them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bounds = tuple[float, float, float, float]  # west, south, east and north
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]

NOWHERE = -1  # the cell of a place that has none
BLOCK = 1 << 15  # rows at a time: the work stays in the processor's cache


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield slices of at most `size` that together cover `count` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Write out groups of these sizes: for each member, its group, and its number within the group."""
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)


def by_group(group: Ints) -> Ints:
    """Return members in the order of their groups, numbered from 0: far faster as short numbers, if groups are few."""
    return np.argsort(group.astype(np.min_scalar_type(group.max(initial=0))), kind="stable")


def rows(pairs: Floats, which: NDArray[Any] | slice) -> Floats:
    """Return some rows of (n, 2) pairs: each taken as one number, which is four times as fast."""
    taken = np.ascontiguousarray(pairs).view(np.complex128)[:, 0][which]
    return np.asarray(taken.view(np.float64).reshape(-1, 2), dtype=np.float64)


def stepped(pairs: Floats, directions: Floats, metres: Floats) -> Floats:
    """Return (n, 2) pairs, each moved so far in a direction of its own: as one number, which is three times as fast."""
    moved = np.ascontiguousarray(directions).view(np.complex128)[:, 0] * metres
    moved += np.ascontiguousarray(pairs).view(np.complex128)[:, 0]
    return np.asarray(moved.view(np.float64).reshape(-1, 2), dtype=np.float64)


def reached(borders: Floats, values: Floats) -> NDArray[np.int16]:
    """Return how many of a few borders each value has reached: far faster than to search for its place among them."""
    count = np.zeros(len(values), dtype=np.int16)
    for border in borders:
        count += values >= border
    return count


def scale(values: Floats, factors: Floats, which: NDArray[np.integer]) -> Floats:
    """Return values (n,), each multiplied by one of the factors: in place, and some at a time."""
    for block in blocks(len(values)):
        values[block] *= factors[which[block]]
    return values


def within(bounds: Bounds, x: Floats, y: Floats) -> Bools:
    """Return which places lie in a box: on its west and south edges, not on its east and north ones; NaN never."""
    west, south, east, north = bounds
    inside = x >= west
    for test in (x < east, y >= south, y < north):
        inside &= test
    return inside
