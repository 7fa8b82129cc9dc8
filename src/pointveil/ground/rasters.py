"""Rasters that were made once: in memory as long as their world, and on disk for the next time."""

from weakref import WeakKeyDictionary

from pointveil.cells.raster import Raster
from pointveil.ground.raster_cache import cache_file, read_cached, write_cached
from pointveil.ground.rasterizing import make_raster
from pointveil.ground.rounded_raster import on_sites
from pointveil.world.world import World

_RASTERS: WeakKeyDictionary[World, dict[tuple[float, int, int | None], Raster]] = WeakKeyDictionary()


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
