"""Blur maps by Gaussian filters, tile by tile, where something is to be told."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pointveil.cells import Floats, Ints

TILE, TILES = 32, 16  # squares along a tile, a power of two; and tiles at a time: the work stays in the cache


class Filtered(NamedTuple):
    """A map that is blurred by a filter, where it is asked for."""

    # A filter is a matrix with a band. To multiply by it takes more sums than to move it along, and half the time.
    band: Floats  # (TILE, TILE and what the filter reaches beyond)
    windows: Floats  # (columns of tiles, rows of tiles, columns, rows): each tile and what is around it

    @classmethod
    def by(cls, field: Floats, *filters: tuple[float, ...]) -> "list[Filtered]":
        """Return a map (columns, rows), blurred by each of some filters, given by their weights along one axis."""
        reach = max(map(len, filters)) // 2
        framed = np.pad(field, [(reach, reach + -size % TILE) for size in field.shape])
        found = []
        for weights in filters:
            band, edge = _band(weights, TILE), reach - len(weights) // 2
            windows = sliding_window_view(framed, (band.shape[1],) * 2)[edge::TILE, edge::TILE]
            found.append(cls(band, windows))
        return found


class Tiles(NamedTuple):
    """Some tiles, and the squares in them that are asked for."""

    here: slice  # of all squares that are asked for
    place: Ints  # of each square among all of these tiles
    column: NDArray[np.integer]  # of each tile among tiles
    row: NDArray[np.integer]

    def of(self, blurred: Filtered) -> Floats:
        """Return the values of the squares on a map that is blurred."""
        around = blurred.windows[self.column, self.row]
        return np.asarray((blurred.band @ around @ blurred.band.T).ravel().take(self.place))


def tiles_of(column: NDArray[np.integer], row: NDArray[np.integer]) -> Iterator[Tiles]:
    """Yield the tiles of squares, (n,) each, that are ordered along a Hilbert curve: each tile is one run of it."""
    tile = column // TILE * (1 + row.max(initial=0) // TILE) + row // TILE
    starts = np.append(np.flatnonzero(np.diff(tile, prepend=-1)), len(tile))
    for first, last in pairwise([*range(0, len(starts) - 1, TILES), len(starts) - 1]):
        runs = starts[first : last + 1]
        here = slice(runs[0], runs[-1])
        number = np.repeat(np.arange(last - first), np.diff(runs))
        place = (number * TILE + column[here] % TILE) * TILE + row[here] % TILE
        yield Tiles(here, place, column[runs[:-1]] // TILE, row[runs[:-1]] // TILE)


@lru_cache(maxsize=32)
def gaussian(width: float, truncate: float) -> tuple[float, ...]:
    """Return the weights of a Gaussian filter, which ends at so many standard deviations and adds up to one."""
    reach = int(truncate * width + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(width, 1e-9)) ** 2)
    return tuple((weights / weights.sum()).tolist())


@lru_cache(maxsize=32)
def _band(weights: tuple[float, ...], size: int) -> Floats:
    """Return the matrix (size, size and what is reached beyond) that filters along one axis."""
    band = np.zeros((size, size + len(weights) - 1))
    for number, line in enumerate(band):
        line[number : number + len(weights)] = weights
    return band
