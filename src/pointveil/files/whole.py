"""Files that exist, and files that appear whole or not at all."""

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from pointveil.errors import InputError
from pointveil.files.drafts import draft_folder

PART = re.compile(r"part-[0-9]{5,}\.[a-z]+")
"""The names of the files in a folder that is one release."""
OTHER_FILES = "{} is a directory with other files in it. Give another name."
EXISTS = "{} exists already. Give another name; or replace it, with --force (in Python: force=True)."


def existing_file(path: Path) -> Path:
    """Return the absolute path of a file that exists and has content."""
    try:
        if path.is_dir():
            raise InputError(f"{path.name or path} is a directory; give a file.")
        refuse_address(path)
        if str(path) == "-" or (path.exists() and not path.is_file()):
            raise InputError(
                f"{path} is standard input, a pipe or a device. Save the data to a file: it is read twice."
            )
        if not path.is_file():
            raise InputError(f"{path.name} does not exist; check the path.")
        if path.stat().st_size == 0:
            raise InputError(f"{path.name} is empty (0 bytes); it has not even the names of its columns.")
        with path.open("rb"):
            return path.absolute()
    except OSError as problem:
        raise InputError(f"{path.name} cannot be opened: {problem.strerror}.") from None


def refuse_address(path: Path) -> None:
    """Refuse an address where only a file will do, and quote nothing of it: it may hold a password."""
    address = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", str(path))
    if address and not path.parent.is_dir():
        raise InputError(f"An address ({address[1]}://…) cannot be given here: give a file on this machine.")


def check_target(path: Path) -> Path:
    """Return a path where a file can be written; refuse any other."""
    refuse_address(path)
    if path.is_dir() and path.suffix:
        raise InputError(f"{path.name or path} is a directory; give the name of the file to write.")
    if not path.parent.is_dir():
        raise InputError(f"The directory of {path.name} does not exist; make it first.")
    return path


def refuse_existing(*paths: Path, force: bool, own: Collection[str] = ()) -> None:
    """Refuse to write over a file, unless that was said or its SHA-256 is in `own`: the same was written before.

    The same holds for a folder of parts; one that holds anything else is never replaced.
    """
    for path in paths:
        if not os.path.lexists(path):
            continue
        if path.is_dir() and not all(PART.fullmatch(entry.name) for entry in path.iterdir()):
            raise InputError(OTHER_FILES.format(path.name))
        members = path.iterdir() if path.is_dir() else [path]
        if not force and not all(member.is_file() and file_digest(member) in own for member in members):
            raise InputError(EXISTS.format(path.name))


def refuse_same(path: Path, others: Mapping[str, Path | None]) -> None:
    """Refuse to write to one of these files, however its path is spelled; `others` has them by what they are."""
    for what, other in others.items():
        if other is not None and _is_same(path, other):
            raise InputError(f"{path.name} is {what}. Give another name for the output.")


def check_room(path: Path, size: int, *names: str) -> None:
    """Try, before anything is charged, whether files of these names can be made beside `path`, with room for `size`."""
    try:
        with draft_folder(path.parent) as folder:
            for name in names:
                (folder / name).touch(exist_ok=False)
        free = shutil.disk_usage(path.parent).free
    except OSError as problem:
        raise InputError(f"{path.name} cannot be written: {problem.strerror}.") from None
    if free < size:
        raise InputError(f"There is too little room on the disk for {path.name}: it may need {size / 10**6:.0f} MB.")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there yet; some systems do not tell small letters from capitals
        return str(path.resolve()).casefold() == str(other.resolve()).casefold()


def write_whole(
    path: Path, write: Callable[[Path], object], *, companions: Iterable[str] = (), first: str | None = None
) -> list[Path]:
    """Have `write` make a file elsewhere, perhaps with others beside it, and put them in place, `path` last.

    Companions are names of files that belong to an older file at `path` and go with it: patterns of `name` and `stem`.
    `first` is the file without which the others must never be seen: it is put in place before them, after an older file
    at `path` is gone.
    """
    check_target(path)
    try:
        with draft_folder(path.parent) as folder:
            write(folder / path.name)
            return _put_in_place(folder, path, companions, first)
    except OSError as problem:
        raise InputError(f"{path.name} cannot be written: {problem.strerror or 'the disk refused'}.") from None


def _put_in_place(folder: Path, path: Path, companions: Iterable[str], first: str | None) -> list[Path]:
    # The named file comes last: who sees it, sees the others too.
    members = sorted(folder.iterdir(), key=lambda each: (each.name == path.name, each.name != first, each.name))
    for member in members:
        for part in sorted(member.iterdir()) if member.is_dir() else ():
            sync(part)
        sync(member)
    old = {pattern.format(name=path.name, stem=path.stem) for pattern in companions}
    if path.is_dir():
        path.rename(folder / f"{path.name}.old")
    elif first is not None:
        path.unlink(missing_ok=True)
    for name in old - {member.name for member in members}:
        (path.parent / name).unlink(missing_ok=True)
    for member in members:
        member.replace(path.parent / member.name)
    with contextlib.suppress(OSError):  # not every system can do this to a folder
        sync(path.parent)
    return [path.parent / member.name for member in members]


def sync(path: Path, flags: int = os.O_RDONLY) -> None:
    """Wait until a file, or the list of a directory, is on the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
