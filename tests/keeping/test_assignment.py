"""Every patch of the map gets nearly the right mix of bins."""

import numpy as np

from pointveil.keeping.assignment import assign, walk

SQUARE = np.random.default_rng(1).uniform(0, 1000, (4000, 2))
ONE_GROUP = np.zeros(len(SQUARE), dtype=np.int64)


def test_a_walk_visits_every_point_once_in_small_steps() -> None:
    order = walk(SQUARE)

    assert sorted(order.tolist()) == list(range(len(SQUARE)))
    assert np.linalg.norm(np.diff(SQUARE[order], axis=0), axis=1).mean() < 30


def test_a_walk_over_nobody_or_one_place_is_no_trouble() -> None:
    assert walk(np.empty((0, 2))).tolist() == []
    assert walk(np.ones((3, 2))).tolist() == [0, 1, 2]


def test_the_whole_and_every_patch_get_the_right_mix() -> None:
    law = np.array([[0.5, 0.3, 0.2]])

    bins, _ = assign(walk(SQUARE), ONE_GROUP, law, np.random.default_rng(2))

    assert np.abs(np.bincount(bins, minlength=3) / len(bins) - law[0]).max() < 0.002
    patch = (SQUARE // 250 @ [4, 1]).astype(np.int64)
    mixes = np.array(
        [np.bincount(bins[patch == number], minlength=3) / (patch == number).sum() for number in range(16)]
    )
    # Independent draws would be off by 0.03 in the mean over patches of about 250 points.
    assert np.abs(mixes - law).mean() < 0.01


def test_each_group_follows_its_own_law() -> None:
    group = (SQUARE[:, 0] > 500).astype(np.int64)

    bins, _ = assign(walk(SQUARE), group, np.array([[1.0, 0.0, 0.0], [0.0, 3.0, 1.0]]), np.random.default_rng(3))

    assert set(bins[group == 0].tolist()) == {0}
    assert np.abs((bins[group == 1] == 2).mean() - 0.25) < 0.002


def test_places_inside_a_bin_are_even() -> None:
    bins, place = assign(walk(SQUARE), ONE_GROUP, np.array([[0.7, 0.3]]), np.random.default_rng(4))

    for number in (0, 1):
        inside = np.sort(place[bins == number])
        assert (inside >= 0).all()
        assert (inside < 1).all()
        assert np.abs(inside - (np.arange(len(inside)) + 0.5) / len(inside)).max() < 0.01


def test_a_bin_without_people_gets_nobody_and_a_group_without_people_takes_all_alike() -> None:
    group = (SQUARE[:, 0] > 500).astype(np.int64)

    bins, _ = assign(walk(SQUARE), group, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.random.default_rng(5))

    assert set(bins[group == 0].tolist()) == {1}
    assert np.bincount(bins[group == 1]).min() > 0.33 * (group == 1).sum()


def test_the_same_seed_gives_the_same_bins() -> None:
    law = np.array([[0.5, 0.5]])

    first, again, other = (assign(walk(SQUARE), ONE_GROUP, law, np.random.default_rng(seed))[0] for seed in (6, 6, 7))

    assert (first == again).all()
    assert (first != other).any()
