"""The cache on disk stays within its limit, leaves nothing half-done, and gives back nothing that is damaged."""

import errno
import os
import time
from pathlib import Path

import numpy as np
import pytest

from pointveil.cells.raster import Raster
from pointveil.files.drafts import PREFIX
from pointveil.ground import peopled_area, raster_cache, rasters
from pointveil.ground.raster_cache import area_file, cache_file, read_cached, write_cached
from pointveil.ground.rasterizing import make_raster
from pointveil.world import World

SIDES = (100.0, 120.0, 140.0, 160.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def kept(world: World, side: float) -> Path:
    path = cache_file(world.digest, side, 1)
    write_cached(path, make_raster(world, side, 1))
    return path


def same(first: Raster | None, second: Raster) -> bool:
    return first is not None and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in raster_cache.KEPT
    )


def test_what_was_kept_is_given_back(plain_world: World, folder: Path) -> None:
    path = kept(plain_world, 100.0)

    assert same(read_cached(path), make_raster(plain_world, 100.0, 1))
    assert [file.name for file in folder.iterdir()] == [path.name]


def test_the_peopled_area_is_measured_once_and_again_if_its_file_is_damaged(
    plain_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, path = peopled_area.__wrapped__(plain_world), area_file(plain_world.digest)
    monkeypatch.setattr(rasters, "measure_peopled", lambda _: 1.0)

    assert peopled_area.__wrapped__(plain_world) == known != 1.0
    path.write_bytes(path.read_bytes()[:-1])
    assert peopled_area.__wrapped__(plain_world) == 1.0


def test_every_changed_byte_and_another_name_are_noticed_and_the_raster_is_made_again(plain_world: World) -> None:
    path = kept(plain_world, 100.0)
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 300)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        assert read_cached(path) is None
    for wrong in (b"", content[:10], content[:-1], content + b"\0"):
        path.write_bytes(wrong)
        assert read_cached(path) is None
    path.write_bytes(content)
    other = path.rename(cache_file(plain_world.digest, 120.0, 1))
    assert read_cached(other) is None

    assert same(rasters._read_or_make(plain_world, 120.0, 1), make_raster(plain_world, 120.0, 1))
    assert read_cached(other) is not None


def test_the_oldest_go_first_when_the_limit_is_reached(
    plain_world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [kept(plain_world, side) for side in SIDES[:3]]
    for age, path in zip((300, 200, 100), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    assert read_cached(paths[0]) is not None  # just used, so no longer the oldest
    total = sum(path.stat().st_size for path in paths)
    monkeypatch.setenv("POINTVEIL_CACHE_GB", str(total / 1e9))

    newest = kept(plain_world, SIDES[3])

    left = set(folder.iterdir())
    assert sum(path.stat().st_size for path in left) <= total
    assert newest in left
    assert paths[0] in left
    assert paths[1] not in left


@pytest.mark.parametrize(("limit", "files"), [("0", 0), ("1e-6", 0), ("nonsense", 1), ("-1", 1), ("nan", 1), ("1", 1)])
def test_a_limit_of_any_kind_never_stops_a_release(
    limit: str, files: int, plain_world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POINTVEIL_CACHE_GB", limit)

    kept(plain_world, 100.0)

    assert len(list(folder.iterdir())) == files


def test_a_full_disk_leaves_nothing_behind(plain_world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: object, _: object) -> None:
        file.write(b"half of it")  # type: ignore[attr-defined]
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(raster_cache, "save", full)
    kept(plain_world, 100.0)
    assert list(folder.iterdir()) == []

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(raster_cache, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept(plain_world, 100.0)
    assert list(folder.iterdir()) == []


def test_what_a_killed_process_left_is_cleaned_away(plain_world: World, folder: Path) -> None:
    left = folder / f"{PREFIX}abcdefgh"
    left.mkdir(parents=True)
    (left / "part").write_bytes(b"half of it")

    path = kept(plain_world, 100.0)

    assert list(folder.iterdir()) == [path]
