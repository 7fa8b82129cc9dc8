"""The law of the noise through the vault's own door, and the order of what leaves it.

Each test fails by chance less than once in a million; each also fails for noise that is a little too narrow or shifted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from pointveil.methods import METHODS
from pointveil.releases import synthesize
from pointveil.vault import VOTES, Share, Vault
from pointveil.world import World

CELLS = 200_000
UNLIKELY = 1e-6
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Nowhere:
    """Cells that hold nobody: the answer is the noise itself."""

    size: int = CELLS

    def __len__(self) -> int:
        return self.size

    def locate(self, xy: NDArray[np.float64]) -> Ints:
        return np.full(len(xy), -1)


def fits(noise: Ints, epsilon: float) -> bool:
    """Whether values follow the discrete Laplace law: a chi-square test of the middle and of both tails."""
    ratio = np.exp(-epsilon)
    reach = int(np.floor(np.log(len(noise) / 200) / epsilon))  # so that every bin expects many
    values = np.arange(-reach, reach + 1)
    chance = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    tail = ratio ** (reach + 1) / (1 + ratio)
    expected = len(noise) * np.concatenate([[tail], chance, [tail]])
    observed = np.bincount(np.clip(noise, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return statistic < chi2.isf(UNLIKELY, len(expected) - 1)


def ask(world: World, epsilon: Fraction, **options: object) -> Ints:
    nobody = pa.table(
        {"lon": pa.array([], pa.float64()), "lat": pa.array([], pa.float64()), "who": pa.array([], pa.string())}
    )
    vault = Vault.open(nobody, world, epsilon=epsilon, **options)  # type: ignore[arg-type]
    return vault.count(Nowhere(), Share("count", epsilon)).values


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 4), Fraction(1), Fraction(2)])
def test_the_vault_adds_the_noise_that_it_states(epsilon: Fraction, plain_world: World) -> None:
    assert fits(ask(plain_world, epsilon), float(epsilon))


def test_for_persons_the_noise_is_that_much_wider(plain_world: World) -> None:
    noise = ask(plain_world, Fraction(1), person="who", max_points=5)

    assert fits(noise, 1 / (5 * VOTES))
    assert not fits(noise, 1 / 5)


WRONG: dict[str, Callable[[Ints], Ints]] = {
    "shifted": lambda noise: noise + (np.arange(len(noise)) % 20 == 0),
    "narrow": lambda noise: np.where(np.arange(len(noise)) % 20 == 0, noise // 2, noise),
    "cut off": lambda noise: np.clip(noise, -6, 6),
    "one-sided": np.abs,
    "without zero": lambda noise: np.where((noise == 0) & (np.arange(len(noise)) % 8 == 0), 1, noise),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_noise_that_is_a_little_wrong_is_noticed(wrong: str, plain_world: World) -> None:
    noise = ask(plain_world, Fraction(1))

    assert not fits(WRONG[wrong](noise), 1.0)


def test_noise_in_one_cell_says_nothing_about_the_next(plain_world: World) -> None:
    first, second = ask(plain_world, Fraction(1)), ask(plain_world, Fraction(1))

    for other in (np.roll(first, 1), np.roll(first, 17), second):
        correlation = float(np.corrcoef(first, other)[0, 1])
        assert abs(correlation) < 5 / np.sqrt(CELLS)


@dataclass(frozen=True)
class OneRegion:
    """One region with a thousand sites; everybody is on the first."""

    def site_counts(self) -> Ints:
        return np.array([1000])

    def locate_sites(self, xy: NDArray[np.float64]) -> tuple[Ints, Ints]:
        return np.zeros(len(xy), dtype=np.int64), np.zeros(len(xy), dtype=np.int64)


def test_the_row_of_a_scattered_point_is_even(plain_world: World) -> None:
    """With next to no blur a person's own point is the one at the first site: it may stand in any row."""
    one = pa.table({"lon": [10.001], "lat": [50.001]})
    rows = np.zeros(10)
    for _ in range(2000):
        answer = Vault.open(one, plain_world, epsilon=20, ledger=None).scatter(
            OneRegion(), np.array([10]), Share("place", Fraction(20))
        )
        rows += answer.site == 0

    expected = rows.sum() / 10
    assert rows.sum() > 1800
    assert ((rows - expected) ** 2 / expected).sum() < chi2.isf(UNLIKELY, 9)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_synthetic_points_says_nothing(method: str, people: NDArray[np.float64], world: World) -> None:
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1]})
    made = synthesize(Vault.open(table, world, epsilon=1), method, count=4000).coordinates

    for axis in (0, 1):
        ranks = made[:, axis].argsort().argsort().astype(np.float64)
        place = np.arange(len(ranks), dtype=np.float64)
        assert abs(np.corrcoef(ranks, place)[0, 1]) < 5 / np.sqrt(len(ranks))
        assert abs(np.corrcoef(ranks[1:], ranks[:-1])[0, 1]) < 5 / np.sqrt(len(ranks))
