"""Every axis is an orthonormal basis whose first vector is constant."""

import numpy as np
import pytest

from pointveil.estimate.axes import Axis, circle_axis, line_axis, list_axis, tree_axis, with_other

AXES = {
    **{f"tree {levels}": tree_axis(levels) for levels in (0, 1, 5)},
    **{f"circle {count}": circle_axis(count) for count in (1, 2, 7, 24)},
    **{f"line {count}": line_axis(count) for count in (1, 2, 20)},
    **{f"list {count}": list_axis(count) for count in (1, 2, 5)},
    "circle and other": with_other(circle_axis(24)),
    "line and other": with_other(line_axis(5)),
}


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_the_basis_is_orthonormal_and_begins_with_the_constant(axis: Axis) -> None:
    assert np.allclose(axis.basis @ axis.basis.T, np.eye(len(axis)))
    assert np.allclose(axis.basis[0], 1 / np.sqrt(len(axis)))
    assert np.flatnonzero(axis.block == 0).tolist() == [0]


def test_the_tree_compares_halves() -> None:
    half = np.sqrt(0.5)

    assert np.allclose(tree_axis(2).basis[1:], [[0.5, 0.5, -0.5, -0.5], [half, -half, 0, 0], [0, 0, half, -half]])
    assert tree_axis(3).block.tolist() == [0, 1, 2, 2, 3, 3, 3, 3]


def test_the_upper_vectors_of_a_tree_are_those_of_a_smaller_one() -> None:
    assert np.allclose(tree_axis(4).basis[:4], np.repeat(tree_axis(2).basis, 4, axis=1) / 2)


def test_a_circle_pairs_sine_and_cosine() -> None:
    assert circle_axis(5).block.tolist() == [0, 1, 1, 2, 2]
    assert circle_axis(4).block.tolist() == [0, 1, 1, 2]


def test_a_moved_wave_stays_in_its_block_of_a_circle() -> None:
    axis = circle_axis(24)
    wave = np.cos(2 * np.pi * (np.arange(24) - 5) * 3 / 24)

    assert set(axis.block[np.abs(axis.basis @ wave) > 1e-9].tolist()) == {3}
