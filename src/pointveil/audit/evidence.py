"""How much epsilon a series of guesses proves: a lower bound that holds with stated confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CONFIDENCE = 0.95
FIT, CHOOSE = 0.25, 0.5
"""Parts of the trials that fit a score and choose a threshold; the rest, never looked at before, is the test."""
LEAST_FOR_MIXTURE = 400
"""With fewer trials no mixture is learned: it would only remember them."""
MOST_CUTS = 200
CAUTIONS = (4.0, 1.5)
"""Standard errors taken off each rule's success before the best is chosen, among thousands: once for rules that are
often right, once for rules that apply seldom."""
STRICT = 0.999
MOST_MOVING, LEAST_MOVE = 8, 3.5
"""Cells that are taken to move with a unit: at most so many, each by at least so many standard errors."""


@dataclass(frozen=True)
class Trials:
    """Secret coins, and what was seen of each.

    Parameters
    ----------
    present
        For each trial whether the unit was in the data: an even coin, thrown before the release.
    seen
        One row a trial, one column a feature of what was published; NaN where there is none.
    names
        What the features are.
    answers
        For each question whose cells were the same in all trials: one row a trial, one column a cell.
    """

    present: Bools
    seen: Floats
    names: tuple[str, ...]
    answers: tuple[Floats, ...] = ()

    def __len__(self) -> int:
        return len(self.present)

    def part(self, start: float, stop: float) -> Trials:
        """Return the trials between two fractions of all."""
        rows = slice(round(start * len(self)), round(stop * len(self)))
        return Trials(self.present[rows], self.seen[rows], self.names, tuple(answer[rows] for answer in self.answers))


@dataclass(frozen=True)
class Rule:
    """Guess "present" or "absent" for a trial, or nothing, from one feature.

    Parameters
    ----------
    feature
        Its column; the learned mixture stands after all others.
    present_from, present_to
        Guess "present" between these two values.
    absent_from, absent_to
        Guess "absent" between these two values.
    """

    feature: int
    name: str
    present_from: float = math.inf
    present_to: float = -math.inf
    absent_from: float = math.inf
    absent_to: float = -math.inf

    def guesses(self, values: Floats) -> tuple[Bools, Bools]:
        """Return where the guess is "present", and where it is "absent"."""
        present = (values >= self.present_from) & (values <= self.present_to)
        absent = (values >= self.absent_from) & (values <= self.absent_to)
        return present & ~absent, absent & ~present


@dataclass(frozen=True)
class Evidence:
    """What a test showed.

    Parameters
    ----------
    correct, guesses
        How many guesses were right, of how many.
    trials
        How many trials there were in all, those for choosing included.
    rule
        What was guessed from, in words.
    tested
        How many rules were tested on the same trials; their chances of error are added up.
    """

    correct: int
    guesses: int
    trials: int
    rule: str
    tested: int = 1

    def bound(self, confidence: float = CONFIDENCE) -> float:
        """Return the largest epsilon that these guesses refute, at this confidence (Clopper–Pearson).

        Under pure epsilon-DP each guess is right with probability at most e^ε / (1 + e^ε), whatever the guesses
        before it told; so the number of right guesses is no larger than a binomial one (Steinke, Nasr, Jagielski
        2023). The trials need not be independent of each other.
        """
        if not self.correct:
            return 0.0
        error = (1 - confidence) / self.tested
        chance = float(beta.ppf(error, self.correct, self.guesses - self.correct + 1))
        return max(0.0, math.log(chance / (1 - chance)))


def examine(trials: Trials) -> Evidence:
    """Choose a few rules on one half of the trials, test each on the other half, once, and return the strongest."""
    rules = [(choose(trials.part(0, CHOOSE), caution), trials) for caution in CAUTIONS]
    if len(trials) >= LEAST_FOR_MIXTURE:
        learned = learn(trials.part(0, FIT), trials)
        rules.append((choose(learned.part(FIT, CHOOSE), CAUTIONS[0]), learned))
    tests = [_test(rule, seen.part(CHOOSE, 1), len(trials), len(rules)) for rule, seen in rules]
    return max(tests, key=lambda evidence: evidence.bound(STRICT))


def _test(rule: Rule, test: Trials, trials: int, tested: int) -> Evidence:
    present, absent = rule.guesses(test.seen[:, rule.feature])
    right = int((present & test.present).sum() + (absent & ~test.present).sum())
    return Evidence(right, int(present.sum() + absent.sum()), trials, rule.name, tested)


def learn(lesson: Trials, trials: Trials) -> Trials:
    """Return trials with what was learned from the lesson as their features."""
    mixture = Mixture.fit(lesson).of(trials)
    moving = [moving_cells(lesson.present, *pair) for pair in zip(lesson.answers, trials.answers, strict=True)]
    names = tuple(f"cells of answer {number} that move" for number in range(len(moving)))
    return Trials(trials.present, np.column_stack([mixture.seen, *moving]), (*mixture.names, *names))


def moving_cells(present: Bools, lesson: Floats, answers: Floats) -> Floats:
    """Return how far the cells lie on the side of "present" that were seen to move with the unit, wherever they are."""
    if present.all() or not present.any():
        return np.zeros(len(answers))
    shown, hidden = lesson[present], lesson[~present]
    apart = shown.mean(axis=0) - hidden.mean(axis=0)
    error = np.sqrt(shown.var(axis=0) / len(shown) + hidden.var(axis=0) / len(hidden)) + 1e-9
    moved = np.argsort(-np.abs(apart / error))[:MOST_MOVING]
    moved = moved[np.abs(apart / error)[moved] > LEAST_MOVE]
    middle = (shown.mean(axis=0) + hidden.mean(axis=0)) / 2
    steps = np.clip((answers[:, moved] - middle[moved]) / np.maximum(np.abs(apart[moved]), 1e-9), -0.5, 0.5)
    return np.asarray((steps * np.sign(apart[moved])).sum(axis=1))


@dataclass(frozen=True)
class Mixture:
    """The straight mixture of all features that best tells present from absent (ridge regression)."""

    middle: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def fit(cls, trials: Trials) -> Mixture:
        """Learn the weights."""
        seen = np.nan_to_num(trials.seen, nan=0.0, posinf=1e9, neginf=-1e9)
        middle = np.median(seen, axis=0) if len(seen) else np.zeros(seen.shape[1])
        spread = np.abs(seen - middle).mean(axis=0) if len(seen) else np.ones(seen.shape[1])
        scale = np.where(spread > 0, spread, 1.0)
        columns = np.clip((seen - middle) / scale, -5, 5)
        target = np.where(trials.present, 1.0, -1.0)
        penalty = (1 + 0.05 * len(seen)) * np.eye(seen.shape[1])
        weights = np.linalg.solve(columns.T @ columns + penalty, columns.T @ target)
        return cls(middle, scale, np.asarray(weights, dtype=np.float64))

    def of(self, trials: Trials) -> Trials:
        """Return the trials with the mixture as their only feature."""
        seen = np.nan_to_num(trials.seen, nan=0.0, posinf=1e9, neginf=-1e9)
        score = np.clip((seen - self.middle) / self.scale, -5, 5) @ self.weights
        return Trials(trials.present, score[:, None], ("mixture of all features",))


def choose(trials: Trials, caution: float) -> Rule:
    """Return the rule with the best bound on these trials, among all features, ends and single values."""
    best, chosen = -math.inf, Rule(0, "nothing")
    for feature, name in enumerate(trials.names):
        values = trials.seen[:, feature]
        known = np.isfinite(values)
        for rule in _rules(feature, name, values[known], trials.present[known], caution):
            worth = _worth(rule, values, trials.present, caution)
            if worth > best:
                best, chosen = worth, rule
    return chosen


def _rules(feature: int, name: str, values: Floats, present: Bools, caution: float) -> list[Rule]:
    """Return the best rules of one feature: either end means "present", or one value does."""
    found = np.unique(values)
    if len(found) < 2:
        return []
    cuts = found if len(found) <= MOST_CUTS else np.unique(np.quantile(values, np.linspace(0, 1, MOST_CUTS)))
    shown, hidden = np.sort(values[present]), np.sort(values[~present])
    above = [_counts_from(group, cuts) for group in (shown, hidden)]
    below = [_counts_to(group, cuts) for group in (shown, hidden)]
    exact = [upto - (len(group) - onward) for upto, onward, group in zip(below, above, (shown, hidden), strict=True)]
    high, low = cuts[_best(*above, caution=caution)], cuts[_best(*below, caution=caution)]
    high_absent, low_absent = cuts[_best(*above[::-1], caution=caution)], cuts[_best(*below[::-1], caution=caution)]
    one, one_absent = cuts[_best(*exact, caution=caution)], cuts[_best(*exact[::-1], caution=caution)]
    up, down, equal = f"{name} ≥ {high:.6g}", f"{name} ≤ {low:.6g}", f"{name} = {one:.6g}"
    infinity = math.inf
    return [
        Rule(feature, up, high, infinity),
        Rule(feature, down, -infinity, low),
        Rule(feature, equal, one, one),
        Rule(feature, f"not {name} ≥ {high_absent:.6g}", absent_from=high_absent, absent_to=infinity),
        Rule(feature, f"not {name} ≤ {low_absent:.6g}", absent_from=-infinity, absent_to=low_absent),
        Rule(feature, f"not {name} = {one_absent:.6g}", absent_from=one_absent, absent_to=one_absent),
        Rule(feature, f"{up}, else ≤ {low_absent:.6g}", high, infinity, -infinity, low_absent),
        Rule(feature, f"{down}, else ≥ {high_absent:.6g}", -infinity, low, high_absent, infinity),
        Rule(feature, f"{equal}, else {one_absent:.6g}", one, one, one_absent, one_absent),
    ]


def _counts_from(group: Floats, cuts: Floats) -> NDArray[np.int64]:
    return np.asarray(len(group) - np.searchsorted(group, cuts, side="left"), dtype=np.int64)


def _counts_to(group: Floats, cuts: Floats) -> NDArray[np.int64]:
    return np.asarray(np.searchsorted(group, cuts, side="right"), dtype=np.int64)


def _best(right: NDArray[np.int64], wrong: NDArray[np.int64], *, caution: float) -> int:
    return int(np.argmax(quick_bound(right, right + wrong, caution)))


def _worth(rule: Rule, values: Floats, present: Bools, caution: float) -> float:
    shown, hidden = rule.guesses(values)
    right = (shown & present).sum() + (hidden & ~present).sum()
    return float(quick_bound(right, shown.sum() + hidden.sum(), caution))


def quick_bound(right: object, guesses: object, caution: float) -> Floats:
    """Return a quick stand-in for the bound, to choose by (Wilson's interval)."""
    count = np.asarray(guesses, dtype=np.float64)
    share = (np.asarray(right, dtype=np.float64) + 0.5) / (count + 1)
    squared = caution**2
    error = squared / (count + squared)
    middle = (1 - error) * share + error / 2
    width = caution / (count + squared) * np.sqrt(share * (1 - share) * count + squared / 4)
    return np.asarray(middle - width, dtype=np.float64)
