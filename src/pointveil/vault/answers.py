"""The two kinds of value that may leave the vault."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NoisyCounts:
    """How many points, votes or persons are in each cell, with noise that has been paid for."""

    values: NDArray[Any]  # one number a cell, whole as it leaves the vault; may be negative
    purpose: str  # what the question was for
    epsilon: Fraction  # what it cost
    points_per_unit: int = 1  # the sensitivity: by how much one unit can change the values; the noise is as wide
    parts: int = 1  # of one: values that were divided and rounded are multiples of its inverse

    @property
    def variance(self) -> float:
        """The variance of the noise in one count."""
        return laplace_variance(self.noise_epsilon / self.parts) / self.parts**2

    @property
    def noise_epsilon(self) -> Fraction:
        """The epsilon of the noise itself: the cost, over the sensitivity."""
        return self.epsilon / self.points_per_unit


@dataclass(frozen=True)
class NoisyPoints:
    """Blurred points, each on a public site of a region, paid for and shuffled."""

    region: NDArray[np.int64]  # the number of the region of each point
    site: NDArray[np.int64]  # the number of its site within that region
    purpose: str
    epsilon: Fraction
    points_per_unit: int = 1


def laplace_variance(epsilon: Fraction | float) -> float:
    """Return the variance of the discrete Laplace law with ratio exp(-epsilon)."""
    return 1 / (2 * math.sinh(min(float(epsilon), 700.0) / 2) ** 2)
