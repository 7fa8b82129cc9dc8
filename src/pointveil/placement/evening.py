"""Move points a little along their curve until squares of about 100 m have as many as are expected."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pointveil.cells import Floats, Ints, Raster

TILE = 9  # a tile has 2**9 cells a side and is looked at by itself: a bound on memory
FINEST = 12.0  # metres: smaller cells are taken four together
SQUARE = 100.0  # metres
SWEEPS = 10
SOME = 0.35  # the part of the points that may move in a sweep: if all moved at once, all would go to the same places
REACH = 1.0  # how far along the curve a point may go from its own place, in parts of one point
MANY = 64  # points in a square, on average in a tile, from which on they stay: a point more or less no longer shows
CLEARLY = 1e-6  # what a move must gain, so that it does not hang on a machine's last bits


def even_out(raster: Raster, mass: Floats, running: Floats, at: Floats, rng: np.random.Generator) -> None:
    """Move points along the running sum of `mass`, in place, so that counts fit what is expected.

    `at` is where they are, (n,), in order. What falls is the sum, over all squares wherever they are laid, of the
    squared gap between the points in a square and those expected.
    """
    part = float(running[-1]) / len(at)
    for cells in _tiles(raster):
        # As the entries' own type, or all of them would be converted.
        first, last = np.searchsorted(raster.entry_cell, np.array([cells.start, cells.stop], raster.entry_cell.dtype))
        ends = running[first:last]
        points = slice(*np.searchsorted(at, [ends[0] - mass[first], ends[-1]]))
        here = points.stop - points.start
        if 1 < here <= MANY * (cells.stop - cells.start) * (raster.side / SQUARE) ** 2:
            step, shape, across = _steps(raster, cells)
            of_entry = step[raster.entry_cell[first:last] - cells.start]
            expected = np.bincount(of_entry, mass[first:last] / part, shape[0] * shape[1]).astype(np.float64)
            # Neighbours along the curve mostly lie in one step: where that ends is all that a point needs to know.
            final = np.flatnonzero(np.append(of_entry[1:] != of_entry[:-1], True))
            known = part, ends[final], of_entry[final], expected.reshape(shape), across
            at[points] = _moved(at[points], *known, rng)


def _tiles(raster: Raster) -> Iterator[slice]:
    """Yield the cells of each tile: one run of the Hilbert curve."""
    column, row = raster.column, raster.row
    steps = column[1:] ^ column[:-1]  # the highest bit that changes from a cell to the next
    steps |= row[1:] ^ row[:-1]
    for start, stop in pairwise((0, *(np.flatnonzero(steps >> TILE) + 1).tolist(), len(column))):
        yield slice(start, stop)


def _steps(raster: Raster, cells: slice) -> tuple[Ints, tuple[int, int], int]:
    """Return the step of the map of each cell of a tile, columns and rows of steps, and the steps along a square."""
    fold = 1 if raster.side >= FINEST else 2
    column, row = ((axis[cells].astype(np.int64) & ((1 << TILE) - 1)) // fold for axis in (raster.column, raster.row))
    shape = int(column.max()) + 1, int(row.max()) + 1
    return column * shape[1] + row, shape, max(2, round(SQUARE / (fold * raster.side)))


def _moved(
    at: Floats,
    part: float,
    ends: Floats,
    of_run: Ints,
    expected: Floats,
    across: int,
    rng: np.random.Generator,
) -> Floats:
    """Return the places of the points of a tile after some sweeps.

    `ends` is where runs of entries of one step end on the running sum, `of_run` the step of each run, and `expected`
    the points in each step.
    """
    from scipy.ndimage import correlate1d  # late: few methods need it, and it is slow to load

    own, at, rows = at, at.copy(), expected.shape[1]
    last = len(ends) - 1
    step = of_run[np.minimum(np.searchsorted(ends, at, side="right"), last)]
    surplus = np.bincount(step, minlength=expected.size) - expected.ravel()
    tent = across - np.abs(np.arange(1 - across, across)).astype(np.float64)  # how many squares two steps share
    for _ in range(SWEEPS):
        lines = correlate1d(surplus.reshape(expected.shape), tent, axis=0, mode="constant")
        field = correlate1d(lines, tent, axis=1, mode="constant").ravel()
        crowded = np.flatnonzero((field > 0).take(step))
        some = crowded[rng.random(len(crowded)) < SOME]
        to = own.take(some) + (2 * rng.random(len(some)) - 1) * REACH * part
        here, there = step.take(some), of_run.take(np.minimum(np.searchsorted(ends, to, side="right"), last))
        lower = np.flatnonzero(field.take(there) < field.take(here))  # no other move can gain anything: see below
        some, to, here, there = some[lower], to[lower], here[lower], there[lower]
        apart = here // rows - there // rows, here % rows - there % rows
        shared = np.prod([np.maximum(across - np.abs(steps), 0) for steps in apart], axis=0)
        # The sum of squares changes by twice this: the point leaves all squares it was in, and enters others.
        change = field[there] - field[here] + across**2 - shared
        better = (change < -CLEARLY) & (to >= at[0] - part) & (to < ends[-1])
        np.subtract.at(surplus, here[better], 1.0)
        np.add.at(surplus, there[better], 1.0)
        at[some[better]], step[some[better]] = to[better], there[better]
    return at
