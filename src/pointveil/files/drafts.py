"""Hidden folders in which files are made before they appear; those that a killed process left are removed by the next.

A process holds a lock on its draft for as long as it lives, so a draft that can be locked belongs to nobody any more.
"""

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PREFIX = ".pointveil-draft-"
NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")  # what `mkdtemp` makes of the prefix
STALE_SECONDS = 24 * 3600  # where nothing can be locked, a draft that old is nobody's


@contextmanager
def draft_folder(place: Path | None = None) -> Iterator[Path]:
    """Make a folder that only its owner can open, in `place` or where temporary files go, and remove it at the end."""
    temporary = Path(tempfile.gettempdir())
    place = temporary if place is None else place
    for each in {place, temporary}:
        clean(each)
    folder, held = _made(place)
    with ExitStack() as at_the_end:  # the last first
        if held is not None:
            at_the_end.callback(os.close, held)
        at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
        yield folder


def clean(place: Path) -> None:
    """Remove the drafts of processes that no longer run; never one in use, another user's, or any other file."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_if_left(Path(entry), entry.stat(follow_symlinks=False))


def _remove_if_left(folder: Path, facts: os.stat_result) -> None:
    if os.name == "posix" and facts.st_uid != os.geteuid():
        return
    held = _lock(folder, wait=False)
    try:
        if held is not None or facts.st_mtime < time.time() - STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        if held is not None:
            os.close(held)


def _made(place: Path) -> tuple[Path, int | None]:
    """Make a draft and lock it; another one, if a process that cleans up locked it first and took it for left."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        held = _lock(folder, wait=True)
        if folder.is_dir():
            return folder, held
        if held is not None:
            os.close(held)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Lock a folder until its descriptor is closed; None where that cannot be done. BlockingIOError: others hold it."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # some network disks lock no folders
        os.close(descriptor)
        return None
    return descriptor
