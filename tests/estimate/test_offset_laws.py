"""The laws of the offset from noisy histograms."""

from fractions import Fraction

import numpy as np
import pytest
import shapely

from pointveil.cells import EdgeOffsets
from pointveil.estimate.offset_laws import FarLaw, OffsetLaws, edge_laws, kind_shares
from pointveil.network import road_cells
from pointveil.vault import NoisyCounts
from pointveil.world import World


def test_offsets_come_from_the_law_of_their_kind() -> None:
    noisy = np.array([[10_000.0, 0, 0], [0, 0, 10_000]])

    shares = kind_shares(noisy, 2.0, np.array([10_000.0, 10_000]), np.ones(3))

    assert shares[0, 0] > 0.99
    assert shares[1, 2] > 0.99
    assert shares.sum(axis=1) == pytest.approx([1, 1])


def test_a_kind_with_nobody_to_speak_of_takes_the_law_of_all() -> None:
    rng = np.random.default_rng(1)
    law = np.array([0.4, 0.3, 0.1, 0.1, 0.04, 0.03, 0.02, 0.01, 0, 0, 0, 0])
    noisy = np.array([50_000 * law, rng.laplace(0, 10, 12)])

    shares = kind_shares(noisy, 200.0, np.array([50_000.0, 20]), np.ones(12))

    assert np.abs(shares[0] - law).sum() < 0.01
    assert np.abs(shares[1] - law).sum() < 0.6


def test_if_there_is_nobody_every_offset_is_as_likely() -> None:
    shares = kind_shares(np.array([[-3.0, 2, 0]]), 20_000.0, np.zeros(1), np.array([1.0, 2.0, 7.0]))

    assert shares[0].tolist() == pytest.approx([0.1, 0.2, 0.7])


def test_the_mean_offset_is_nearer_to_the_truth_than_without_bins_that_do_not_stand_out() -> None:
    rng = np.random.default_rng(3)
    true = np.array([[900.0, 500, 200, 60, 30, 20], [90, 50, 20, 6, 3, 2]])
    middles, totals = np.array([1.0, 3, 6, 11, 15, 20]), true.sum(axis=1)
    wanted = (true @ middles).sum() / true.sum()

    errors, without = [], []
    for _ in range(400):
        noisy = true + rng.laplace(0, 20, true.shape)
        shares = kind_shares(noisy, 2 * 20.0**2, totals, np.ones(6))
        errors.append((totals @ (shares @ middles)) / true.sum() - wanted)
        outstanding = np.where(noisy > 2 * 20 * 2**0.5, noisy, 0)
        without.append((outstanding @ middles).sum() / outstanding.sum() - wanted)

    assert abs(np.mean(errors)) < 0.5 * abs(np.mean(without))
    assert np.mean(np.square(errors)) < 0.8 * np.mean(np.square(without))


def two_edges() -> EdgeOffsets:
    lines = [shapely.LineString([(0, y), (1000, y)]) for y in (100, 900)]
    world = World.make((0, 0, 1000, 1000), crs="EPSG:32633", roads=np.array(lines))
    return EdgeOffsets(road_cells(world, 20.1, 200.0), np.array([2, 4]))


def test_an_edge_has_a_law_of_its_own_bins() -> None:
    noisy = NoisyCounts(np.array([0, 300, 100, 500, 0, 0, 0, 500, 99]), "offset", Fraction(1))

    laws = edge_laws(noisy, two_edges())

    assert [shares.tolist() for shares in laws.shares] == [[0, 0.75, 0.25], [0.5, 0, 0, 0, 0.5]]
    assert laws.borders[0].tolist() == pytest.approx([0, 0.1, 10.1, 20.1])
    assert laws.of_edge.tolist() == [0, 1]


def test_an_edge_of_which_nothing_stands_out_has_all_offsets_alike() -> None:
    noisy = NoisyCounts(np.array([-2, 1, 0, 500, 0, 0, 0, 0, 99]), "offset", Fraction(1, 3))

    laws = edge_laws(noisy, two_edges())

    assert laws.shares[0].tolist() == pytest.approx(np.array([0.1, 10, 10]) / 20.1)
    assert laws.shares[1].tolist() == [1, 0, 0, 0, 0]


def test_offsets_are_drawn_evenly_from_the_law_of_each_edge() -> None:
    laws = OffsetLaws(np.array([1, 0, 1]), [np.array([0.0, 0.1, 10.0])] * 2, [np.array([0.5, 0.5]), np.array([0, 1.0])])
    edge = np.repeat([0, 1, 2], 1000)

    offset = laws.draw(edge, np.random.default_rng(1))

    on_road = offset == 0
    assert not on_road[edge != 1].any()
    assert on_road[edge == 1].sum() == 500
    assert offset[edge != 1].mean() == pytest.approx(5.05, abs=0.01)
    assert laws.draw(np.zeros(0, dtype=np.int64), np.random.default_rng(1)).tolist() == []


def weights_of(law: FarLaw) -> float:
    """How much likelier a place at 10 m is than one at 30 m, for 1,000 points with a choice of two such places."""
    owner, distance = np.repeat(np.arange(1000), 2), np.tile([10.0, 30.0], 1000)
    near, far = law.factors(owner, distance, np.ones(1000))[:2]
    return float(near / far)


def test_far_places_are_as_likely_as_the_histogram_says() -> None:
    assert weights_of(FarLaw(np.array([5.0, 20.0]), np.array([900.0, 100.0]), 2.0, 1000.0)) == pytest.approx(
        9, rel=0.05
    )
    assert weights_of(FarLaw(np.array([5.0, 20.0]), np.array([9.0, 1.0]), 0.02, 10.0)) == pytest.approx(9, rel=0.05)


def test_far_places_are_all_alike_if_the_histogram_is_lost_in_noise() -> None:
    borders, lost = np.arange(5.0, 105.0, 10.0), np.array([9.0, -7, 3, 0, -4, 8, -2, 5, -6, 1])

    assert 0.2 < weights_of(FarLaw(borders, 100 * lost, 1e6, 1000.0)) < 5
    assert weights_of(FarLaw(borders, 100 * lost, 1e6, 0.0)) == 1


def test_no_far_places_are_no_trouble() -> None:
    law = FarLaw(np.array([5.0, 20.0]), np.array([900.0, 100.0]), 2.0, 1000.0)

    assert len(law.factors(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))) == 0
