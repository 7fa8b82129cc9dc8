"""The laws of the offset from noisy histograms."""

from fractions import Fraction

import numpy as np
import pytest
import shapely

from pointveil.estimate.offset_laws import OffsetLaws, class_shares, edge_laws
from pointveil.geography import World
from pointveil.geography.road_cells import road_cells
from pointveil.geography.road_offsets import EdgeOffsets
from pointveil.vault import NoisyCounts


def test_offsets_come_from_the_law_of_their_class() -> None:
    noisy = NoisyCounts(np.array([10_000, 0, 0, 0, 0, 10_000]), "offset", Fraction(1))

    laws = class_shares(noisy, np.ones(3))

    assert laws[0, 0] > 0.99
    assert laws[1, 2] > 0.99
    assert laws.sum(axis=1) == pytest.approx([1, 1])


def test_a_class_with_nobody_borrows_the_law_of_all() -> None:
    noisy = NoisyCounts(np.array([5000, 1, -1, 1, -2, 1]), "offset", Fraction(1))

    laws = class_shares(noisy, np.ones(3))

    assert laws[1].tolist() == pytest.approx([1, 0, 0])


def test_if_nothing_stands_out_of_the_noise_every_offset_is_as_likely() -> None:
    laws = class_shares(NoisyCounts(np.array([-3, 2, 0]), "offset", Fraction(1, 100)), np.array([1.0, 2.0, 7.0]))

    assert laws[0].tolist() == pytest.approx([0.1, 0.2, 0.7])


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
