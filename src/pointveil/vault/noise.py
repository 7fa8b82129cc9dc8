"""Exact integer Laplace noise from the operating system's randomness (proof: noise.md)."""

import os
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from decimal import ROUND_CEILING as CEILING
from decimal import ROUND_FLOOR as FLOOR
from fractions import Fraction
from functools import lru_cache
from math import ceil, inf, nextafter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pointveil.errors import InputError, missing_extra

Words = Callable[[int], NDArray[np.uint64]]  # gives so many independent words of 64 even bits

SMALLEST = Fraction(1, 10**12)  # of the epsilons served; below, the noise drowns any count, even of votes
LARGEST = Fraction(10**9)  # above, it hides nothing
REACH = 16  # a table goes out to REACH / epsilon; beyond lie the tails, met about once in nine million draws
WIDEST = 2**15  # the largest value in a table; a smaller epsilon is doubled until its table fits
CHUNK = 2**16  # draws made at once: few enough to stay in the processor's cache
LEADING = 16  # how many leading bits of a word the look-up table reads
OPEN = np.iinfo(np.int32).min  # stands in the look-up table where the leading bits do not decide


class Noise(Protocol):
    """Integer noise for counts."""

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Return `count` independent values of the noise."""


def secure_words(count: int) -> NDArray[np.uint64]:
    """Return `count` random words from the operating system: the only source for a real release."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededWords:
    """Repeatable words for rehearsals: whoever knows the seed can take the noise off again."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def __call__(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words."""
        return self._generator.random_raw(count)


@dataclass(frozen=True)
class DiscreteLaplace:
    """Whole numbers z with probability (1 - q) / (1 + q) · q^|z|, where q = exp(-epsilon), exactly.

    Added to counts that one neighbour changes by at most 1 in all, it makes them
    epsilon-differentially private; by at most k in all, use epsilon / k.
    """

    epsilon: Fraction  # the privacy loss per unit of change

    def __post_init__(self) -> None:
        _check(self.epsilon)

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Return `count` independent values, modulo 2^64: this keeps the promise (noise.md)."""
        return _in_chunks(count, lambda size: self._draw_chunk(size, words))

    def _draw_chunk(self, count: int, words: Words) -> NDArray[np.int64]:
        """Draw for epsilon doubled until its table fits; then halve the steps again (lemma 3)."""
        steps = [self.epsilon]
        while steps[-1] * WIDEST < REACH:
            steps.append(2 * steps[-1])
        values = _draw_with_tails(_table(_Law(steps[-1], ceil(REACH / steps[-1]), 1)), count, words)
        for step in reversed(steps[:-1]):
            values = 2 * values + _table(_Law(step, 1, 2)).draw(count, words)
        return values


@dataclass(frozen=True)
class OpenDPLaplace:
    """The same law drawn by OpenDP, for owners who must use its library; noise.md says what it promises."""

    epsilon: Fraction  # the privacy loss per unit of change; OpenDP gets a scale that is never smaller
    _measurement: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self.epsilon)
        object.__setattr__(self, "_measurement", _opendp_measurement(scale_for(self.epsilon)))

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:  # noqa: ARG002 - OpenDP has its own
        """Return `count` independent values from OpenDP's own secure randomness; `words` is not used."""
        return _in_chunks(count, lambda size: self._measurement([0] * size))


NOISES: dict[str, Callable[[Fraction], Noise]] = {"exact": DiscreteLaplace, "opendp": OpenDPLaplace}


def scale_for(epsilon: Fraction) -> float:
    """Return the smallest float that is at least 1 / epsilon, so that noise is never too small."""
    scale = float(1 / epsilon)
    return scale if Fraction(scale) * epsilon >= 1 else nextafter(scale, inf)


def _opendp_measurement(scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise missing_extra("opendp", "opendp") from error
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


def _in_chunks(count: int, draw: Callable[[int], ArrayLike]) -> NDArray[np.int64]:
    values = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK):
        part = values[start : start + CHUNK]
        part[:] = draw(part.size)
    return values


def _check(epsilon: Fraction) -> None:
    if not isinstance(epsilon, Fraction):
        raise InputError(f"epsilon={epsilon!r} must be a Fraction, for example Fraction('0.1').")
    if not SMALLEST <= epsilon <= LARGEST:
        raise InputError(f"epsilon={epsilon} must lie between {SMALLEST} and {LARGEST}.")


@dataclass(frozen=True)
class _Law:
    """A symmetric law on -width … width with P(Z ≤ -j) = q^j / (1 + q)^power, where q = exp(-epsilon).

    Power 1 is the discrete Laplace law, its tails heaped on the two ends; power 2 with width 1 is the
    law of the last binary digit (lemma 3).
    """

    epsilon: Fraction
    width: int
    power: int

    def thresholds(self, length: int) -> list[int]:
        """Return floor(2^length · P(Z ≤ z)) for z = -width … width - 1, with enough digits to be certain."""
        digits = length // 3 + 20
        while (lower := self._bounds(length, digits, FLOOR)) != self._bounds(length, digits, CEILING):
            digits *= 2
        return lower[::-1] + [2**length - 1 - floor for floor in lower]

    def _bounds(self, length: int, digits: int, side: str) -> list[int]:
        """Return the floors of bounds, all on one side, of 2^length · P(Z ≤ -j) for j = 1 … width."""
        toward = Context(digits, side, MIN_EMIN, MAX_EMAX)
        away = Context(digits, FLOOR if side == CEILING else CEILING, MIN_EMIN, MAX_EMAX)
        divisor = away.add(1, _exponential(self.epsilon, away))
        divisor = away.multiply(divisor, divisor) if self.power == 2 else divisor
        ratio = _exponential(self.epsilon, toward)
        terms = [toward.multiply(ratio, toward.divide(Decimal(2**length), divisor))]
        while len(terms) < self.width:
            terms.append(toward.multiply(ratio, terms[-1]))
        return [int(term) for term in terms]


def _exponential(epsilon: Fraction, toward: Context) -> Decimal:
    """Return a bound on exp(-epsilon) on the side that `toward` rounds to; `exp` itself rounds to nearest."""
    nearest = toward.exp(toward.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator)))
    return toward.next_minus(nearest) if toward.rounding == FLOOR else toward.next_plus(nearest)


@dataclass(frozen=True, eq=False)
class _Table:
    """Inverts a law with lazy bits: a value is -width plus the number of thresholds below a random number."""

    law: _Law
    thresholds: NDArray[np.uint64]
    leading: NDArray[np.int32]

    def draw(self, count: int, words: Words) -> NDArray[np.int64]:
        """Return values, most of them decided by the leading bits of one word each."""
        drawn = words(count)
        values: NDArray[np.int64] = self.leading[drawn >> np.uint64(64 - LEADING)].astype(np.int64)
        undecided = np.flatnonzero(values == OPEN)
        values[undecided] = self._below(drawn[undecided], words) - self.law.width
        return values

    def _below(self, drawn: NDArray[np.uint64], words: Words) -> NDArray[np.int64]:
        """Count the thresholds below each word; a word that equals one needs more bits."""
        below: NDArray[np.int64] = np.searchsorted(self.thresholds, drawn)
        nearest = self.thresholds[np.minimum(below, self.thresholds.size - 1)]
        for tie in np.flatnonzero(nearest == drawn):
            below[tie] = self._settle(int(drawn[tie]), words)
        return below

    def _settle(self, bits: int, words: Words) -> int:
        """Append words until the bits equal no threshold; return how many thresholds lie below."""
        length, thresholds = 64, [bits]
        while bits in thresholds:
            length, bits = length + 64, bits << 64 | int(words(1)[0])
            thresholds = self.law.thresholds(length)
        return bisect_left(thresholds, bits)


@lru_cache(maxsize=256)
def _table(law: _Law) -> _Table:
    thresholds = np.array(law.thresholds(64), dtype=np.uint64)
    first = np.arange(2**LEADING, dtype=np.uint64) << np.uint64(64 - LEADING)
    last = first | np.uint64(2 ** (64 - LEADING) - 1)
    below = np.searchsorted(thresholds, first, side="left")
    decided = below == np.searchsorted(thresholds, last, side="right")
    return _Table(law, thresholds, np.where(decided, below - law.width, OPEN).astype(np.int32))


def _draw_with_tails(table: _Table, count: int, words: Words) -> NDArray[np.int64]:
    """Draw from the table; from an end, go on by what a fresh value adds if it is not negative (lemma 2)."""
    values = table.draw(count, words)
    far = np.flatnonzero(np.abs(values) == table.law.width)
    sign = np.sign(values[far])
    while far.size:
        more = table.draw(far.size, words)
        values[far] += sign * np.maximum(more, 0)
        again = (more < 0) | (more == table.law.width)
        far, sign = far[again], sign[again]
    return values
