"""Rasters that were made once: in memory as long as their world, and on disk for the next time."""

import dataclasses
import os
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pointveil.cells.raster import Raster
from pointveil.errors import InputError
from pointveil.files.whole import write_whole
from pointveil.ground.rasterizing import make_raster
from pointveil.ground.rounded_raster import on_sites
from pointveil.world.world import World

VERSION = 2
KEPT = [field.name for field in dataclasses.fields(Raster) if field.default is dataclasses.MISSING]
"""What is kept on disk: a raster with sites of its own is not."""

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


def cache_folder() -> Path:
    """Return where public things may be kept for the next time."""
    if "POINTVEIL_CACHE" in os.environ:
        return Path(os.environ["POINTVEIL_CACHE"])
    home = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / home) / "pointveil"


def _read_or_make(world: World, side: float, multiple: int) -> Raster:
    path = cache_folder() / f"raster-{VERSION}-{world.digest}-{side.hex()}-{multiple}.npz"
    found = _read(path)
    if found is not None:
        return found
    made = make_raster(world, side, multiple)
    if made.sites is None:
        _write(path, made)
    return made


def _read(path: Path) -> Raster | None:
    """Return the raster that was kept, or None if there is none that can be read."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            return Raster(**{name: _plain(name, kept[name]) for name in KEPT})
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return None


def _write(path: Path, raster: Raster) -> None:
    """Keep a raster; where that is not possible, nothing is lost."""
    with suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda part: np.savez(part, **{name: getattr(raster, name) for name in KEPT}))


def _plain(name: str, value: Any) -> Any:
    if name == "shape":
        return tuple(int(part) for part in value)
    return value.item() if value.ndim == 0 else value
