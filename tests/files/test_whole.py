"""Files that exist, and files that appear whole or not at all."""

import os
from pathlib import Path
from typing import Any

import pytest

from pointveil.errors import InputError
from pointveil.files.whole import existing_file, write_whole


def test_a_link_is_known_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "0a1b2c").write_text("lon,lat\n1,2\n")
    link = tmp_path / "people.csv"
    link.symlink_to(tmp_path / "0a1b2c")

    assert existing_file(link) == link


def test_a_file_and_those_beside_it_replace_older_ones_together(tmp_path: Path) -> None:
    path = tmp_path / "map.shp"
    for name in ("map.shp", "map.qix", "map.txt"):
        (tmp_path / name).write_text("old")

    def write(new: Path) -> None:
        new.write_text("new")
        new.with_suffix(".dbf").write_text("new")

    written = write_whole(path, write, companions=("{stem}.qix", "{stem}.dbf"))

    assert [file.name for file in written] == ["map.dbf", "map.shp"]
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {
        "map.shp": "new",
        "map.dbf": "new",
        "map.txt": "old",
    }


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs to see which file is flushed")
def test_every_file_is_on_the_disk_before_any_is_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flush(descriptor: int) -> None:
        done.append(f"flushed {Path(f'/proc/self/fd/{descriptor}').readlink().name}")
        fsync(descriptor)

    def move(self: Path, target: Path) -> Path:
        done.append(f"moved {self.name}")
        return replace(self, target)

    def write(path: Path) -> None:
        for file in (path, path.with_name("beside")):
            file.write_text("new")

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(Path, "replace", move)
    write_whole(tmp_path / "made", write, first="beside")

    assert done == ["flushed beside", "flushed made", "moved beside", "moved made", f"flushed {tmp_path.name}"]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyError("x"), KeyboardInterrupt()])
def test_what_fails_on_the_way_leaves_the_older_file(fault: BaseException, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def write(new: Path) -> None:
        new.write_text("ne")
        raise fault

    with pytest.raises(InputError if isinstance(fault, OSError) else type(fault)):
        write_whole(path, write)

    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.html", "old")]


def test_a_system_that_cannot_flush_a_folder_still_writes_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open = os.open

    def refuse(path: Any, *options: Any, **more: Any) -> int:
        if path == tmp_path:
            raise PermissionError(13, "Permission denied")
        return really_open(path, *options, **more)

    monkeypatch.setattr(os, "open", refuse)

    write_whole(tmp_path / "a.txt", lambda new: new.touch())

    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
