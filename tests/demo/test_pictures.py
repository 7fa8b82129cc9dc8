"""Pictures of real beside synthetic."""

import sys
from pathlib import Path

import numpy as np
import pytest

from pointveil.demo.city import city
from pointveil.demo.people import people
from pointveil.demo.pictures import NOTE, draw_comparison
from pointveil.errors import MissingExtraError
from pointveil.world.osm import ATTRIBUTION
from pointveil.world.world import World


def test_a_picture_has_one_panel_for_the_real_points_and_one_for_each_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra figures")
    from matplotlib.image import imread

    crowd = people(city(), count=2_000)
    draw_comparison(city(), crowd, {"ugrid-uni": crowd}, tmp_path / "two.png")
    draw_comparison(city(), crowd, {"ugrid-uni": crowd, "other": crowd}, tmp_path / "three.png")

    two, three = imread(tmp_path / "two.png"), imread(tmp_path / "three.png")
    assert two.shape[0] == three.shape[0]
    assert three.shape[1] == pytest.approx(1.5 * two.shape[1], rel=0.02)


def test_points_change_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra figures")
    from matplotlib.image import imread

    nobody = np.empty((0, 2))
    draw_comparison(city(), nobody, {}, tmp_path / "empty.png")
    draw_comparison(city(), people(city(), count=2_000), {}, tmp_path / "full.png")

    empty, full = imread(tmp_path / "empty.png"), imread(tmp_path / "full.png")
    assert full.mean() < empty.mean()


def test_a_world_without_roads_is_drawn_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra figures")
    world = World.make((0.0, 0.0, 0.02, 0.01))

    draw_comparison(world, np.array([[500.0, 500.0]]), {}, tmp_path / "plain.png")

    assert (tmp_path / "plain.png").stat().st_size > 0


def test_a_picture_of_all_the_people_is_small(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra figures")
    crowd = people(city())

    draw_comparison(city(), crowd, {"ugrid-uni": crowd}, tmp_path / "both.png")

    assert (tmp_path / "both.png").stat().st_size < 600_000


def test_the_map_makers_are_named_in_the_note() -> None:
    assert ATTRIBUTION in NOTE


def test_without_matplotlib_an_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(MissingExtraError, match="figures"):
        draw_comparison(city(), np.empty((0, 2)), {}, tmp_path / "none.png")
