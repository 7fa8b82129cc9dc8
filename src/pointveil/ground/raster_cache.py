"""Keep rasters on disk: they are public, and take longer to make than to read."""

import dataclasses
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

VERSION = 2


def cache_folder() -> Path:
    """Return where public things may be kept for the next time."""
    if "POINTVEIL_CACHE" in os.environ:
        return Path(os.environ["POINTVEIL_CACHE"])
    home = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / home) / "pointveil"


def cache_file(digest: str, side: float, multiple: int) -> Path:
    """Return the file for the raster of this world with cells of this side."""
    return cache_folder() / f"raster-{VERSION}-{digest}-{side.hex()}-{multiple}.npz"


def read_cached(path: Path, kind: type[Any]) -> Any:
    """Return what was kept, or None if there is nothing that can be read."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            values = {name: kept[name] for name in kept.files}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return None
    names = [field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    if set(values) != set(names):
        return None
    return kind(**{name: _plain(name, values[name]) for name in names})


def write_cached(path: Path, thing: Any) -> None:
    """Keep a dataclass of arrays and numbers; where that is not possible, nothing is lost."""
    fields = [field.name for field in dataclasses.fields(thing) if field.default is dataclasses.MISSING]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npz", delete=False) as file:
            np.savez(file, **{name: getattr(thing, name) for name in fields})
        Path(file.name).replace(path)
    except OSError:
        return


def _plain(name: str, value: Any) -> Any:
    if name == "shape":
        return tuple(int(part) for part in value)
    return value.item() if value.ndim == 0 else value
