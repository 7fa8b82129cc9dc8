"""How many points stand in the wrong cell (NCE)."""

import numpy as np
from numpy.typing import NDArray

from pointveil.evaluation.base import XY, Place, need_points

Counts = NDArray[np.int64]

_FARTHEST = 2**30  # cells; keeps row and column numbers within an integer


def cell_counts(
    real: XY, synthetic: XY, world: Place, *, cell: float, offset: tuple[float, float] = (0.0, 0.0)
) -> tuple[Counts, Counts]:
    """Count both sets of points in the same square cells.

    The grid starts at the south-west corner of the world's bounds and goes on for ever, so a point outside
    the bounds is counted too. A cell holds its west and south edges.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    cell
        Side of a cell, in metres.
    offset
        How far the grid is moved west and south, in metres.

    Returns
    -------
    tuple
        Real and synthetic counts of every cell that holds any point.
    """
    corner = np.array(world.bounds[:2]) - offset
    index = np.floor((np.concatenate([real, synthetic]) - corner) / cell)
    index = np.clip(index, -_FARTHEST, _FARTHEST).astype(np.int64)
    names, number = _cell_numbers(index)
    real_counts = np.bincount(number[: len(real)], minlength=names)
    synthetic_counts = np.bincount(number[len(real) :], minlength=names)
    held = (real_counts + synthetic_counts) > 0
    return real_counts[held], synthetic_counts[held]


def _cell_numbers(index: Counts) -> tuple[int, Counts]:
    """Number the cells of points given by column and row: directly, or by sorting if they lie far apart."""
    if not len(index):
        return 0, np.zeros(0, dtype=np.int64)
    index = index - index.min(axis=0)
    columns, rows = (int(size) for size in index.max(axis=0) + 1)
    number = index[:, 1] * columns + index[:, 0]
    if columns * rows > 10_000_000 + 10 * len(index):
        names, number = np.unique(number, return_inverse=True)
        return len(names), number.astype(np.int64)
    return columns * rows, number


def random_offsets(cell: float, count: int, seed: int) -> list[tuple[float, float]]:
    """Return `count` random places for a grid of cells of side `cell`."""
    drawn = np.random.default_rng(seed).uniform(0, cell, size=(count, 2))
    return [(float(x), float(y)) for x, y in drawn]


def normalized_cell_error(
    real: XY, synthetic: XY, world: Place, *, cell: float = 100.0, offset: tuple[float, float] = (0.0, 0.0)
) -> float:
    """Return the paper's NCE: the sum over cells of |real − synthetic|, divided by the real total.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are; the grid starts at the south-west corner of its bounds.
    cell
        Side of a cell, in metres.
    offset
        How far the grid is moved west and south, in metres.
    """
    need_points("NCE", real, "real")
    real_counts, synthetic_counts = cell_counts(real, synthetic, world, cell=cell, offset=offset)
    return float(np.abs(real_counts - synthetic_counts).sum() / len(real))


def shifted_cell_error(
    real: XY, synthetic: XY, world: Place, *, cell: float = 100.0, shifts: int = 10, seed: int = 0
) -> float:
    """Return the mean NCE over random places of the grid.

    A method whose own cells lie on the evaluation grid looks far better than it is; a shifted grid is fair.

    Parameters
    ----------
    real, synthetic
        The points, in metres.
    world
        Where they are.
    cell
        Side of a cell, in metres.
    shifts
        How many random places.
    seed
        Chooses the places.
    """
    errors = [
        normalized_cell_error(real, synthetic, world, cell=cell, offset=offset)
        for offset in random_offsets(cell, shifts, seed)
    ]
    return float(np.mean(errors))
