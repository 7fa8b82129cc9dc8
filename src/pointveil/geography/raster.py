"""The land as small cells, and in each how much lies how far from a road: public, and cached with the world."""

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import shapely
from numpy.typing import NDArray

from pointveil.geography.clipping import sort_rectangles
from pointveil.geography.hilbert import hilbert_index
from pointveil.geography.network import Network
from pointveil.geography.raster_cache import cache_file, read_cached, write_cached
from pointveil.geography.road_distance import FAR, NEAR, cell_distances, pixel_distances
from pointveil.geography.triangles import Triangulation
from pointveil.geography.world import World

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DISTANCES = np.array([0, 1.5, 3, 4.5, 6, 8, 10, 12.5, 15, 18, 22, 27, 33, 40, 50, 65, 80, 100])
"""Where the bins of distance to a road begin, in metres; the last is open."""
TILE = 64
PIXEL = 2.5
MOST_PIXELS = 4e7
MOST_SITES = 2e7
MASKED = 255
AREA_CELL = 25.0
SLIVER_SITES = 1000


@dataclass(frozen=True, eq=False)
class Raster:
    """The cells that have land, along a Hilbert curve, and their pixels by distance to the nearest road.

    Parameters
    ----------
    side
        The side of a cell, in metres; cells are counted from the world's south-west corner.
    shape
        How many columns and rows of cells there are.
    per_side
        How many pixels lie along the side of a cell.
    column, row
        Where each cell with land lies.
    patch
        The line of the cell in `pixels`, or -1 if the whole cell is land in the last bin.
    pixels
        The bin of each pixel, 255 where it is not land.
    index
        The number of the cell at each column and row, -1 if it has no land.
    entry_cell, entry_bin, entry_area
        The pairs of cell and bin that there are, and the pixels (or sites) of each.
    bins
        How many bins of distance there are: one without roads.
    sites, first_site
        If coordinates are known to be rounded: the only places there are, by entry, and where each entry begins.
    """

    side: float
    shape: tuple[int, int]
    per_side: int
    column: Ints
    row: Ints
    patch: Ints
    pixels: NDArray[np.uint8]
    index: NDArray[np.int32]
    entry_cell: Ints
    entry_bin: Ints
    entry_area: Floats
    bins: int
    sites: Floats | None = None
    first_site: Ints | None = None

    def cell_of(self, xy: Floats) -> tuple[Ints, Ints]:
        """Return column and row of the cell of each point; a point beyond the edge takes the cell at the edge."""
        with np.errstate(invalid="ignore"):
            column = np.clip(np.floor(xy[:, 0] / self.side), 0, self.shape[0] - 1)
            row = np.clip(np.floor(xy[:, 1] / self.side), 0, self.shape[1] - 1)
        return np.nan_to_num(column).astype(np.int64), np.nan_to_num(row).astype(np.int64)

    def bin_of(self, xy: Floats) -> Ints:
        """Return the bin of the pixel of each point, or -1 where that is not land."""
        column, row = self.cell_of(xy)
        cell = self.index[column, row].astype(np.int64)
        if not len(self.column):
            return cell
        patch = np.where(cell >= 0, self.patch[cell], -1)
        found = np.full(len(xy), self.bins - 1, dtype=np.int64)
        fine = np.flatnonzero(patch >= 0)
        scale = self.per_side / self.side
        across = self._pixel(xy[fine, 0] - column[fine] * self.side, scale)
        along = self._pixel(xy[fine, 1] - row[fine] * self.side, scale)
        found[fine] = self.pixels[patch[fine], across * self.per_side + along]
        return np.where((cell < 0) | (found == MASKED), -1, found)

    def _pixel(self, metres: Floats, scale: float) -> Ints:
        return np.clip(np.floor(metres * scale), 0, self.per_side - 1).astype(np.int64)

    def pick(self, entry: Ints, rng: np.random.Generator) -> Floats:
        """Return an even random place in each entry: one of its sites, or anywhere in one of its pixels."""
        number = np.floor(rng.random(len(entry)) * self.entry_area[entry]).astype(np.int64)
        if self.sites is not None and self.first_site is not None:
            return np.asarray(self.sites[self.first_site[entry] + number])
        cell = self.entry_cell[entry]
        patch = self.patch[cell]
        pixel = rng.integers(0, self.per_side**2, len(entry))
        fine = np.flatnonzero(patch >= 0)
        for part in np.array_split(fine, len(fine) * self.per_side**2 // 8_000_000 + 1):
            fits = self.pixels[patch[part]] == self.entry_bin[entry[part], None]
            pixel[part] = np.argmax(np.cumsum(fits, axis=1, dtype=np.int32) > number[part, None], axis=1)
        step = self.side / self.per_side
        place = rng.random((len(entry), 2))
        place += np.column_stack([pixel // self.per_side, pixel % self.per_side])
        place *= step
        place += np.column_stack([self.column[cell], self.row[cell]]) * self.side
        return place


@dataclass(frozen=True, eq=False)
class Distances:
    """Cells by distance to the nearest road, told by the pixel that holds a point.

    Parameters
    ----------
    raster
        Whose pixels they are.
    """

    raster: Raster

    def __len__(self) -> int:
        return self.raster.bins

    def locate(self, xy: Floats) -> Ints:
        """Return the one bin of each point, or -1."""
        return self.raster.bin_of(xy)


_RASTERS: WeakKeyDictionary[World, dict[tuple[float, int, int | None], Raster]] = WeakKeyDictionary()
_AREAS: WeakKeyDictionary[World, float] = WeakKeyDictionary()


def raster_of(world: World, side: float, multiple: int, *, rounded_to: int | None = None) -> Raster:
    """Return the raster with cells of this side, made once and kept as long as the world is.

    Parameters
    ----------
    world
        The public world.
    side
        Of a cell, in metres.
    multiple
        Columns and rows are filled up to a multiple of this.
    rounded_to
        The lattice steps that coordinates are known to be rounded to, or None.
    """
    known = _RASTERS.setdefault(world, {})
    if (side, multiple, None) not in known:
        known[side, multiple, None] = _kept(world, side, multiple)
    if (side, multiple, rounded_to) not in known:
        assert rounded_to is not None  # noqa: S101 - None was made above
        known[side, multiple, rounded_to] = _on_sites(known[side, multiple, None], world, rounded_to)
    return known[side, multiple, rounded_to]


def _kept(world: World, side: float, multiple: int) -> Raster:
    """Return the raster from the cache on disk, or make it and keep it there."""
    path = cache_file(world.digest, side, multiple)
    found = read_cached(path, Raster)
    if isinstance(found, Raster):
        return found
    made = _make(world, side, multiple)
    if made.sites is None:
        write_cached(path, made)
    return made


def peopled_area(world: World) -> float:
    """Return the area of land near roads in square metres, or of all land where there are no roads."""
    if world not in _AREAS:
        _AREAS[world] = _peopled_area(world)
    return _AREAS[world]


def _peopled_area(world: World) -> float:
    lines = _lines(world)
    width, height = _size(world)
    side = max(AREA_CELL, float(np.sqrt(width * height / 4e7)))
    shape = int(np.ceil(width / side)), int(np.ceil(height / side))
    near = cell_distances(lines, side, shape) <= NEAR
    if not near.any():
        return float(world.land_area)
    column, row = np.nonzero(near)
    middle = np.asarray((np.column_stack([column, row]) + 0.5) * side, dtype=np.float64)
    return max(float(world.on_land(middle).sum()), 1.0) * side * side


def _lines(world: World) -> NDArray[Any]:
    return np.zeros(0, dtype=object) if world.roads is None else np.asarray(Network.of(world).edges.lines)


def _size(world: World) -> tuple[float, float]:
    west, south, east, north = world.bounds
    return east - west, north - south


def _make(world: World, side: float, multiple: int) -> Raster:
    lines = _lines(world)
    width, height = _size(world)
    shape = (
        int(np.ceil(width / side / multiple)) * multiple,
        int(np.ceil(height / side / multiple)) * multiple,
    )
    bins = len(DISTANCES) if len(lines) else 1
    coarse = cell_distances(lines, side, shape)
    whole, partly = _land_cells(world, side, shape)
    fine = ((coarse <= NEAR + 1.5 * side) & (whole | partly)) | partly
    pixel = max(PIXEL, float(np.sqrt(fine.sum() * side * side / MOST_PIXELS)))
    per_side = max(1, int(np.ceil(side / pixel)))
    column, row, pixels = _fine_cells(world, lines, fine, coarse, side=side, per_side=per_side, bins=bins)
    plain_column, plain_row = np.nonzero(whole & ~fine)
    if not len(column) + len(plain_column):
        return _sliver(world, side, shape, per_side, bins)
    columns, rows = np.concatenate([column, plain_column]), np.concatenate([row, plain_row])
    order = np.argsort(hilbert_index(columns, rows, int(max(shape)).bit_length()), kind="stable")
    patch = np.where(order < len(column), order, -1)
    pixels = pixels[patch[patch >= 0]]
    patch[patch >= 0] = np.arange(len(pixels))
    index = np.full(shape, -1, dtype=np.int32)
    index[columns[order], rows[order]] = np.arange(len(order))
    area = np.zeros((len(order), bins))
    for number in range(bins):
        area[patch >= 0, number] = (pixels == number).sum(axis=1)
    area[patch < 0, -1] = per_side**2
    cell, bin_ = np.nonzero(area)
    return Raster(
        side, shape, per_side, columns[order], rows[order], patch, pixels, index, cell, bin_, area[cell, bin_], bins
    )


def _sliver(world: World, side: float, shape: tuple[int, int], per_side: int, bins: int) -> Raster:
    """Return the raster of a world whose land slips between all pixels: one cell, and a few sites on that land."""
    triangles = Triangulation.of([world.land])
    sites = triangles.pick(np.zeros(SLIVER_SITES, dtype=np.int64), np.random.default_rng(0))
    one = np.zeros(1, dtype=np.int64)
    index = np.zeros(shape, dtype=np.int32)
    area = np.array([float(SLIVER_SITES)])
    nothing = np.zeros((0, per_side**2), dtype=np.uint8)
    return Raster(side, shape, per_side, one, one, one - 1, nothing, index, one, one + bins - 1, area, bins, sites, one)


def _land_cells(world: World, side: float, shape: tuple[int, int]) -> tuple[Bools, Bools]:
    """Return which cells are wholly land, and which are partly."""
    width, height = _size(world)
    x, y = np.arange(shape[0]) * side, np.arange(shape[1]) * side
    inside = (x[:, None] < width) & (y[None] < height)
    within = (x[:, None] + side <= width) & (y[None] + side <= height)
    column, row = np.nonzero(inside)
    rectangles = np.column_stack([x[column], y[row], x[column] + side, y[row] + side])
    dry, decided = sort_rectangles(rectangles, world)
    whole, partly = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    whole[column, row] = dry
    partly[column, row] = ~decided
    partly |= whole & ~within
    return whole & ~partly, partly


def _fine_cells(
    world: World, lines: NDArray[Any], fine: Bools, coarse: Floats, *, side: float, per_side: int, bins: int
) -> tuple[Ints, Ints, NDArray[np.uint8]]:
    """Return column, row and pixels of the fine cells that have land, tile by tile."""
    tree = shapely.STRtree(lines) if len(lines) else None
    found: list[tuple[Ints, Ints, NDArray[np.uint8]]] = []
    for first_column in range(0, fine.shape[0], TILE):
        for first_row in range(0, fine.shape[1], TILE):
            tile = fine[first_column : first_column + TILE, first_row : first_row + TILE]
            if not tile.any():
                continue
            far = coarse[first_column : first_column + TILE, first_row : first_row + TILE]
            corner = (first_column * side, first_row * side)
            pixels = _tile_pixels(world, lines, tree, corner, far, side=side, per_side=per_side, bins=bins)
            column, row = np.nonzero(tile & (pixels != MASKED).any(axis=2))
            found.append((column + first_column, row + first_row, pixels[column, row]))
    if not found:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros((0, per_side**2), dtype=np.uint8)
    column, row, pixels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return column, row, pixels


def _tile_pixels(
    world: World,
    lines: NDArray[Any],
    tree: shapely.STRtree | None,
    corner: tuple[float, float],
    far: Floats,
    *,
    side: float,
    per_side: int,
    bins: int,
) -> NDArray[np.uint8]:
    """Return the bins of the pixels of each cell of a tile."""
    columns, rows = far.shape
    count, pixel = max(far.shape) * per_side, side / per_side
    distance = np.repeat(np.repeat(far, per_side, axis=0), per_side, axis=1)
    exact = None if tree is None else pixel_distances(lines, tree, corner, count, pixel)
    if exact is not None:
        exact = exact[: columns * per_side, : rows * per_side]
        distance = np.where(exact < NEAR, exact, np.maximum(np.minimum(distance, FAR), NEAR))
    bin_ = (np.minimum(np.searchsorted(DISTANCES, distance, side="right"), bins) - 1).astype(np.uint8)
    place = (np.arange(count) + 0.5) * pixel
    x, y = np.meshgrid(corner[0] + place[: columns * per_side], corner[1] + place[: rows * per_side], indexing="ij")
    dry = world.on_land(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    bin_[~dry] = MASKED
    cells = bin_.reshape(columns, per_side, rows, per_side).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(cells).reshape(columns, rows, per_side**2)


def _on_sites(raster: Raster, world: World, rounded_to: int) -> Raster:
    """Return the raster when only rounded coordinates occur: areas become numbers of such places."""
    projection = world.projection
    steps = projection.steps_per_unit / rounded_to
    west, south = projection.origin
    width, height = _size(world)
    per_x, per_y = projection.metres_per_unit
    x = _rounded(west, width / per_x, steps)
    y = _rounded(south, height / per_y, steps)
    if not 0 < len(x) * len(y) <= MOST_SITES:
        return raster
    across, along = np.meshgrid((x - west) * per_x, (y - south) * per_y, indexing="ij")
    sites = np.column_stack([across.ravel(), along.ravel()])
    sites = sites[world.on_land(sites)]
    if raster.sites is not None:
        return raster
    bin_ = raster.bin_of(sites)
    sites, bin_ = sites[bin_ >= 0], bin_[bin_ >= 0]
    if not len(sites):
        return raster
    key = raster.index[raster.cell_of(sites)].astype(np.int64) * raster.bins + bin_
    order = np.argsort(key, kind="stable")
    entry, first, number = np.unique(key[order], return_index=True, return_counts=True)
    live, cell = np.unique(entry // raster.bins, return_inverse=True)
    index = np.full(raster.shape, -1, dtype=np.int32)
    index[raster.column[live], raster.row[live]] = np.arange(len(live))
    return replace(
        raster,
        column=raster.column[live],
        row=raster.row[live],
        patch=raster.patch[live],
        index=index,
        entry_cell=cell,
        entry_bin=entry % raster.bins,
        entry_area=number.astype(np.float64),
        sites=sites[order],
        first_site=first,
    )


def _rounded(low: float, extent: float, steps: float) -> Floats:
    """Return the rounded coordinates from `low` on."""
    first, last = np.ceil(low * steps - 1e-9), np.floor((low + extent) * steps + 1e-9)
    return np.asarray(np.arange(first, last + 1) / steps)
