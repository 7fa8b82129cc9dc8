"""The law of the noise: exact thresholds, every path of the sampler, and tests that a wrong sampler fails."""

import ast
import math
import os
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pointveil.errors import InputError, MissingExtraError
from pointveil.vault import noise
from pointveil.vault.noise import (
    NOISES,
    DiscreteLaplace,
    OpenDPLaplace,
    SeededWords,
    scale_for,
    secure_words,
)

Values = NDArray[np.int64]

DRAWS = 1_000_000
FALSE_ALARM = 1e-6  # how often a right sampler fails one statistical test (all seeds but one are fixed)
EPSILONS = [Fraction(text) for text in ("0.000001", "0.0001", "0.003", "0.01", "1/3", "1", "5", "50")]
ONE = Fraction(1)
MIDDLE = 2**63  # a word in the middle of the law: the value 0


# The tests of the law


def cumulative(epsilon: float, edges: Values) -> NDArray[np.float64]:
    """P(Z ≤ edge) in floats, whose errors are far below what a million draws can see."""
    below = np.exp(epsilon * np.minimum(edges, 0)) / (1 + np.exp(-epsilon))
    above = 1 - np.exp(-epsilon * (np.maximum(edges, 0) + 1)) / (1 + np.exp(-epsilon))
    return np.asarray(np.where(edges < 0, below, above), dtype=np.float64)


def cell_edges(epsilon: float, draws: int) -> Values:
    """Last values of at most 280 cells with 12 expected draws or more; the two end cells are the tails."""
    thin = 25 / draws * 2.0 ** np.arange(math.log2(draws / 25 / 250))
    levels = np.concatenate([thin, np.linspace(1 / 250, 1 / 2, 125)])
    lower = np.minimum(-1, np.ceil(np.log(levels * (1 + math.exp(-epsilon))) / epsilon)).astype(np.int64)
    return np.unique(np.concatenate([lower, -1 - lower]))


def in_cells(values: Values, edges: Values) -> Values:
    """Number of values in each cell."""
    return np.bincount(np.searchsorted(edges, values), minlength=edges.size + 1)


def law_p_value(values: Values, epsilon: Fraction) -> float:
    """Three tests in one (Bonferroni): chi-square over all cells, and a binomial test of each tail."""
    edges = cell_edges(float(epsilon), values.size)
    chances = np.diff(cumulative(float(epsilon), edges), prepend=0, append=1)
    observed = in_cells(values, edges)
    tails = [stats.binomtest(int(observed[end]), values.size, chances[end]).pvalue for end in (0, -1)]
    enough = chances * values.size >= 5  # at a large epsilon tails expect less; their own tests see them
    shape = stats.chisquare(observed[enough], chances[enough] / chances[enough].sum() * observed[enough].sum())
    return float(3 * min(*tails, shape.pvalue if enough.sum() > 1 else 1.0))


def two_sample_p_value(some: Values, others: Values, epsilon: Fraction) -> float:
    """Chi-square of two samples against each other."""
    edges = cell_edges(float(epsilon), some.size)
    return float(stats.chi2_contingency(np.array([in_cells(some, edges), in_cells(others, edges)])).pvalue)


class Script:
    """Gives the scripted words in order, and fails when asked for more."""

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)

    def __call__(self, count: int) -> NDArray[np.uint64]:
        assert count <= len(self.left), "the sampler asked for more words than scripted"
        given, self.left = self.left[:count], self.left[count:]
        return np.array(given, dtype=np.uint64)


def draw_scripted(epsilon: Fraction, count: int, words: Iterable[int]) -> list[int]:
    """Draw with exactly these words, all of them."""
    script = Script(words)
    values = DiscreteLaplace(epsilon).draw(count, script)
    assert not script.left, "words were left over"
    return [int(value) for value in values]


# An independent reckoning, in whole numbers and fractions


def exponential_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds on exp(-x): the series of exp at x / 2^halvings, below 1/256; squared so often; inverted."""
    halvings = math.ceil(x).bit_length() + 8
    part = x / 2**halvings
    term, total, order = Fraction(1), Fraction(0), 0
    while term * 2**bits > 1:
        total, order = total + term, order + 1
        term *= part / order
    low, high = math.floor(total * 2**bits), math.ceil((total + 2 * term) * 2**bits)
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return Fraction(2**bits, high), Fraction(2**bits, low)


def exact_floor(epsilon: Fraction, j: int, power: int, length: int) -> int:
    """floor(2^length · q^j / (1 + q)^power), from bounds that agree."""
    q_low, q_high = exponential_bounds(epsilon, length + 256)
    power_low, power_high = exponential_bounds(j * epsilon, length + 256)
    low, high = 2**length * power_low / (1 + q_high) ** power, 2**length * power_high / (1 + q_low) ** power
    assert math.floor(low) == math.floor(high)
    return int(low)


@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_thresholds_equal_those_of_an_independent_reckoning(epsilon: Fraction, length: int) -> None:
    width = min(noise.WIDEST, math.ceil(noise.REACH / epsilon))
    chosen = [j for j in (1, 2, 3, width // 3, width - 1, width) if 1 <= j <= width]

    thresholds = noise._Law(epsilon, width, 1).thresholds(length)
    digit = noise._Law(epsilon, 1, 2).thresholds(length)

    floors = [exact_floor(epsilon, j, 1, length) for j in chosen]
    assert len(thresholds) == 2 * width <= 2**16
    assert [thresholds[width - j] for j in chosen] == floors
    assert [thresholds[width + j - 1] for j in chosen] == [2**length - 1 - floor for floor in floors]
    assert digit == [floor := exact_floor(epsilon, 1, 2, length), 2**length - 1 - floor]


@pytest.mark.parametrize("digits", [3, 20])
def test_the_exponential_lies_between_its_two_bounds(digits: int) -> None:
    for number in range(1, 200):
        epsilon = Fraction(number, 97)

        lower, upper = (
            Fraction(noise._exponential(epsilon, Context(digits, side))) for side in (ROUND_FLOOR, ROUND_CEILING)
        )

        low, high = exponential_bounds(epsilon, 256)
        assert lower < low <= high < upper <= lower * (1 + Fraction(50, 10**digits))


@pytest.mark.parametrize("digits", [5, 12, 25, 60])
@pytest.mark.parametrize("power", [1, 2])
def test_bounds_enclose_the_truth_at_any_precision(digits: int, power: int) -> None:
    for epsilon in EPSILONS:
        law = noise._Law(epsilon, 3, power)

        lower, upper = (law._bounds(64, digits, side) for side in (ROUND_FLOOR, ROUND_CEILING))

        truth = [exact_floor(epsilon, j, power, 64) for j in (1, 2, 3)]
        assert all(low <= floor <= high for low, floor, high in zip(lower, truth, upper, strict=True))


def test_digits_are_added_until_the_floors_are_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    bounds = noise._Law._bounds

    def coarse_at_first(law: noise._Law, length: int, digits: int, side: str) -> list[int]:
        tried.append(digits)
        return bounds(law, length, 8 if len(tried) <= 2 else digits, side)

    monkeypatch.setattr(noise._Law, "_bounds", coarse_at_first)
    thresholds = noise._Law(Fraction(1, 3), 4, 1).thresholds(64)

    assert tried == [41, 41, 82, 82]
    assert thresholds[3] == exact_floor(Fraction(1, 3), 1, 1, 64)


# Every path of the sampler, with scripted words


def word_for(epsilon: Fraction, value: int) -> int:
    """The largest word that surely means this value (or this end) in the table of epsilon."""
    width = math.ceil(noise.REACH / epsilon)
    thresholds = [*noise._Law(epsilon, width, 1).thresholds(64), 2**64]
    return thresholds[value + width] - 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 2000), Fraction(1, 100), ONE, Fraction(5)])
def test_words_beside_thresholds_and_random_words_get_their_values(epsilon: Fraction) -> None:
    width = math.ceil(noise.REACH / epsilon)
    law = noise._Law(epsilon, width, 1)
    thresholds = law.thresholds(64)
    beside = {word + step for word in thresholds for step in (-1, 1)} - set(thresholds)
    words = [*beside, 0, 2**64 - 1, *(int(word) for word in SeededWords(1)(10_000))]

    values = noise._table(law).draw(len(words), Script(words))

    assert [int(value) for value in values] == [bisect_left(thresholds, word) - width for word in words]


@pytest.mark.parametrize("value", [-9, -1, 0, 7])
@pytest.mark.parametrize("ties", [1, 2])
def test_a_word_equal_to_a_threshold_is_decided_by_further_words(value: int, ties: int) -> None:
    length = 64 * (ties + 1)
    above = exact_floor(ONE, -value if value < 0 else value + 1, 1, length)
    bits = above if value < 0 else 2**length - 1 - above  # of P(Z ≤ value)
    tied = [bits >> length - 64 * (i + 1) & 2**64 - 1 for i in range(ties + 1)]

    under = draw_scripted(ONE, 1, [*tied[:-1], tied[-1] - 1])
    over = draw_scripted(ONE, 1, [*tied[:-1], tied[-1] + 1])

    assert (under, over) == ([value], [value + 1])


def test_a_tie_takes_its_words_without_disturbing_its_neighbours() -> None:
    threshold = noise._Law(ONE, noise.REACH, 1).thresholds(64)[noise.REACH]  # between 0 and 1

    values = draw_scripted(ONE, 4, [word_for(ONE, 2), threshold, word_for(ONE, -3), threshold, 0, 2**64 - 1])

    assert values == [2, 0, -3, 1]


def test_a_tail_goes_on_by_what_the_next_value_adds() -> None:
    assert draw_scripted(ONE, 1, [0, word_for(ONE, 3)]) == [-19]
    assert draw_scripted(ONE, 1, [2**64 - 1, word_for(ONE, 3)]) == [19]
    assert draw_scripted(ONE, 1, [0, MIDDLE]) == [-16]


def test_a_tail_tries_again_after_a_negative_value_and_after_a_further_end() -> None:
    negative, left_end, right_end = word_for(ONE, -2), 0, 2**64 - 1

    values = draw_scripted(ONE, 1, [right_end, negative, left_end, right_end, negative, right_end, word_for(ONE, 5)])

    assert values == [16 + 16 + 16 + 5]


def test_tails_leave_the_other_draws_alone() -> None:
    words = [0, word_for(ONE, 4), 2**64 - 1, word_for(ONE, -2), word_for(ONE, 1), word_for(ONE, -1), MIDDLE]

    assert draw_scripted(ONE, 4, words) == [-17, 4, 16, -2]


def test_the_first_and_last_word_at_a_large_epsilon_are_decided_by_more_bits() -> None:
    first, last = 0, 2**64 - 1

    assert draw_scripted(Fraction(50), 1, [first, first, MIDDLE]) == [-1]
    assert draw_scripted(Fraction(50), 1, [first, last]) == [0]
    assert draw_scripted(Fraction(50), 1, [last, first]) == [0]
    assert draw_scripted(Fraction(50), 1, [last, last, MIDDLE]) == [1]


def test_a_small_epsilon_is_drawn_in_double_steps_and_one_digit() -> None:
    epsilon = Fraction(1, 4096)
    low = noise._Law(epsilon, 1, 2).thresholds(64)[0]

    values = draw_scripted(epsilon, 3, [word_for(2 * epsilon, 5)] * 3 + [low - 1, low + 1, 2**64 - 1])

    assert values == [9, 10, 11]


def test_values_beyond_64_bits_are_right_modulo_two_to_the_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_draw_with_tails", lambda *_: np.array([2**62 + 3, -(2**62) - 3]))

    values = draw_scripted(Fraction(1, 4096), 2, [MIDDLE, MIDDLE])

    assert values == [-(2**63) + 6, 2**63 - 6]


# The law of many draws


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_draws_follow_the_law(epsilon: Fraction) -> None:
    values = DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(2024))

    assert values.dtype == np.int64
    assert law_p_value(values, epsilon) > FALSE_ALARM


def test_draws_from_the_operating_system_follow_the_law() -> None:
    assert law_p_value(DiscreteLaplace(ONE).draw(DRAWS, secure_words), ONE) > FALSE_ALARM


@pytest.mark.parametrize("reach", [1, 3])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 2), Fraction(2)], ids=str)
def test_draws_follow_the_law_when_most_come_from_the_tails(
    epsilon: Fraction, reach: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise, "REACH", reach)

    assert law_p_value(DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(7)), epsilon) > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 2), ONE], ids=str)
def test_draws_follow_the_law_when_steps_are_halved(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "WIDEST", 4)  # epsilon is doubled to 4 or more: twice to seven times

    assert law_p_value(DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(8)), epsilon) > FALSE_ALARM


def test_what_lies_beyond_an_end_of_the_table_is_geometric() -> None:
    seeded, first = SeededWords(9), [np.zeros(noise.CHUNK, dtype=np.uint64)]

    beyond = -DiscreteLaplace(ONE).draw(noise.CHUNK, lambda n: first.pop() if first else seeded(n)) - noise.REACH

    q = math.exp(-1)
    expected = noise.CHUNK * np.array([(1 - q) * q**g for g in range(7)] + [q**7])
    observed = np.bincount(np.minimum(beyond, 7), minlength=8)
    assert beyond.min() == 0
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


# Wrong samplers fail the same tests


def half_size(epsilon: Fraction) -> Values:
    return DiscreteLaplace(2 * epsilon).draw(DRAWS, SeededWords(3))


def shifted_by_one(epsilon: Fraction) -> Values:
    return DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(3)) + 1


def narrower_rounded_float(epsilon: Fraction) -> Values:
    floats = np.random.default_rng(3).laplace(scale=0.98 / float(epsilon), size=DRAWS)
    return np.rint(floats).astype(np.int64)


def without_a_left_tail(epsilon: Fraction) -> Values:
    return np.maximum(DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(3)), -math.ceil(8 / epsilon))


def without_a_right_tail(epsilon: Fraction) -> Values:
    return np.minimum(DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(3)), math.ceil(8 / epsilon))


def never_negative(epsilon: Fraction) -> Values:
    return np.abs(DiscreteLaplace(epsilon).draw(DRAWS, SeededWords(3)))


WRONG = [
    half_size,
    shifted_by_one,
    narrower_rounded_float,
    without_a_left_tail,
    without_a_right_tail,
    never_negative,
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 10), ONE], ids=str)
def test_a_wrong_sampler_is_caught(wrong: Callable[[Fraction], Values], epsilon: Fraction) -> None:
    assert law_p_value(wrong(epsilon), epsilon) < FALSE_ALARM


def test_a_rounded_float_laplace_is_caught_even_at_its_full_width() -> None:
    floats = np.random.default_rng(4).laplace(size=DRAWS)

    assert law_p_value(np.rint(floats).astype(np.int64), ONE) < FALSE_ALARM


def test_tails_that_are_not_restarted_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "REACH", 4)
    monkeypatch.setattr(noise, "_draw_with_tails", lambda table, count, words: table.draw(count, words))

    assert law_p_value(DiscreteLaplace(ONE).draw(DRAWS, SeededWords(5)), ONE) < FALSE_ALARM


def test_thresholds_moved_by_a_hundredth_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = noise._table(noise._Law(ONE, noise.REACH, 1))
    narrow = noise._table(noise._Law(Fraction(101, 100), noise.REACH, 1))
    monkeypatch.setattr(noise, "_table", lambda law: narrow if law == right.law else right)

    assert law_p_value(DiscreteLaplace(ONE).draw(DRAWS, SeededWords(6)), ONE) < FALSE_ALARM


# OpenDP, as oracle and as choice


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(4, 5)], ids=str)
def test_opendp_draws_the_same_law(epsilon: Fraction) -> None:
    pytest.importorskip("opendp", reason="opendp is an extra")
    theirs = OpenDPLaplace(epsilon).draw(70_000, secure_words)
    ours = DiscreteLaplace(epsilon).draw(70_000, SeededWords(11))
    half = DiscreteLaplace(2 * epsilon).draw(70_000, SeededWords(11))

    assert theirs.dtype == np.int64
    assert two_sample_p_value(theirs, ours, epsilon) > FALSE_ALARM
    assert two_sample_p_value(theirs, half, epsilon) < FALSE_ALARM
    assert law_p_value(theirs, epsilon) > FALSE_ALARM


@given(st.fractions(min_value=noise.SMALLEST, max_value=noise.LARGEST))
def test_the_scale_given_to_opendp_is_the_smallest_float_that_is_not_too_small(epsilon: Fraction) -> None:
    scale = scale_for(epsilon)

    assert Fraction(scale) >= 1 / epsilon > Fraction(math.nextafter(scale, 0))


def test_opendp_states_no_more_than_epsilon_up_to_its_own_rounding() -> None:
    pytest.importorskip("opendp", reason="opendp is an extra")
    for epsilon in (Fraction(1, 3), Fraction(1, 10), Fraction(7, 3)):
        stated = OpenDPLaplace(epsilon)._measurement.map(1)

        assert stated <= math.nextafter(float(epsilon), math.inf)


def test_without_opendp_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)

    with pytest.raises(MissingExtraError, match=r"pointveil\[opendp\]"):
        OpenDPLaplace(ONE)


def test_opendp_is_imported_only_when_asked_for() -> None:
    question = "import sys, pointveil.vault.noise; sys.exit('opendp' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", question], check=False).returncode == 0


# The rest of the interface


def test_the_noises_are_named_in_one_table() -> None:
    assert list(NOISES.items()) == [("exact", DiscreteLaplace), ("opendp", OpenDPLaplace)]


@pytest.mark.parametrize("epsilon", [0.5, 1, "1", None, True])
def test_an_epsilon_that_is_no_fraction_is_refused(epsilon: object) -> None:
    with pytest.raises(InputError, match="must be a Fraction"):
        DiscreteLaplace(epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 10**13), Fraction(10**10)])
def test_an_epsilon_out_of_range_is_refused(epsilon: Fraction) -> None:
    with pytest.raises(InputError, match="must lie between"):
        DiscreteLaplace(epsilon)


def test_the_ends_of_the_range_can_be_drawn() -> None:
    assert not DiscreteLaplace(noise.LARGEST).draw(1000, SeededWords(1)).any()
    assert law_p_value(DiscreteLaplace(noise.SMALLEST).draw(100_000, SeededWords(1)), noise.SMALLEST) > FALSE_ALARM


@pytest.mark.parametrize("count", [0, 1, noise.CHUNK, noise.CHUNK + 1])
def test_as_many_values_come_as_were_asked_for(count: int) -> None:
    assert DiscreteLaplace(ONE).draw(count, secure_words).shape == (count,)


def test_the_same_seed_gives_the_same_noise_and_another_seed_another() -> None:
    first, again, other = (DiscreteLaplace(ONE).draw(1000, SeededWords(seed)) for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_seeded_words_go_on_rather_than_repeat() -> None:
    words = SeededWords(1)

    assert not np.intersect1d(words(1000), words(1000)).size


def test_secure_words_never_repeat_and_use_all_64_bits() -> None:
    words = np.concatenate([secure_words(1000), secure_words(1000)])

    assert words.dtype == np.uint64
    assert np.unique(words).size == 2000
    assert np.bitwise_or.reduce(words) == np.uint64(2**64 - 1)
    assert np.bitwise_and.reduce(words) == 0


def test_secure_words_are_the_bytes_that_the_operating_system_gave_just_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """So no generator, no pool and no bytes used twice lie between: each word is asked for when it is needed."""
    given: list[bytes] = []

    def urandom(size: int) -> bytes:
        given.append(bytes(np.random.default_rng(len(given)).integers(0, 256, size, dtype=np.uint8)))
        return given[-1]

    monkeypatch.setattr("os.urandom", urandom)

    words = [secure_words(count).tobytes() for count in (1, 7, 1000, 7)]

    assert [len(each) for each in given] == [8, 56, 8000, 56]
    assert given == words


def test_noise_is_drawn_anew_in_every_process() -> None:
    """Two processes, and two copies made of one of them after it has drawn, share no noise at all."""
    code = """
import os, sys
from fractions import Fraction
from pointveil.vault.noise import DiscreteLaplace, secure_words
def drawn():
    return DiscreteLaplace(Fraction(1, 1000)).draw(20, secure_words).tolist()
print(drawn(), flush=True)
for copy in range(2 if hasattr(os, "fork") else 0):
    if os.fork() == 0:
        print(drawn(), flush=True)
        os._exit(0)
    os.wait()
print(drawn(), flush=True)
"""
    told = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(2)]

    lines = [line for each in told for line in each.stdout.splitlines()]
    assert len(lines) == len(set(lines)) == (8 if hasattr(os, "fork") else 4)


def test_no_generator_of_numpy_or_python_is_in_the_vault() -> None:
    """Only a rehearsal's words come from a generator; the key of a choice of records may, if the system gave it."""
    allowed = {("noise.py", "SeededWords"), ("at_most.py", "AtMost")}
    found = set()
    for folder in ("vault", "engines"):
        for path in (Path(noise.__file__).parent.parent / folder).glob("*.py"):
            for part in ast.parse(path.read_text()).body:
                names = {ast.unparse(node) for node in ast.walk(part) if isinstance(node, ast.Attribute | ast.Name)}
                names |= {node.module or "" for node in ast.walk(part) if isinstance(node, ast.ImportFrom)}
                names |= {each.name for node in ast.walk(part) if isinstance(node, ast.Import) for each in node.names}
                if any(name == "random" or ".random" in name or "RandomState" in name for name in names):
                    found.add((path.name, getattr(part, "name", "import")))

    assert ("noise.py", "SeededWords") in found
    assert found <= allowed


def test_tables_are_made_once_for_each_epsilon() -> None:
    DiscreteLaplace(Fraction(3, 7)).draw(1, secure_words)
    before = noise._table.cache_info()

    DiscreteLaplace(Fraction(3, 7)).draw(1, secure_words)

    assert noise._table.cache_info().misses == before.misses
