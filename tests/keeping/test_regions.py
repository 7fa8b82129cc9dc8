"""People are cut into halves of halves, across the longer side."""

import numpy as np
import pytest

from pointveil.keeping.regions import MOST_LEVELS, Tree, cut_people, effective_bins, halve, region_levels


def test_the_cut_goes_across_the_longer_side_between_the_two_halves() -> None:
    places = np.array([[0.0, 0.0], [1.0, 1.0], [4.0, 0.0], [9.0, 2.0]])

    assert halve(places) == (0, 2.5)


def test_equal_places_are_never_torn_apart() -> None:
    places = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0]])

    assert halve(places) == (0, 1.5)


def test_regions_hold_equal_people() -> None:
    rng = np.random.default_rng(1)
    places = rng.normal(0, (300, 1000), (4096, 2))

    regions = cut_people(places, 5)

    assert (np.bincount(regions.locate(places), minlength=32) == 128).all()


def test_fewer_regions_are_the_upper_part_of_the_same_tree() -> None:
    places = np.random.default_rng(2).uniform(0, 1000, (500, 2))
    tree = Tree(places, 1000)

    few, many = tree.regions(2), tree.regions(5)

    assert (many.locate(places) >> 3 == few.locate(places)).all()
    assert (tree.regions(2).locate(places) == few.locate(places)).all()
    assert np.allclose(tree.expected(2), 250)


def test_the_order_of_the_places_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    places = np.rint(rng.uniform(0, 100, (500, 2)))

    first, second = cut_people(places, 4), cut_people(places[rng.permutation(500)], 4)

    assert (first.at == second.at).all()
    assert (first.axis == second.axis).all()


@pytest.mark.parametrize("places", [np.empty((0, 2)), np.zeros((7, 2))])
def test_nobody_or_one_place_still_gives_regions(places: np.ndarray) -> None:
    regions = cut_people(places, 3)

    assert len(regions) == 8
    assert len(set(regions.locate(places).tolist())) <= 1


def test_the_number_of_regions_leaves_room_for_the_noise() -> None:
    assert region_levels(8 * 24 * 64 / 0.1, 0.1, 24) == 6
    assert region_levels(0, 0.1, 24) == 0
    assert region_levels(1e15, 1, 2) == MOST_LEVELS


def test_effective_bins_counts_the_bins_that_hold_people() -> None:
    assert effective_bins(np.array([5.0, 5.0, 0.0, 0.0])) == 2
    assert effective_bins(np.array([3.0, 1.0])) == pytest.approx(1.6)
    assert effective_bins(np.zeros(4)) == 4
