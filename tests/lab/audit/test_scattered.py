"""The attacker's law of the kernel is the vault's, though it was written anew."""

from fractions import Fraction

import numpy as np
import pytest

from pointveil.lab.audit.scattered import box_density, kernel_ratio
from pointveil.lab.audit.subjects import Asked
from pointveil.lab.audit.units import Units
from pointveil.vault import NoisyPoints
from pointveil.vault.kernel import blur_sites
from pointveil.vault.noise import SeededWords


@pytest.mark.parametrize(("site", "count"), [(0, 36), (17, 36), (63, 64), (2, 5), (0, 1)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1), Fraction(3)])
def test_the_density_is_what_the_vault_draws(site: int, count: int, epsilon: Fraction) -> None:
    draws, sites = 40_000, np.arange(count)
    density = box_density(float(epsilon), sites, np.full(count, site), np.full(count, count))

    drawn = blur_sites(np.full(draws, site), np.full(draws, count), epsilon, SeededWords(5))

    assert density.sum() == pytest.approx(1)
    error = np.bincount(drawn, minlength=count) / draws - density
    assert np.abs(error).max() < 5 * np.sqrt(density.max() / draws)  # five standard errors


def ratio(drawn: list[int], known: list[int], uses: int = 1) -> float:
    """Return the likelihood ratio for one unit at site 3 of one region with 36 sites."""
    answer = NoisyPoints(np.zeros(len(drawn), dtype=np.int64), np.array(drawn, dtype=np.int64), "place", Fraction(1))
    tokens = np.array([[0, site, 1] for site in known], dtype=np.int64).reshape(-1, 3)
    unit = Units(np.zeros((1, 1, 2)), 1, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    return float(kernel_ratio(Asked(None, answer, uses), np.array([36]), np.array([0]), np.array([3]), tokens, unit)[0])


def test_one_point_beside_nobody_is_compared_with_an_even_spread() -> None:
    for at in (3, 30):
        (density,) = box_density(1.0, np.array([at]), np.array([3]), np.array([36]))
        assert ratio([at], []) == pytest.approx(np.log(density * 36))


def test_one_point_beside_a_stranger_is_one_of_two() -> None:
    near, far = (box_density(1.0, np.array([3]), np.array([site]), np.array([36]))[0] for site in (3, 35))

    assert ratio([3], [35]) == pytest.approx(np.log((near + far) / 2 / far))


def test_many_uses_add_up() -> None:
    near, far = (box_density(1 / 12, np.array([at]), np.array([3]), np.array([36]))[0] for at in (3, 35))

    assert ratio([3] * 12, [], uses=12) == pytest.approx(12 * np.log(near * 36))
    assert ratio([3] * 5 + [35] * 7, [], uses=12) == pytest.approx(5 * np.log(near * 36) + 7 * np.log(far * 36))
