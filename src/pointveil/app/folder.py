"""The one folder that the page may see: nothing above it, nothing that a link leads to."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from pointveil.errors import InputError

DEEPEST = 4
MOST = 2000  # files that are listed
ODD = (".", "-")  # how no name may begin: a hidden file, or an option in the command line that is shown
PATTERN = set("*?[\\:")  # a pattern or an address, which could lead to other files than the one that is checked here


@dataclass(frozen=True)
class Folder:
    """A folder of the owner's."""

    root: Path  # a link to it is followed once, by `open`

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """Return the folder at a path."""
        if not path.is_dir():
            raise InputError(f"There is no folder {path}. Give one that has your files: --data DIR")
        return cls(path.resolve())

    def files(self) -> list[str]:
        """Return the names of all files, in order; hidden ones and links are left out."""
        return sorted(islice(_walk(self.root, ""), MOST))

    def inside(self, name: str) -> Path:
        """Return the path of a file, new or not, whose name was given by the page; refuse any that leads out."""
        parts = PurePosixPath(name).parts
        plain = name.isprintable() and not PATTERN & {*name} and not PurePosixPath(name).is_absolute()
        if not parts or not plain or any(part.startswith(ODD) for part in parts):
            raise InputError(
                "Only files in the folder of --data can be used, and no name may begin with a dot or dash."
            )
        path = self.root
        for part in parts:
            path /= part
            if path.is_symlink():
                raise InputError(f"{part} is a link, and links are not followed. Copy what it leads to.")
        if not path.parent.is_dir():
            raise InputError(f"There is no folder for {name} in the folder of --data.")
        return path

    def file(self, name: str) -> Path:
        """Return the path of a file that is there: no folder, whose files could be links, and no link beside it."""
        path = self.inside(name)
        if not path.is_file():
            raise InputError(f"There is no file {name} in the folder of --data.")
        # A shapefile is read with its .dbf, and a GeoPackage with its -wal.
        belongs = f"{path.stem}.", f"{path.name}-"
        if any(other.is_symlink() and other.name.startswith(belongs) for other in path.parent.iterdir()):
            raise InputError(
                f"Beside {name} is a link of that name, and links are not followed. Copy what it leads to."
            )
        return path


def _walk(folder: Path, before: str) -> Iterator[str]:
    """Yield names of files below a folder, without following a link."""
    with os.scandir(folder) as entries:
        here = sorted(entries, key=lambda entry: entry.name)
    for entry in here:
        if entry.name.startswith(ODD) or entry.is_symlink() or not entry.name.isprintable() or PATTERN & {*entry.name}:
            continue
        if entry.is_file():
            yield before + entry.name
        elif entry.is_dir() and before.count("/") < DEEPEST:
            try:
                yield from _walk(Path(entry.path), f"{before}{entry.name}/")
            except PermissionError:
                continue
