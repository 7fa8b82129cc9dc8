"""Make the raster of a world, tile by tile, so that a large one needs little memory; and measure its peopled land."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.cells.arrays import Bools, Floats, Ints, ShortInts, blocks
from pointveil.cells.raster import MASKED, Raster
from pointveil.ground.clipping import sort_rectangles
from pointveil.ground.quadtree import hilbert_index
from pointveil.ground.road_distance import NEAR, cell_distances, pixel_distances
from pointveil.ground.triangles import Triangulation
from pointveil.network.network import Network
from pointveil.world.world import World

Pixels = NDArray[np.uint8]

DISTANCES = np.array(
    [0, 1.5, 3, 4.5, 6, 8, 10, 12.5, 15, 18, 22, 27, 33, 40, 50, 65, 80, 100, 140, 200, 300, 500, 1000, 2000, 5000]
)
"""Where the bins of distance to a road begin, in metres; the last is open. Those beyond 100 m may be left out."""
TILE = 64
PIXEL = 2.5
MOST_PIXELS = 4e7
SLIVER_SITES = 1000
LEAST_LAND = 0.02  # the part of the land that a far bin must have
AREA_CELL, MOST_CELLS = 25.0, 4e7  # side in metres, and number, of the cells that measure the land near roads


class Sizes(NamedTuple):
    """The side of a cell in metres, the columns and rows of cells, the pixels along a side, and where bins begin."""

    side: float
    shape: tuple[int, int]
    per_side: int
    begins: Floats


class Cells(NamedTuple):
    """Where cells lie, and the patch of each: see `Raster`."""

    column: ShortInts
    row: ShortInts
    patch: ShortInts


def make_raster(world: World, side: float, multiple: int) -> Raster:
    """Return the raster with cells of this side; columns and rows are filled up to a multiple."""
    lines = road_lines(world)
    columns, rows = (int(np.ceil(metres / side / multiple)) * multiple for metres in world.size)
    away = cell_distances(lines, side, (columns, rows))
    whole, partly = land_cells(world, side, (columns, rows))
    fine = ((away <= NEAR + 1.5 * side) & whole) | partly
    pixel = max(PIXEL, float(np.sqrt(fine.sum() * side * side / MOST_PIXELS)))
    begins = distance_bins(away[whole | partly]) if len(lines) else np.zeros(1)
    sizes = Sizes(side, (columns, rows), max(1, int(np.ceil(side / pixel))), begins)
    near, pixels = _fine_cells(world, lines, fine, away, sizes)
    far = _plain_cells(whole & ~fine, away, begins)
    if not len(near.column) + len(far.column):
        return _sliver(world, sizes)
    return _assembled(sizes, Cells(*(np.concatenate(pair) for pair in zip(near, far, strict=True))), pixels)


def road_lines(world: World) -> NDArray[Any]:
    """Return the streets of the world's network, none if it has no roads."""
    return np.zeros(0, dtype=object) if world.roads is None else np.asarray(Network.of(world).edges.lines)


def measure_peopled(world: World) -> float:
    """Return the area of land near roads in square metres, or of all land where there are no roads."""
    lines = road_lines(world)
    width, height = world.size
    side = max(AREA_CELL, float(np.sqrt(width * height / MOST_CELLS)))
    shape = int(np.ceil(width / side)), int(np.ceil(height / side))
    near = cell_distances(lines, side, shape) <= NEAR
    if not near.any():
        return float(world.land_area)
    column, row = np.nonzero(near)
    middle = np.asarray((np.column_stack([column, row]) + 0.5) * side, dtype=np.float64)
    return max(float(world.on_land(middle).sum()), 1.0) * side * side


def distance_bins(away: Floats) -> Floats:
    """Return where the bins of distance begin, given that of every cell with land."""
    # Far bins are kept where enough land is so far: elsewhere they would add noise and tell nothing.
    far = DISTANCES[DISTANCES > NEAR]
    cells, _ = np.histogram(away, np.append(far, np.inf))
    kept: list[float] = []
    held = 0
    for begin, count in zip(far[::-1], cells[::-1], strict=True):
        held += count
        if held >= LEAST_LAND * len(away):
            kept.append(begin)
            held = 0
    return np.append(DISTANCES[DISTANCES <= NEAR], kept[::-1])


def bins_of(distance: Floats, begins: Floats) -> Pixels:
    """Return the bin of each distance."""
    return (np.searchsorted(begins, distance, side="right") - 1).astype(np.uint8)


def _assembled(sizes: Sizes, cells: Cells, pixels: Pixels) -> Raster:
    """Return the raster of these cells, put in order along the Hilbert curve."""
    order = np.argsort(hilbert_index(cells.column, cells.row, max(sizes.shape).bit_length()), kind="stable")
    column, row, patch = (part[order] for part in cells)
    fine = patch >= 0
    pixels = pixels[patch[fine]]
    patch[fine] = np.arange(len(pixels))
    index = np.full(sizes.shape, -1, dtype=np.int32)
    index[column, row] = np.arange(len(order))
    parts = zip(*_entries(patch, pixels, sizes), strict=True)
    cell, bin_, area = (np.concatenate(part) for part in parts)
    return Raster(
        sizes.side, sizes.shape, sizes.per_side, column, row, patch, pixels, index, cell, bin_, area, len(sizes.begins)
    )


def _entries(patch: ShortInts, pixels: Pixels, sizes: Sizes) -> Iterator[tuple[ShortInts, Pixels, NDArray[np.integer]]]:
    """Yield the pairs of cell and bin that there are, with the pixels of each, for some cells at a time."""
    short = np.min_scalar_type(sizes.per_side**2)  # no cell has more pixels: there are many entries
    for block in blocks(len(patch)):
        part = patch[block]
        fine, plain = np.flatnonzero(part >= 0), np.flatnonzero(part < 0)
        bins = len(sizes.begins)
        code = np.minimum(pixels[part[fine]], bins) + fine[:, None] * (bins + 1)  # what is no land has a bin of its own
        area = np.bincount(code.ravel(), minlength=len(part) * (bins + 1)).reshape(-1, bins + 1).astype(short)
        area[plain, -1 - part[plain]] = sizes.per_side**2
        cell, bin_ = np.nonzero(area[:, :bins])
        yield (block.start + cell).astype(np.int32), bin_.astype(np.uint8), area[cell, bin_]


def _sliver(world: World, sizes: Sizes) -> Raster:
    """Return the raster of a world whose land slips between all pixels: one cell, and a few sites on that land."""
    sites = Triangulation.of([world.land]).pick(np.zeros(SLIVER_SITES, dtype=np.int64), np.random.default_rng(0))
    zero = np.zeros(1, dtype=np.int32)
    nothing = np.zeros((0, sizes.per_side**2), dtype=np.uint8)
    one_cell = _assembled(sizes, Cells(zero, zero, zero - np.int32(len(sizes.begins))), nothing)
    everywhere, area = np.zeros(sizes.shape, dtype=np.int32), np.full(1, SLIVER_SITES, dtype=np.int32)
    return replace(one_cell, index=everywhere, entry_area=area, sites=sites, first_site=np.zeros(1, dtype=np.int64))


def land_cells(world: World, side: float, shape: tuple[int, int]) -> tuple[Bools, Bools]:
    """Return which cells are wholly land, and which may be partly: first by tiles, then cell by cell at the shore."""
    tiles = -(-shape[0] // TILE), -(-shape[1] // TILE)
    dry, shore = (
        _repeated(part, TILE, shape) for part in _sorted_squares(world, side * TILE, *np.indices(tiles).reshape(2, -1))
    )
    whole, partly = dry, np.zeros(shape, dtype=bool)
    for first in range(0, shape[0], TILE):
        strip = slice(first, first + TILE)
        column, row = np.nonzero(shore[strip])
        is_dry, is_shore = _sorted_squares(world, side, column + first, row)
        whole[strip][column, row] = is_dry
        partly[strip][column, row] = is_shore
    return whole, partly


def _sorted_squares(world: World, side: float, column: Ints, row: Ints) -> tuple[Bools, Bools]:
    """Return which squares are wholly land, and which the edge of the land or of the box may cross."""
    width, height = world.size
    west, south = column * side, row * side
    dry, decided = sort_rectangles(np.column_stack([west, south, west + side, south + side]), world)
    beyond = (west >= width) | (south >= height)
    crossing = ~beyond & ((west + side > width) | (south + side > height))
    return dry & ~beyond & ~crossing, ~beyond & (~decided | (crossing & dry))


def _repeated(tiles: Bools, times: int, shape: tuple[int, int]) -> Bools:
    """Return the value of its tile for every cell."""
    square = tiles.reshape(-(-shape[0] // times), -1)
    return np.repeat(np.repeat(square, times, axis=0), times, axis=1)[: shape[0], : shape[1]].copy()


def _plain_cells(plain: Bools, away: Floats, begins: Floats) -> Cells:
    """Return the cells that lie in one bin, as they are far from roads."""
    column, row = np.nonzero(plain)
    bin_ = bins_of(np.maximum(away[column, row], NEAR), begins)
    return Cells(column.astype(np.int32), row.astype(np.int32), -1 - bin_.astype(np.int32))


def _fine_cells(world: World, lines: NDArray[Any], fine: Bools, away: Floats, sizes: Sizes) -> tuple[Cells, Pixels]:
    """Return the fine cells that have land, and their pixels, tile by tile."""
    tree = shapely.STRtree(lines) if len(lines) else None
    nothing: ShortInts = np.zeros(0, dtype=np.int32)
    found: list[tuple[ShortInts, ShortInts, Pixels]] = [
        (nothing, nothing, np.zeros((0, sizes.per_side**2), dtype=np.uint8))
    ]
    for first_column in range(0, fine.shape[0], TILE):
        for first_row in range(0, fine.shape[1], TILE):
            tile = fine[first_column : first_column + TILE, first_row : first_row + TILE]
            if not tile.any():
                continue
            far = away[first_column : first_column + TILE, first_row : first_row + TILE]
            corner = (first_column * sizes.side, first_row * sizes.side)
            pixels = _tile_pixels(world, lines, tree, corner, far, sizes)
            columns, rows = np.nonzero(tile & (pixels != MASKED).any(axis=2))
            place = (columns + first_column).astype(np.int32), (rows + first_row).astype(np.int32)
            found.append((*place, pixels[columns, rows]))
    column, row = (np.concatenate([part[axis] for part in found]) for axis in (0, 1))
    pixels = np.concatenate([part[2] for part in found])
    return Cells(column, row, np.arange(len(column), dtype=np.int32)), pixels


def _tile_pixels(
    world: World,
    lines: NDArray[Any],
    tree: shapely.STRtree | None,
    corner: tuple[float, float],
    away: Floats,
    sizes: Sizes,
) -> Pixels:
    """Return the bins of the pixels of each cell of a tile."""
    (columns, rows), per_side = away.shape, sizes.per_side
    count, pixel = max(away.shape) * per_side, sizes.side / per_side
    distance = np.repeat(np.repeat(np.maximum(away, NEAR), per_side, axis=0), per_side, axis=1)
    exact = None if tree is None else pixel_distances(lines, tree, corner, count, pixel)
    if exact is not None:
        exact = exact[: columns * per_side, : rows * per_side]
        distance = np.where(exact < NEAR, exact, distance)
    bin_ = bins_of(distance, sizes.begins)
    place = (np.arange(count) + 0.5) * pixel
    x, y = np.meshgrid(corner[0] + place[: columns * per_side], corner[1] + place[: rows * per_side], indexing="ij")
    dry = world.on_land(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    bin_[~dry] = MASKED
    cells = bin_.reshape(columns, per_side, rows, per_side).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(cells).reshape(columns, rows, per_side**2)
