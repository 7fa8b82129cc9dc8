"""Find where the shore is, and make the table that says which places are land."""

from typing import Any

import numpy as np
import shapely

from pointveil.cells.arrays import Bools, Bounds
from pointveil.cells.land import LAND, MIXED, SEA, LandTest, PlainBox
from pointveil.world.shapes import straight_pieces

MOST_CELLS = 1 << 20  # a raster of a megabyte stays in the processor's cache
MARGIN = 1e-6  # of a cell: far more than any rounding


def land_test(land: Any, bounds: Bounds) -> PlainBox | LandTest:
    """Return what says which places are land, given the land and the bounds of the world, in metres."""
    if shapely.equals(land, shapely.box(*bounds)):
        return PlainBox(bounds)
    west, south, east, north = bounds
    # Cells about as wide as high.
    columns = int(np.clip(np.sqrt(MOST_CELLS * (east - west) / (north - south)), 1, MOST_CELLS))
    shape = columns, max(1, MOST_CELLS // columns)
    return LandTest(land, bounds, np.pad(_raster(land, bounds, shape), 1, constant_values=SEA))


def shore_cells(land: Any, bounds: Bounds, shape: tuple[int, int], *, margin: float = 0.0) -> Bools:
    """Return which cells, (columns, rows), the edge of the land may enter: all that it does, and a few near it."""
    # The edge is cut into pieces shorter than a cell, so that the four corners of a piece's box mark every cell it
    # meets. It may come as near as `margin`, a part of a cell, without marking it.
    origin = np.array(bounds[:2])
    cell = (np.array(bounds[2:]) - origin) / np.array(shape)
    rings = shapely.get_rings(shapely.get_parts(land))
    start, end, _ = straight_pieces(shapely.segmentize(rings, float(cell.min()) * (1 - 4 * margin)))
    last = np.array(shape) - 1
    low = np.clip(np.floor((np.minimum(start, end) - origin) / cell - margin).astype(np.int64), 0, last)
    high = np.clip(np.floor((np.maximum(start, end) - origin) / cell + margin).astype(np.int64), 0, last)
    marked = np.zeros(shape, dtype=bool)
    for x in (low[:, 0], high[:, 0]):
        for y in (low[:, 1], high[:, 1]):
            marked[x, y] = True
    return marked


def _raster(land: Any, bounds: Bounds, shape: tuple[int, int]) -> Any:
    """Return what each cell is, row by row: one place is tried in each run of cells between shores."""
    clear = ~shore_cells(land, bounds, shape, margin=MARGIN).T
    first = clear.copy()
    first[:, 1:] &= ~clear[:, :-1]
    row, column = np.nonzero(first)
    west, south, east, north = bounds
    x = west + (column + 0.5) * (east - west) / shape[0]
    y = south + (row + 0.5) * (north - south) / shape[1]
    shapely.prepare(land)
    answers = np.where(shapely.contains_xy(land, x, y), LAND, SEA).astype(np.uint8)
    cells = np.full(clear.shape, MIXED, dtype=np.uint8)
    cells[clear] = answers[(np.cumsum(first.ravel()) - 1)[clear.ravel()]]
    return cells
