"""What is already public about where people are: an earlier release, a sample, or a table of population."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pointveil.cells.arrays import Floats, Ints

FINEST = 4.0  # metres: the side of the squares in which a prior is counted
MOST_SQUARES = 2.0**26  # of a world, which bounds memory: in a large one the squares are wider
UNITS = 1000  # weights are whole thousandths, so that they are the same on every machine


@dataclass(frozen=True, eq=False)
class Prior:
    """Public points or weights, summed over small squares of the world."""

    source: Mapping[str, Any]  # what it was read from, as plain facts for the statement
    side: float  # of a square, metres; squares are counted from the world's south-west corner
    square: Ints  # (squares,): column times 2**32 plus row of those that hold anything, ascending
    weight: Ints  # (squares,): thousandths of a point, at least one
    content: tuple[str, ...] = ()  # digests of its points, by which a ledger would know them; none if not at hand

    @classmethod
    def of(
        cls, xy: Floats, size: tuple[float, float], source: Mapping[str, Any], weight: Floats | None = None
    ) -> "Prior":
        """Return the prior that points (n, 2) in metres make; those outside a world of this size are left out.

        Weights count by their ratios alone. They stand for as many points as would scatter alike: their sum squared
        over the sum of their squares.
        """
        side = max(FINEST, math.sqrt(math.prod(size) / MOST_SQUARES))
        inside = ((xy >= 0) & (xy < np.array(size))).all(axis=1)
        xy, weight = xy[inside], None if weight is None else weight[inside]
        column, row = np.floor(xy / side).astype(np.int64).T
        each = np.ones(len(xy)) if weight is None else weight * (weight.sum() / max(float((weight**2).sum()), 1e-300))
        square, place = np.unique(column << 32 | row, return_inverse=True)
        sums = np.rint(np.bincount(place, each, len(square)) * UNITS).astype(np.int64)
        return cls(source, side, square[sums > 0], sums[sums > 0])

    @property
    def facts(self) -> dict[str, Any]:
        """What a ledger writes down of it, and by which it would know private points."""
        return {**self.source, "points": list(self.content)}

    @cached_property
    def digest(self) -> str:
        """A SHA-256 of all that is used of it."""
        digest = hashlib.sha256(f"pointveil prior 1 {self.side.hex()}".encode())
        for values in (self.square, self.weight):
            digest.update(values.astype("<i8").tobytes())
        return digest.hexdigest()

    @property
    def middles(self) -> Floats:
        """The middle of each square, (squares, 2) metres."""
        corner = np.column_stack([self.square >> 32, self.square & 0xFFFFFFFF])
        return np.asarray((corner + 0.5) * self.side, dtype=np.float64)

    @property
    def points(self) -> Floats:
        """How many points each square has, (squares,), not whole if there were weights."""
        return np.asarray(self.weight / UNITS, dtype=np.float64)
