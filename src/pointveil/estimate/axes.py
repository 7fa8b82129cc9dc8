"""Orthonormal bases along the sides of a table, from coarse to fine."""

from dataclasses import dataclass

import numpy as np

from pointveil.cells import Floats, Ints


@dataclass(frozen=True, eq=False)
class Axis:
    """A basis whose first vector is constant, the others sorted into blocks of the same scale.

    Parameters
    ----------
    basis
        (n, n) one orthonormal vector a row.
    block
        (n,) the block of each vector; the constant one is block 0, alone.
    """

    basis: Floats
    block: Ints

    def __len__(self) -> int:
        return len(self.block)


def tree_axis(levels: int) -> Axis:
    """Return the Haar basis of 2**levels leaves: a vector compares the two halves of a node; a block is a level."""
    basis, block = np.ones((1, 1)), [0]
    for level in range(levels):
        halves = np.kron(np.eye(2**level), np.array([1.0, -1.0]))
        basis = np.vstack([np.kron(basis, np.ones(2)), halves]) / np.sqrt(2.0)
        block += [level + 1] * 2**level
    return Axis(basis, np.array(block))


def circle_axis(count: int) -> Axis:
    """Return the Fourier basis of a circle, such as the hours of a day; a block is a frequency."""
    angle = 2 * np.pi * np.arange(count) / count
    waves = [wave(frequency * angle) for frequency in range(1, count // 2 + 1) for wave in (np.cos, np.sin)]
    basis = np.vstack([np.ones(count), *waves[: count - 1]])
    block = (np.arange(count) + 1) // 2
    return Axis(basis / np.linalg.norm(basis, axis=1, keepdims=True), block)


def line_axis(count: int) -> Axis:
    """Return the cosine basis of a line with two ends, such as the bins of a number; a block is a frequency."""
    from scipy.fft import dct  # late: only kept columns need it, and it is slow to load

    basis = np.asarray(dct(np.eye(count), axis=0, norm="ortho"), dtype=np.float64)
    return Axis(basis, np.arange(count))


def list_axis(count: int) -> Axis:
    """Return a basis for things without order, such as categories: all contrasts are one block."""
    block = np.minimum(np.arange(count), 1)
    from scipy.linalg import helmert  # late, as above

    return Axis(np.asarray(helmert(count, full=True), dtype=np.float64), block)


def with_other(axis: Axis) -> Axis:
    """Return the basis with one more place at the end, which lies apart from all others; its contrast is a block."""
    count = len(axis)
    basis = np.zeros((count + 1, count + 1))
    basis[0] = 1 / np.sqrt(count + 1)
    basis[1] = np.append(np.full(count, 1.0), -count) / np.sqrt(count * (count + 1))
    basis[2:, :count] = axis.basis[1:]
    return Axis(basis, np.concatenate([[0, axis.block.max() + 1], axis.block[1:]]))


AXES = {"circle": circle_axis, "line": line_axis, "list": list_axis}
