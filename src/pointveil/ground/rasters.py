"""Rasters that were made once, also on rounded places: in memory as long as their world, and on disk."""

import dataclasses
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np

from pointveil.cells import Raster
from pointveil.ground.raster_cache import area_file, cache_file, read_cached, read_values, write_cached, write_values
from pointveil.ground.rasterizing import make_raster, measure_peopled
from pointveil.ground.rounding import Rounding, rounded_places
from pointveil.world.world import World

_RASTERS: WeakKeyDictionary[World, dict[tuple[float, int, Rounding | None], Raster]] = WeakKeyDictionary()


def raster_of(world: World, side: float, multiple: int, *, rounded_to: Rounding | None = None) -> Raster:
    """Return the raster with cells of this side in metres, made once and kept as long as the world is.

    Columns and rows are filled up to a multiple; coordinates may be known to be rounded.
    """
    known = _RASTERS.setdefault(world, {})
    if (side, multiple, None) not in known:
        known[side, multiple, None] = _read_or_make(world, side, multiple)
    if (side, multiple, rounded_to) not in known:
        assert rounded_to is not None  # noqa: S101 - None was made above
        known[side, multiple, rounded_to] = on_sites(known[side, multiple, None], world, rounded_to)
    return known[side, multiple, rounded_to]


def _read_or_make(world: World, side: float, multiple: int) -> Raster:
    """Return the raster from the cache on disk, or make it and keep it there."""
    path = cache_file(world.digest, side, multiple)
    found = read_cached(path)
    if found is not None:
        return found
    made = make_raster(world, side, multiple)
    if made.sites is None:
        write_cached(path, made)
    return made


@lru_cache(maxsize=8)
def peopled_area(world: World) -> float:
    """Return the area of land near roads in square metres, measured once, or of all land where there are no roads."""
    path = area_file(world.digest)
    found = read_values(path)
    if found is None:
        found = {"area": measure_peopled(world)}
        write_values(path, found)
    return float(found["area"])


def on_sites(raster: Raster, world: World, rounded_to: Rounding) -> Raster:
    """Return the raster when only rounded coordinates occur: areas become numbers of such places."""
    if raster.sites is not None:
        return raster
    sites = rounded_places(world, rounded_to)
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
    return dataclasses.replace(
        raster,
        column=raster.column[live],
        row=raster.row[live],
        patch=raster.patch[live],
        index=index,
        entry_cell=cell.astype(np.int32),
        entry_bin=(entry % raster.bins).astype(np.uint8),
        entry_area=number.astype(np.int32),
        sites=sites[order],
        first_site=first,
    )
