"""Hidden drafts: what a killed process left is cleaned away, and nothing else is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pointveil.files import drafts
from pointveil.files.drafts import PREFIX, clean, draft_folder

HOLD = """
import sys
from pathlib import Path
from pointveil.files.drafts import draft_folder
with draft_folder(Path(sys.argv[1])) as folder:
    (folder / "half.csv").write_text("lon,lat")
    print(folder, flush=True)
    sys.stdin.read()
"""
needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="needs folders that can be locked")


@contextmanager
def another_process(place: Path) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """A process with a draft of its own in `place`."""
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip()), process


@needs_locks
def test_a_draft_is_left_alone_while_its_process_lives_and_cleaned_when_it_was_killed(tmp_path: Path) -> None:
    with another_process(tmp_path) as (other, process):
        with draft_folder(tmp_path) as mine:
            assert (other / "half.csv").exists()
            assert {mine, other} == set(tmp_path.iterdir())
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert other.exists()

        with draft_folder(tmp_path) as mine:
            assert set(tmp_path.iterdir()) == {mine}

    assert not list(tmp_path.iterdir())


@needs_locks
def test_drafts_in_the_temporary_folder_are_cleaned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary" / f"{PREFIX}abcdefgh").mkdir()

    with draft_folder(tmp_path / "here"):
        assert not list((tmp_path / "temporary").iterdir())


def test_nothing_but_a_draft_is_ever_removed(tmp_path: Path) -> None:
    """Not a file of such a name, a folder with nearly such a name, nor what a link leads to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / f"{PREFIX}abcdefgh").write_text("a stranger's file")
    for name in (f"{PREFIX}abc", f"{PREFIX}abcdefgh.old", "pointveil-draft-abcdefgh", ".out.csv-abcdefgh"):
        (place / name).mkdir()
        os.utime(place / name, (0, 0))
    (place / f"{PREFIX}linklink").symlink_to(elsewhere)
    before = set(place.iterdir())

    clean(place)

    assert set(place.iterdir()) == before
    assert (elsewhere / "precious.txt").exists()


@needs_locks
def test_another_users_draft_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / f"{PREFIX}abcdefgh"
    theirs.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: theirs.stat().st_uid + 1)

    clean(tmp_path)

    assert theirs.exists()


def test_where_nothing_can_be_locked_only_drafts_of_another_day_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "_lock", lambda *_, **__: None)
    old, new = tmp_path / f"{PREFIX}00000old", tmp_path / f"{PREFIX}00000new"
    old.mkdir()
    new.mkdir()
    os.utime(old, (0, 0))

    with draft_folder(tmp_path) as mine:
        assert set(tmp_path.iterdir()) == {new, mine}


@needs_locks
def test_a_draft_that_was_cleaned_away_before_its_lock_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, made = drafts._lock, []

    def late(folder: Path, *, wait: bool) -> int | None:
        made.append(folder)
        if len(made) == 1:
            clean_by_another(folder)
        return lock(folder, wait=wait)

    def clean_by_another(folder: Path) -> None:
        folder.rmdir()

    monkeypatch.setattr(drafts, "_lock", late)

    with draft_folder(tmp_path) as mine:
        assert mine.is_dir()
        assert len(made) == 2
