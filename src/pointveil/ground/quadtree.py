"""Cut squares over the cells of a raster, as in a quadtree, and number cells so that each square is one run."""

from itertools import accumulate
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells import Floats, Ints, Leaves, Raster, blocks
from pointveil.cells.arrays import ShortInts

Number = TypeVar("Number", np.int64, np.float64)

BLOCK = 2**18  # cells at a time, so that many need little memory
STRIP = 64  # columns at a time: the work stays in the processor's cache
UNITS = 1024
MOST_UNITS = 1e6


def leaves_from_levels(raster: Raster, level: NDArray[np.int8]) -> Leaves:
    """Return the leaves, given the level of each cell, which is one and the same within a leaf."""
    corner = _corners(level)
    code = corner.ravel().take(raster.column * np.int64(raster.shape[1]) + raster.row)
    # A leaf is one run of the Hilbert curve, along which the cells are ordered.
    first = np.append(True, code[1:] != code[:-1])[: len(code)]
    start = code[first].astype(np.int64)
    table = np.full(level.size, -1, dtype=np.int32)
    table[start] = np.arange(len(start))
    column, row = np.divmod(start, raster.shape[1])
    level_of = level[column, row].astype(np.int64)
    return Leaves(raster, table[corner], level_of, column, row, np.cumsum(first, dtype=np.int32) - 1)


def _corners(level: NDArray[np.int8]) -> ShortInts:
    """Return for each cell the south-west cell of its leaf: columns and rows with their low bits cleared."""
    columns, rows = (np.arange(size, dtype=np.int32) for size in level.shape)
    corner = np.empty(level.shape, dtype=np.int32)
    for part in blocks(len(columns), STRIP):
        np.left_shift(columns[part, None] >> level[part], level[part], out=corner[part])
        corner[part] *= np.int32(len(rows))
        corner[part] += (rows >> level[part]) << level[part]
    return corner


def split_levels(mass: Floats, target: float, *, slope: float, reference: float, top: int) -> NDArray[np.int8]:
    """Return the level of each cell: a square is cut in four while its mass exceeds twice the target.

    A leaf at the reference level should have the target, a smaller one more: as its side to the power of -slope.
    Sums are of whole units, so that the same masses give the same leaves on every machine.
    """
    scaled = np.minimum(mass / target, MOST_UNITS)
    scaled *= UNITS
    units = np.round(scaled, out=scaled).astype(np.int64)
    sums = list(accumulate(range(top), lambda below, _: pooled(below, 1), initial=units))
    level = np.full(sums[top].shape, top, dtype=np.int8)
    for size in range(top, 0, -1):
        level[(level == size) & (sums[size] > 2 * UNITS * 2.0 ** (slope * (reference - size)))] = size - 1
        level = np.repeat(np.repeat(level, 2, axis=0), 2, axis=1)
    return level


def pooled(values: NDArray[Number], level: int) -> NDArray[Number]:
    """Return the sums over squares of 2**level by 2**level cells."""
    for _ in range(level):
        values = values[::2] + values[1::2]
        values = values[:, ::2] + values[:, 1::2]
    return values


def hilbert_index(column: NDArray[np.integer], row: NDArray[np.integer], order: int) -> Ints:
    """Return the place of each cell along the Hilbert curve over 2**order by 2**order cells."""
    # Every square of a quadtree over the cells is one unbroken run of the curve.
    place = np.empty(len(column), dtype=np.int64)
    for part in blocks(len(column), BLOCK):
        place[part] = _index(column[part].astype(np.int64), row[part].astype(np.int64), order)
    return place


def _index(x: Ints, y: Ints, order: int) -> Ints:
    place = np.zeros_like(x)
    for step in (1 << k for k in reversed(range(order))):
        right, upper = (x & step) > 0, (y & step) > 0
        place += step * step * ((3 * right) ^ upper)
        flip = ~upper & right
        x, y = np.where(flip, ~x, x) & (step - 1), np.where(flip, ~y, y) & (step - 1)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
    return place
