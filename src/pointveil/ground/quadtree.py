"""Cut squares over the cells of a raster, as in a quadtree, to fit what is expected there."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.arrays import Floats, Ints, ShortInts
from pointveil.cells.leaves import Leaves
from pointveil.cells.raster import Raster

Number = TypeVar("Number", np.int64, np.float64)

UNITS = 1024
MOST_UNITS = 1e6


def leaves_from_levels(raster: Raster, level: NDArray[np.int8]) -> Leaves:
    """Return the leaves, given the level of each cell, which is one and the same within a leaf."""
    corner = _corners(level)
    code = corner.ravel()[_flat(raster)]
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
    for value in np.unique(level):
        column, row = (columns >> value) << value, (rows >> value) << value
        np.add(column[:, None] * np.int32(len(rows)), row, out=corner, where=level == value)
    return corner


def _flat(raster: Raster) -> Ints:
    """Return the number of each cell with land among all, row after row."""
    return raster.column.astype(np.int64) * raster.shape[1] + raster.row


def split_levels(mass: Floats, target: float, *, slope: float, reference: float, top: int) -> NDArray[np.int8]:
    """Return the level of each cell: a square is cut in four while its mass exceeds twice the target.

    Sums are of whole units, so that the same masses give the same leaves on every machine.

    Parameters
    ----------
    mass
        What is expected in each cell.
    target
        What a leaf at the reference level should have.
    slope
        How much more a smaller leaf should have: as its side to the power of minus this.
    reference, top
        The reference level, and the level of the largest leaves.
    """
    scaled = np.minimum(mass / target, MOST_UNITS)
    scaled *= UNITS
    units = np.round(scaled, out=scaled).astype(np.int64)
    level = np.full(mass.shape, top, dtype=np.int8)
    for size in range(top, 0, -1):
        busy = pooled(units, size) > 2 * UNITS * 2.0 ** (slope * (reference - size))
        level[np.repeat(np.repeat(busy, 1 << size, axis=0), 1 << size, axis=1) & (level == size)] = size - 1
    return level


def pooled(values: NDArray[Number], level: int) -> NDArray[Number]:
    """Return the sums over squares of 2**level by 2**level cells."""
    side = 1 << level
    columns, rows = values.shape
    return np.asarray(values.reshape(columns // side, side, rows // side, side).sum(axis=(1, 3)))
