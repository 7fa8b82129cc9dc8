"""Files that exist, and files that appear whole or not at all."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from pointveil.errors import InputError


def existing_file(path: Path) -> Path:
    """Return the absolute path of a file that exists and has content."""
    try:
        if path.is_dir():
            raise InputError(f"{path.name or path} is a directory; give a file.")
        if not path.is_file():
            raise InputError(f"{path.name} does not exist; check the path.")
        if path.stat().st_size == 0:
            raise InputError(f"{path.name} is empty (0 bytes); it has not even the names of its columns.")
        with path.open("rb"):
            return path.absolute()
    except OSError as problem:
        raise InputError(f"{path.name} cannot be opened: {problem.strerror}.") from None


def check_target(path: Path) -> Path:
    """Return a path where a file can be written; refuse any other."""
    if path.is_dir():
        raise InputError(f"{path.name or path} is a directory; give the name of the file to write.")
    if not path.parent.is_dir():
        raise InputError(f"The directory of {path.name} does not exist; make it first.")
    return path


def write_whole(path: Path, write: Callable[[Path], object], *, companions: Iterable[str] = ()) -> list[Path]:
    """Have `write` make a file elsewhere, perhaps with others beside it, and put them in place, `path` last.

    Companions are names of files that belong to an older file at `path` and go with it: patterns of `name` and `stem`.
    """
    check_target(path)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as problem:
        raise InputError(f"{path.name} cannot be written: {problem.strerror}.") from None
    try:
        write(folder / path.name)
        return _put_in_place(folder, path, companions)
    except OSError as problem:
        raise InputError(f"{path.name} cannot be written: {problem.strerror or 'the disk refused'}.") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, path: Path, companions: Iterable[str]) -> list[Path]:
    # The named file comes last: who sees it, sees the others too.
    members = sorted(folder.iterdir(), key=lambda member: (member.name == path.name, member.name))
    for member in members:
        _sync(member)
    old = {pattern.format(name=path.name, stem=path.stem) for pattern in companions}
    for name in old - {member.name for member in members}:
        (path.parent / name).unlink(missing_ok=True)
    for member in members:
        member.replace(path.parent / member.name)
    with contextlib.suppress(OSError):  # not every system can do this to a folder
        _sync(path.parent)
    return [path.parent / member.name for member in members]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
