"""Keep rasters on disk: they are public, and take longer to make than to read."""

import contextlib
import dataclasses
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pointveil.cells.raster import Raster
from pointveil.errors import InputError
from pointveil.files.whole import write_whole

VERSION = 3
USUAL_GIGABYTES = 4.0
DIGEST_BYTES = 32
# A raster with sites of its own is not kept on disk.
KEPT = [field.name for field in dataclasses.fields(Raster) if field.default is dataclasses.MISSING]


def cache_folder() -> Path:
    """Return where public things may be kept for the next time."""
    if "POINTVEIL_CACHE" in os.environ:
        return Path(os.environ["POINTVEIL_CACHE"])
    home = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / home) / "pointveil"


def cache_limit() -> float:
    """Return how many bytes of rasters may be kept on disk: POINTVEIL_CACHE_GB, or what is usual."""
    try:
        gigabytes = float(os.environ["POINTVEIL_CACHE_GB"])
    except (KeyError, ValueError):  # no reason to stop a release
        gigabytes = USUAL_GIGABYTES
    return 1e9 * (gigabytes if gigabytes >= 0 else USUAL_GIGABYTES)


def cache_file(digest: str, side: float, multiple: int) -> Path:
    """Return the file for the raster of this world with cells of this side."""
    return cache_folder() / f"raster-{VERSION}-{digest}-{side.hex()}-{multiple}.npz"


def area_file(digest: str) -> Path:
    """Return the file for the peopled area of this world."""
    return cache_folder() / f"raster-{VERSION}-{digest}-area.npz"


def read_cached(path: Path) -> Raster | None:
    """Return the raster that was kept, or None if there is none that is whole, and of this very name."""
    found = read_values(path)
    return None if found is None else Raster(**found)


def write_cached(path: Path, raster: Raster) -> None:
    """Keep a raster within the limit; where that is not possible, nothing is lost and nothing is left."""
    write_values(path, {name: getattr(raster, name) for name in KEPT})


def read_values(path: Path) -> dict[str, Any] | None:
    """Return the values that were kept, or None if there are none that are whole, and of this very name."""
    try:
        with path.open("rb") as file:
            if file.read(DIGEST_BYTES) != _digest(path.name, file):
                return None
            file.seek(DIGEST_BYTES)
            with np.load(file, allow_pickle=False) as kept:
                found = {name: _plain(name, kept[name]) for name in kept.files}
        os.utime(path)  # used now, so others are cleaned away first
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return None
    return found


def write_values(path: Path, values: Mapping[str, Any]) -> None:
    """Keep values within the limit, as a raster is."""

    def write(part: Path) -> None:
        with part.open("w+b") as file:
            file.write(bytes(DIGEST_BYTES))
            np.savez(file, **values)
            file.seek(DIGEST_BYTES)
            digest = _digest(path.name, file)
            file.seek(0)
            file.write(digest)
        _clean(path.parent, cache_limit() - part.stat().st_size)
        if part.stat().st_size > cache_limit():
            part.unlink()

    with contextlib.suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, write)


def _clean(folder: Path, limit: float) -> None:
    """Delete the rasters that were not used for longest, down to a number of bytes."""
    files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in folder.glob("raster-*"))
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total > limit:
            path.unlink(missing_ok=True)
            total -= size


def _digest(name: str, file: io.BufferedIOBase) -> bytes:
    """Return the hash of a name and of the rest of a file."""
    return hashlib.file_digest(file, lambda: hashlib.sha256(name.encode() + b"\n")).digest()


def _plain(name: str, value: Any) -> Any:
    if name == "shape":
        return tuple(int(part) for part in value)
    return value.item() if value.ndim == 0 else value
