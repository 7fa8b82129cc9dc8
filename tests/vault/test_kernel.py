"""The kernel is exactly the law that kernel.md proves things about, and those things hold."""

from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from math import exp, tanh

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pointveil.vault import kernel as code
from pointveil.vault.kernel import (
    MOST_SITES,
    WEIGHT_STEPS,
    _draw_pool,
    below,
    blur_sites,
    random_order,
    scatter_tokens,
    weight_inside,
    window_sizes,
)
from pointveil.vault.noise import SeededWords

Law = dict[tuple[int, ...], Fraction]
Floats = NDArray[np.float64]
FILLER = -1


def numbers(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def scripted(values: list[int]) -> Callable[[int], NDArray[np.uint64]]:
    left = iter(values)
    return lambda count: np.array([next(left) for _ in range(count)], dtype=np.uint64)


def kernel(site: int, count: int, inside: int) -> list[Fraction]:
    """The law of kernel.md, from its formula."""
    if site == FILLER:
        return [Fraction(1, count)] * count
    window = int(window_sizes(numbers(count), inside)[0])
    start = min(max(site - window // 2, 0), count - window)
    total = window * inside + (count - window) * code.WEIGHT_STEPS
    return [Fraction(inside if start <= y < start + window else code.WEIGHT_STEPS, total) for y in range(count)]


def answer_law(sites: list[int], count: int, wanted: int, max_uses: int, inside: int, *, shuffled: bool = True) -> Law:
    """The exact law of what leaves one region, by enumerating every pool and every order."""
    tokens = [site for site in sites for _ in range(max_uses)]
    assignments: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    orders = list(permutations(tokens))
    for order in orders:
        kept = [*order[:wanted], *[FILLER] * (wanted - len(order))]
        arrangements = Counter(permutations(kept)) if shuffled else Counter([tuple(kept)])
        for arrangement, often in arrangements.items():
            assignments[arrangement] += Fraction(often, len(orders) * sum(arrangements.values()))
    law: Law = defaultdict(Fraction)
    for assignment, chance in assignments.items():
        for output in product(range(count), repeat=wanted):
            factor = chance
            for token, y in zip(assignment, output, strict=True):
                factor *= kernel(token, count, inside)[y]
            law[output] += factor
    return law


def worst_ratio(one: Law, other: Law) -> Fraction:
    return max(max(one[output] / other[output], other[output] / one[output]) for output in one)


@given(st.fractions(min_value="1/1000", max_value=30))
def test_the_weight_is_never_more_than_the_exponential_and_nearly_it(epsilon: Fraction) -> None:
    weight = Fraction(weight_inside(epsilon), WEIGHT_STEPS)

    assert weight >= 1
    assert float(weight) <= exp(min(float(epsilon), 20)) * (1 + 1e-12)
    assert float(weight) >= exp(min(float(epsilon), 20)) * (1 - 1e-12) - 1 / WEIGHT_STEPS


@settings(max_examples=60)
@given(st.integers(1, 40), st.fractions(min_value="1/100", max_value=8))
def test_no_two_kernels_of_a_region_nor_the_filler_differ_by_more_than_the_weight(
    count: int, epsilon: Fraction
) -> None:
    inside = weight_inside(epsilon)

    laws = np.array([[float(p) for p in kernel(site, count, inside)] for site in range(-1, count)])

    assert np.allclose(laws.sum(axis=1), 1)
    assert (laws.max(axis=0) / laws.min(axis=0)).max() <= inside / WEIGHT_STEPS * (1 + 1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_the_code_draws_exactly_this_law_ticket_by_ticket(
    count: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "WEIGHT_STEPS", 64)  # few enough tickets to try every one
    inside = weight_inside(Fraction(epsilon))
    window = int(window_sizes(numbers(count), inside)[0])
    for site in range(-1, count):
        total = count * 64 if site < 0 else window * inside + (count - window) * 64
        every_ticket = list(range(total, 2 * total))

        blurred = blur_sites(np.full(total, site), np.full(total, count), Fraction(epsilon), scripted(every_ticket))

        law = [Fraction(int(times), total) for times in np.bincount(blurred, minlength=count)]
        assert law == kernel(site, count, inside)


def test_the_window_always_holds_its_site() -> None:
    inside = weight_inside(Fraction(2))
    for count in range(1, 30):
        for site in range(count):
            assert kernel(site, count, inside)[site] == max(kernel(site, count, inside))


@pytest.mark.parametrize(("others", "max_uses", "wanted"), [(0, 1, 3), (0, 2, 3), (1, 1, 2), (1, 2, 3), (2, 1, 3)])
def test_adding_a_point_changes_no_answer_by_more_than_all_its_uses(others: int, max_uses: int, wanted: int) -> None:
    inside = weight_inside(Fraction(1))
    most = Fraction(inside, WEIGHT_STEPS) ** max_uses
    without = answer_law([0, 1][:others], 2, wanted, max_uses, inside)

    for site in range(2):
        together = answer_law([*[0, 1][:others], site], 2, wanted, max_uses, inside)

        assert sum(together.values()) == 1
        assert worst_ratio(without, together) <= most


def test_without_the_shuffle_the_promise_would_be_broken() -> None:
    inside = weight_inside(Fraction(1))
    sites, wanted = [0, 0], 4

    one = answer_law(sites, 2, wanted, 1, inside, shuffled=False)
    other = answer_law([*sites, 1], 2, wanted, 1, inside, shuffled=False)

    assert worst_ratio(one, other) > Fraction(inside, WEIGHT_STEPS)


def test_the_whole_answer_has_the_enumerated_law() -> None:
    # False alarms: 1 in 10,000 for a code that is right; the seed is fixed.
    inside, rounds, words = weight_inside(Fraction(1)), 40_000, SeededWords(5)
    regions, sites = np.repeat(np.arange(rounds), 2), np.tile([0, 2], rounds)

    region, site = scatter_tokens(
        regions,
        sites,
        np.full(rounds, 3),
        np.full(rounds, 3),
        epsilon_per_use=Fraction(1),
        max_uses=1,
        words=words,
    )

    order = np.argsort(region, kind="stable")
    seen = Counter(map(tuple, site[order].reshape(rounds, 3).tolist()))
    law = answer_law([0, 2], 3, 3, 1, inside)
    outcomes = sorted(law)
    expected = np.array([float(law[outcome]) for outcome in outcomes]) * rounds
    assert stats.chisquare([seen[outcome] for outcome in outcomes], expected).pvalue > 1e-4


def test_biased_words_are_thrown_away() -> None:
    limits = np.array([3], dtype=np.uint64)

    assert below(limits, scripted([0, 5])).tolist() == [2]  # 2^64 = 3n + 1: the word 0 is one too many
    assert below(limits, scripted([1])).tolist() == [1]


def test_equal_words_are_drawn_again() -> None:
    assert random_order(2, scripted([7, 7, 9, 3])).tolist() == [1, 0]
    assert random_order(0, scripted([])).tolist() == []
    assert random_order(1, scripted([4])).tolist() == [0]


def test_every_order_is_as_likely() -> None:
    words = SeededWords(3)

    seen = Counter(tuple(random_order(3, words).tolist()) for _ in range(12_000))

    assert stats.chisquare([seen[order] for order in permutations(range(3))]).pvalue > 1e-4


def test_a_point_is_used_at_most_as_often_as_allowed() -> None:
    regions, sites = np.zeros(5, dtype=np.int64), np.arange(5)

    for max_uses in (1, 2, 3):
        _, used = _draw_pool(regions, sites, numbers(100), max_uses, SeededWords(1))

        assert Counter(used.tolist()) == dict.fromkeys(range(5), max_uses)


def test_every_point_is_as_likely_to_be_in_a_pool_too_small_for_all() -> None:
    # 12,000 regions with the same three points, one of which is wanted; false alarms 1 in 10,000, seed fixed.
    rounds = 12_000
    regions, sites = np.repeat(np.arange(rounds), 3), np.tile(np.arange(3), rounds)

    region, used = _draw_pool(regions, sites, np.ones(rounds, dtype=np.int64), 1, SeededWords(4))

    assert (region == np.arange(rounds)).all()
    assert stats.chisquare(np.bincount(used, minlength=3)).pvalue > 1e-4


def test_as_many_points_come_back_as_were_wanted_and_none_where_there_is_no_site() -> None:
    region, site = scatter_tokens(
        numbers(0, 0, 0, 3),
        numbers(1, 2, 3, 0),
        numbers(4, 0, 9, 1),
        numbers(2, 5, 3, -4),
        epsilon_per_use=Fraction(1, 3),
        max_uses=1,
        words=SeededWords(2),
    )

    assert np.bincount(region, minlength=4).tolist() == [2, 0, 3, 0]
    assert (site >= 0).all()
    assert (site < numbers(4, 0, 9, 1)[region]).all()


def test_nobody_and_nothing_wanted_is_a_fine_question() -> None:
    nobody = numbers()

    region, site = scatter_tokens(
        nobody, nobody, numbers(4), numbers(0), epsilon_per_use=Fraction(1), max_uses=1, words=SeededWords(2)
    )

    assert len(region) == len(site) == 0


def test_the_largest_region_and_epsilon_fit_into_a_word() -> None:
    count, epsilon = MOST_SITES, Fraction(100)
    inside = weight_inside(epsilon)

    site = blur_sites(np.full(1000, 17), np.full(1000, count), epsilon, SeededWords(1))

    assert count * inside < 2**61
    assert np.bincount(site, minlength=count)[17] > 900


def test_more_sites_than_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 4,096 sites"):
        scatter_tokens(
            numbers(),
            numbers(),
            numbers(MOST_SITES + 1),
            numbers(1),
            epsilon_per_use=Fraction(1),
            max_uses=1,
            words=SeededWords(1),
        )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 6.0])
@pytest.mark.parametrize("count", [2, 7, 36, 100, 1000, 4096])
def test_the_window_is_the_one_that_tells_most(epsilon: float, count: int) -> None:
    """Of all widths, by trying each: how much more of a kernel lies in its window than of an even answer."""
    width = np.arange(1, count + 1)
    told = width * exp(epsilon) / (width * exp(epsilon) + count - width) - width / count

    chosen = int(window_sizes(numbers(count), weight_inside(Fraction(epsilon)))[0])

    assert abs(chosen - int(width[told.argmax()])) <= 1
    assert told[chosen - 1] >= 0.98 * told.max()


DRAWS = 200_000


def blurred_law(epsilon: float, count: int, site: int, *, width: float = 1.0, weight: float = 1.0) -> Floats:
    """The law of kernel.md by its formula alone, in floats; or one that is too wide or too heavy by these factors."""
    window = round(width * count / (1 + exp(epsilon / 2)))
    start = min(max(site - window // 2, 0), count - window)
    weights = np.ones(count)
    weights[start : start + window] = weight * exp(epsilon)
    return np.asarray(weights / weights.sum())


def chance_of(seen: NDArray[np.int64], law: Floats) -> float:
    return float(stats.chisquare(seen, law * seen.sum()).pvalue)


@pytest.mark.parametrize("epsilon", ["1/2", "1", "4"])
@pytest.mark.parametrize("site", [0, 30, 100])
def test_blurred_points_follow_a_law_that_was_worked_out_elsewhere(epsilon: str, site: int) -> None:
    # False alarms: 1 in a million for a code that is right, were the seed not fixed.
    ids = np.full(DRAWS, site), np.full(DRAWS, 101)

    seen = np.bincount(blur_sites(*ids, Fraction(epsilon), SeededWords(8)), minlength=101)

    assert chance_of(seen, blurred_law(float(Fraction(epsilon)), 101, site)) > 1e-6


@pytest.mark.parametrize(
    "wrong", [{"width": 0.8}, {"width": 1.2}, {"width": 0.95}, {"weight": 0.9}, {"weight": 1.1}], ids=str
)
def test_a_kernel_that_is_a_little_too_narrow_wide_light_or_heavy_is_caught(wrong: dict[str, float]) -> None:
    rng = np.random.default_rng(9)

    seen = rng.multinomial(DRAWS, blurred_law(1.0, 101, 30, **wrong))

    assert chance_of(seen, blurred_law(1.0, 101, 30)) < 1e-6


def test_the_kernel_keeps_what_the_proof_says_it_keeps() -> None:
    count, epsilon = 4096, 2.0
    law = kernel(2000, count, weight_inside(Fraction(2)))

    kept = sum(abs(float(p) - 1 / count) for p in law) / 2

    assert kept == pytest.approx(tanh(epsilon / 4), abs=1e-4)
