"""What a command loads before it begins."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from pointveil import cli

LOADED = """
import sys
from pointveil.cli import main
try:
    main()
finally:
    print(*sorted(name for name in ("geopandas", "pandas", "pyogrio", "scipy") if sys.modules.get(name)))
"""


def loaded(*arguments: object) -> set[str]:
    """Return which of some libraries a command loads, in a process of its own."""
    command = [sys.executable, "-c", LOADED, *map(str, arguments)]
    return {*subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()}


@pytest.fixture
def release(tmp_path: Path) -> list[object]:
    points, world = tmp_path / "points.csv", tmp_path / "world.gpkg"
    points.write_text("lon,lat\n" + "24.95,60.15\n" * 20_000)
    subprocess.run([sys.executable, "-m", "pointveil", "world", world, "--bounds", "24.9,60.1,25.0,60.2"], check=True)
    made = ("synthesize", points, tmp_path / "made.csv", "--world", world, "--epsilon", 1, "--method", "ugrid-uni")
    return [*made, "--ledger", tmp_path / "ledger.db", "--cap", 1, "--quiet"]


def test_importing_the_command_runs_nothing() -> None:
    code = "import pointveil.__main__"

    done = subprocess.run([sys.executable, "-c", code, "build"], capture_output=True, text=True, check=True)

    assert done.stdout + done.stderr == ""


def test_help_loads_no_library() -> None:
    assert loaded("--help") == set()


def test_a_release_loads_no_library_of_frames(release: list[object]) -> None:
    assert loaded(*release) == {"pyogrio"}


@pytest.fixture
def finders(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    found: list[object] = []
    monkeypatch.setattr(sys, "meta_path", found)
    monkeypatch.setattr(gc, "set_threshold", lambda _: None)
    monkeypatch.setattr(cli, "keep_memory", lambda: None)
    return found


@pytest.mark.parametrize(
    "words", [["world"], ["synthesize", "--engine", "spark"], ["synthesize", "--engine=spark"], []]
)
def test_frames_stay_where_others_need_them(finders: list[object], words: list[str]) -> None:
    cli.start_fast(words)

    assert not finders


@pytest.mark.parametrize("plugins", [[], ["mine"]])
def test_frames_stay_where_there_is_a_plug_in(
    monkeypatch: pytest.MonkeyPatch, finders: list[object], plugins: list[str]
) -> None:
    monkeypatch.setattr(cli, "entry_points", lambda **_: plugins)

    cli.start_fast(["synthesize"])

    assert len(finders) == (0 if plugins else 1)
