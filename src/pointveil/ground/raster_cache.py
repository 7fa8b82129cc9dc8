"""Keep rasters on disk: they are public, and take longer to make than to read."""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.cells.raster import Raster
from pointveil.errors import InputError
from pointveil.files.whole import write_whole

VERSION = 4
USUAL_GIGABYTES = 4.0
DIGEST_BYTES, PLACE_BYTES = 32, 8
ALIGNED = 64  # bytes
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
    return cache_folder() / f"raster-{VERSION}-{digest}-{side.hex()}-{multiple}.bin"


def area_file(digest: str) -> Path:
    """Return the file for the peopled area of this world."""
    return cache_folder() / f"raster-{VERSION}-{digest}-area.bin"


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
        content = np.fromfile(path, np.uint8)  # a copy: whatever becomes of the file, this stays as it is
        if content[:DIGEST_BYTES].tobytes() != _digest(path.name, content[DIGEST_BYTES:]):
            return None
        content.flags.writeable = False
        found = dict(_arrays(content))
        os.utime(path)  # used now, so others are cleaned away first
    except (OSError, ValueError):
        return None
    return found


def write_values(path: Path, values: Mapping[str, Any]) -> None:
    """Keep values within the limit, as a raster is."""

    def write(part: Path) -> None:
        with part.open("w+b") as file:
            file.write(bytes(DIGEST_BYTES))
            save(file, values)
            file.seek(0)
            digest = _digest(path.name, np.fromfile(file, np.uint8)[DIGEST_BYTES:])
            file.seek(0)
            file.write(digest)
        _clean(path.parent, cache_limit() - part.stat().st_size)
        if part.stat().st_size > cache_limit():
            part.unlink()

    with contextlib.suppress(OSError, InputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, write)


def save(file: io.BufferedRandom, values: Mapping[str, Any]) -> None:
    """Write arrays one after the other, each at a round place, then what and where they are, and where that begins."""
    described = []
    for name, value in values.items():
        array = np.ascontiguousarray(value)
        file.write(bytes(-file.tell() % ALIGNED))
        described.append((name, array.dtype.str, np.shape(value), file.tell()))
        file.write(array.data)
    end = file.tell()
    file.write(json.dumps(described).encode() + end.to_bytes(PLACE_BYTES, "little"))


def _arrays(content: NDArray[np.uint8]) -> Iterator[tuple[str, Any]]:
    """Yield each value that was saved, by its name: arrays as views of the content."""
    end = int.from_bytes(content[-PLACE_BYTES:].tobytes(), "little")
    for name, kind, shape, start in json.loads(content[end:-PLACE_BYTES].tobytes()):
        array = np.ndarray(shape, kind, content.data, start)
        yield name, _plain(name, array)


def _clean(folder: Path, limit: float) -> None:
    """Delete the rasters that were not used for longest, down to a number of bytes."""
    files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in folder.glob("raster-*"))
    total = sum(size for _, size, _ in files)
    for _, size, path in files:
        if total > limit:
            path.unlink(missing_ok=True)
            total -= size


def _digest(name: str, content: NDArray[np.uint8]) -> bytes:
    """Return the hash of a name and of the rest of a file."""
    digest = hashlib.sha256(name.encode() + b"\n")
    digest.update(content.data)
    return digest.digest()


def _plain(name: str, value: Any) -> Any:
    if name == "shape":
        return tuple(int(part) for part in value)
    return value.item() if value.ndim == 0 else value
