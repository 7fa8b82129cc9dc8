"""Clust moves evenly packed centres to where the noisy counts are."""

from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.cells import Grid, Voronoi
from pointveil.errors import InputError
from pointveil.ground import pack
from pointveil.methods import METHODS
from pointveil.partition import Clusters, Counted
from pointveil.partition.clusters import distinct, move_centres
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, Share
from pointveil.world import World

BUDGET = METHODS["clust-uni"].budget(Fraction(1))


def divide(world: World, clusters: Clusters, crowd: int = 0) -> Counted:
    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        if share.purpose == "total":
            return np.array([20_000])
        counts = np.full(len(cells), 3)
        counts[0] += crowd
        return counts

    return clusters.divide(ScriptedVault(world, script=script), world, BUDGET)


def centres(counted: Counted) -> NDArray[np.float64]:
    assert isinstance(counted.regions, Voronoi)
    return counted.regions.centres


def test_there_are_as_many_regions_as_asked_for(world: World) -> None:
    for clusters in (1, 2, 50):
        assert len(divide(world, Clusters(clusters)).regions) == clusters


def test_the_same_answers_give_the_same_regions(world: World) -> None:
    assert (centres(divide(world, Clusters(30))) == centres(divide(world, Clusters(30)))).all()


def test_centres_move_to_the_crowd(plain_world: World) -> None:
    calm, drawn = (centres(divide(plain_world, Clusters(30), crowd)) for crowd in (0, 100_000))

    assert np.hypot(*drawn.T).min() < np.hypot(*calm.T).min()


def test_a_centre_moves_to_the_weighted_middle_of_what_is_nearest_to_it() -> None:
    start = np.array([[0.0, 0.0], [10.0, 0.0], [500.0, 500.0]])
    places, weights = np.array([[1.0, 0.0], [4.0, 0.0], [9.0, 0.0]]), np.array([1.0, 2.0, 5.0])

    moved = move_centres(start, places, weights, 20)

    assert moved.tolist() == [[3.0, 0.0], [9.0, 0.0], [500.0, 500.0]]


def test_centres_stay_where_nothing_pulls_them() -> None:
    start = np.array([[1.0, 2.0], [3.0, 4.0]])

    assert (move_centres(start, np.empty((0, 2)), np.empty(0), 20) == start).all()
    assert (move_centres(start, np.array([[9.0, 9.0]]), np.ones(1), 0) == start).all()


def test_centres_in_one_place_become_one() -> None:
    assert distinct(np.array([[1.0, 1.0], [5.0, 5.0], [1.001, 1.0]])).tolist() == [[1.0, 1.0], [5.0, 5.0]]


@pytest.mark.parametrize("everywhere", [-100, 0])
def test_no_positive_count_leaves_the_centres_packed_evenly(world: World, everywhere: int) -> None:
    counted = Clusters(20).divide(ScriptedVault(world, everywhere=everywhere), world, BUDGET)

    assert len(counted.regions) == 20
    assert counted.total == 0


def test_a_thousand_centres_settle_on_sixteen_thousand_cells_well_under_a_second() -> None:
    bounds, rng = (0.0, 0.0, 10_000.0, 10_000.0), np.random.default_rng(1)
    grid = Grid(bounds, 127, 127)
    places = grid.lower_corners() + np.array(grid.cell_size) / 2
    start = pack(1000, bounds, lambda xy: np.ones(len(xy), dtype=bool), 1e8)

    began = process_time()
    move_centres(start, places, rng.gamma(0.3, 30.0, len(grid)), 20)

    assert process_time() - began < 1.0


def test_impossible_numbers_are_refused() -> None:
    for wrong in ({"clusters": 0}, {"clusters": 10**9}, {"rounds": -1}):
        with pytest.raises(InputError, match="clusters must be between"):
            Clusters(**wrong)
