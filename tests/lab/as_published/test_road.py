"""Road as published: what its text says, and why that is not private."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pointveil.errors import InputError
from pointveil.lab.as_published import AS_PUBLISHED, rehearse
from pointveil.lab.as_published.road import EMPTY_REACH, Histograms, noisy_counts
from pointveil.network import Network
from pointveil.vault import Vault
from pointveil.world import World

NAME = "road-as-published"


def test_points_are_on_land_and_the_same_for_the_same_seed(people_file: Path, world: World) -> None:
    one, same = (rehearse(Vault.rehearse(people_file, world, epsilon=1, seed=0), NAME, 1) for _ in range(2))

    assert world.on_land(world.projection.to_metres(one.coordinates)).all()
    assert (one.coordinates == same.coordinates).all()
    assert 1700 < len(one) < 2100


def test_it_says_that_it_is_not_private_and_why(people_file: Path, world: World) -> None:
    points = rehearse(Vault.rehearse(people_file, world, epsilon=1, seed=0), NAME, 1)

    assert "NOT PRIVATE" in str(points.statement)
    assert any("true number of points" in reason for reason in points.statement.unprotected)
    assert set(AS_PUBLISHED[NAME].split.values()) == {AS_PUBLISHED[NAME].split["count"]}


def test_a_real_vault_is_refused(people_file: Path, world: World) -> None:
    with pytest.raises(InputError, match="rehearsal"):
        rehearse(Vault.open(people_file, world, epsilon=1), NAME, 1)  # type: ignore[arg-type]


def test_counts_are_rescaled_to_the_true_total() -> None:
    counts = noisy_counts(np.full(500, 1000), 0.01, np.random.default_rng(1))

    assert abs(counts.sum() - 500_000) < 300


def test_small_counts_are_dropped_by_the_threshold() -> None:
    true = np.zeros(10_000, dtype=np.int64)
    true[0] = 100_000

    counts = noisy_counts(true, 1.0, np.random.default_rng(1))

    assert 500 < np.count_nonzero(counts) < 1500
    assert counts[counts > 0].min() == 2


def test_a_single_person_is_reproduced_at_their_exact_distance(world: World) -> None:
    lonlat = np.array([[10.015, 50.0035]])
    offset = Network.of(world).distances(world.projection.to_metres(lonlat))[0]
    vault = Vault.rehearse(pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1]}), world, epsilon=100, seed=0)

    points = rehearse(vault, NAME, 3)

    again = Network.of(world).distances(world.projection.to_metres(points.coordinates))
    assert len(points) == 1
    assert again == pytest.approx(offset, abs=0.02)


def test_an_edge_without_anyone_has_its_own_range() -> None:
    rng = np.random.default_rng(1)
    edge, values = np.zeros(50, dtype=np.int64), np.full(50, 30.0)

    offsets = Histograms.of(edge, values, np.array([7, 7]), np.full(2, EMPTY_REACH), 1.0, rng)

    assert (offsets.draw(np.zeros(200, dtype=np.int64), rng) == 30).all()
    empty = offsets.draw(np.ones(2000, dtype=np.int64), rng)
    assert empty.min() < 2
    assert 8 < empty.max() <= EMPTY_REACH
