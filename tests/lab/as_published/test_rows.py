"""The methods as published run in rehearsals only, and say that they are not private."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pointveil.cells import Grid
from pointveil.cli import app
from pointveil.errors import InputError, VerificationError
from pointveil.evaluation import MEASURES, Comparison
from pointveil.lab.as_published import AS_PUBLISHED, rehearse
from pointveil.lab.as_published.kernel import sample_around, times_before
from pointveil.lab.as_published.regions import pack_at_random
from pointveil.methods import METHODS
from pointveil.vault import Rehearsal, Vault
from pointveil.verification import verify
from pointveil.world import World

NINE = [f"{where}-{how}-as-published" for where in ("ugrid", "agrid", "clust") for how in ("uni", "wud", "kde")]


def open_rehearsal(path: Path, world: World, epsilon: float = 1) -> Rehearsal:
    return Vault.rehearse(path, world, epsilon=epsilon, seed=0)


def test_all_nine_are_there_and_none_is_a_method_of_ours() -> None:
    assert set(NINE) <= set(AS_PUBLISHED)
    assert not set(AS_PUBLISHED) & set(METHODS)


@pytest.mark.parametrize("name", NINE)
def test_points_are_on_land_about_as_many_as_real_ones_and_repeatable(
    name: str, people_file: Path, world: World
) -> None:
    one, same, other = (rehearse(open_rehearsal(people_file, world), name, seed) for seed in (1, 1, 2))

    assert world.on_land(world.projection.to_metres(one.coordinates)).all()
    assert 1500 < len(one) < 4000
    assert (one.coordinates == same.coordinates).all()
    assert len(one) != len(other) or (one.coordinates != other.coordinates).any()


@pytest.mark.parametrize("name", NINE)
def test_the_statement_says_that_it_is_not_private_and_why(name: str, people_file: Path, world: World) -> None:
    points = rehearse(open_rehearsal(people_file, world), name, 1)

    statement = points.statement
    assert "NOT PRIVATE" in repr(points)
    assert str(statement).startswith("*** NOT PRIVATE")
    assert any("true number of points" in reason for reason in statement.unprotected)
    assert any("kernel" in reason for reason in statement.unprotected) == ("kde" in name)
    assert "nobody" in statement.guarantee.unit


def test_road_is_there_too_and_says_what_is_wrong_with_it(people_file: Path, world: World) -> None:
    points = rehearse(open_rehearsal(people_file, world), "road-as-published", 1)

    assert world.on_land(world.projection.to_metres(points.coordinates)).all()
    assert any("true number of points" in reason for reason in points.statement.unprotected)
    assert any("Histogram ranges" in reason for reason in points.statement.unprotected)


def test_what_they_write_does_not_pass_verification(people_file: Path, world: World, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    rehearse(open_rehearsal(people_file, world), "ugrid-uni-as-published", 1).write(path)

    with pytest.raises(VerificationError):
        verify(path)


def test_a_real_vault_is_refused(people_file: Path, world: World) -> None:
    vault = Vault.open(people_file, world, epsilon=1)

    with pytest.raises(InputError, match="only on a rehearsal"):
        rehearse(vault, "ugrid-uni-as-published", 1)  # type: ignore[arg-type]


def test_an_unknown_name_is_refused(people_file: Path, world: World) -> None:
    with pytest.raises(InputError, match="Choose from: ugrid-uni-as-published"):
        rehearse(open_rehearsal(people_file, world), "ugrid-uni", 1)


def test_the_command_line_cannot_reach_them(people_file: Path, world_file: Path, tmp_path: Path) -> None:
    for name in NINE:
        words = ["synthesize", str(people_file), str(tmp_path / "out.csv"), "--world", str(world_file)]
        result = CliRunner().invoke(app, [*words, "--epsilon", "1", "--method", name])

        assert result.exit_code != 0
        assert not (tmp_path / "out.csv").exists()


def test_the_kernel_as_published_gives_real_places_away(plain_world: World) -> None:
    # A real point in the middle of a cell of 100 m, at the paper's ε* = 0.2: a filler lies within a metre of it with
    # the chance π / 10,000, and a private kernel could make that e^0.2 times as much.
    count, cell = 20_000, Grid((0.0, 0.0, 100.0, 100.0), 1, 1)
    slots = np.zeros(count, dtype=np.int64)
    bandwidth = np.full(count, 100 * np.sqrt(2) / 0.2)

    xy = sample_around(np.full((count, 2), 50.0), slots, bandwidth, 0.2, cell, plain_world, np.random.default_rng(1))

    assert (np.hypot(*(xy - 50).T) < 1).mean() > 30 * np.pi / 10_000


def test_random_packing_keeps_centres_apart(plain_world: World) -> None:
    centres = pack_at_random(50, plain_world, np.random.default_rng(1))

    apart = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    assert len(centres) == 50
    assert apart.min() > 0.5 * np.sqrt(plain_world.land_area / 50)


def test_earlier_values_are_counted() -> None:
    assert times_before(np.array([5, 3, 5, 5, 3])).tolist() == [0, 0, 1, 2, 1]


TABLE = {  # the paper's NCE in Beijing at epsilon 1
    "ugrid-uni": 0.360,
    "ugrid-wud": 0.332,
    "ugrid-kde": 0.297,
    "agrid-uni": 0.379,
    "agrid-wud": 0.362,
    "agrid-kde": 0.285,
    "clust-uni": 0.876,
    "clust-wud": 0.866,
    "clust-kde": 0.616,
}


@pytest.mark.data
@pytest.mark.parametrize("name", TABLE)
def test_beijing_comes_out_as_in_the_paper(name: str, data_folder: Path) -> None:
    world = World.make((116.330, 39.862, 116.450, 39.954))
    vault = Vault.rehearse(data_folder / "beijing" / "points.parquet", world, epsilon=1, seed=0)

    points = rehearse(vault, f"{name}-as-published", 0)

    compared = Comparison(vault.exact_points(), world.projection.to_metres(points.coordinates), world)
    error = MEASURES["nce_100"](compared)
    assert error == pytest.approx(TABLE[name], rel=0.15)
