"""How much epsilon a series of guesses proves: a lower bound that holds with stated confidence."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from pointveil.cells import Bools, Floats, Ints

CONFIDENCE = 0.95
FIT, CHOOSE = 0.25, 0.5  # parts of the trials that fit a score and choose a threshold; the rest is the test
LEAST_FOR_MIXTURE = 200  # with fewer trials no mixture is learned: it would only remember them
LEAST_OF_A_KIND = 24
MOST_CUTS = 200
ENDS = ("≥", "≤", "=")
CAUTIONS = (4.0, 1.5)
"""Standard errors taken off each rule's success before the best is chosen, among thousands: once for rules that are
often right, once for rules that apply seldom."""
STRICT = 0.999
ALL_THAT_TOUCH, ALL_THAT_MOVE = "likelihood ratio of all cells that touch", "cells that move"
"""Features that need no choice: above zero means "present", below zero "absent"."""
MOST_MOVING, LEAST_MOVE = 8, 3.5  # cells that are taken to move with a unit, each by so many standard errors


@dataclass(frozen=True)
class Trials:
    """Secret coins, and what was seen of each."""

    present: Bools  # for each trial whether the unit was in the data: an even coin, thrown before the release
    seen: Floats  # one row a trial, one column a feature of what was published; NaN where there is none
    names: tuple[str, ...]  # what the features are
    answers: tuple[Floats, ...] = ()  # (trials, cells) for each question whose cells were the same in all trials
    group: Ints | None = None  # the kind of each trial, if there are several: a guess may be made for one kind alone

    def __len__(self) -> int:
        return len(self.present)

    def part(self, start: float, stop: float) -> "Trials":
        """Return the trials between two fractions of all."""
        rows = slice(round(start * len(self)), round(stop * len(self)))
        group = None if self.group is None else self.group[rows]
        answers = tuple(answer[rows] for answer in self.answers)
        return Trials(self.present[rows], self.seen[rows], self.names, answers, group)

    def kinds(self) -> list[int | None]:
        """Return all kinds that can be looked at alone, the whole first."""
        if self.group is None:
            return [None]
        found, times = np.unique(self.group, return_counts=True)
        return [None, *(int(kind) for kind in found[times >= LEAST_OF_A_KIND])] if len(found) > 1 else [None]

    def of_kind(self, kind: int | None) -> Bools:
        """Return which trials are of this kind."""
        if kind is None or self.group is None:
            return np.ones(len(self), dtype=bool)
        return np.asarray(self.group == kind)


@dataclass(frozen=True)
class Rule:
    """Guess "present" or "absent" for a trial, or nothing, from one feature."""

    feature: int  # its column; the learned mixture stands after all others
    name: str
    present_from: float = math.inf  # guess "present" from this value
    present_to: float = -math.inf  # up to this one
    absent_from: float = math.inf  # guess "absent" from this value
    absent_to: float = -math.inf  # up to this one
    kind: int | None = None  # the only kind of trials for which anything is guessed, if not for all

    def guesses(self, values: Floats) -> tuple[Bools, Bools]:
        """Return where the guess is "present", and where it is "absent"."""
        present = (values >= self.present_from) & (values <= self.present_to)
        absent = (values >= self.absent_from) & (values <= self.absent_to)
        return present & ~absent, absent & ~present


@dataclass(frozen=True)
class Evidence:
    """What a test showed."""

    correct: int  # how many guesses were right
    guesses: int
    trials: int  # how many trials there were in all, those for choosing included
    rule: str  # what was guessed from, in words
    tested: int = 1  # how many rules were tested on the same trials; their chances of error are added up

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
    # One rule is known beforehand, and tested on all trials.
    half = trials.part(CHOOSE, 1)
    rules = [(choose(trials.part(0, CHOOSE), caution), half) for caution in CAUTIONS]
    if len(trials) >= LEAST_FOR_MIXTURE:
        learned = Mixture.fit(trials.part(0, FIT)).of(trials)
        rules.append((choose(learned.part(FIT, CHOOSE), CAUTIONS[0]), learned.part(CHOOSE, 1)))
        moving = learn_moving(trials.part(0, CHOOSE), trials)
        rules.append((known_beforehand(moving, ALL_THAT_MOVE), moving.part(CHOOSE, 1)))
    if ALL_THAT_TOUCH in trials.names:
        rules.append((known_beforehand(trials, ALL_THAT_TOUCH), trials))
    tests = [_test(rule, seen, len(trials), len(rules)) for rule, seen in rules]
    return max(tests, key=lambda evidence: evidence.bound(STRICT))


def known_beforehand(trials: Trials, name: str) -> Rule:
    """Return the rule for a feature whose sign says it all, so that no choice is needed."""
    least = 1e-9  # so that zero, give or take a rounding, means nothing
    return Rule(trials.names.index(name), f"{name} > 0, else < 0", least, math.inf, -math.inf, -least)


def _test(rule: Rule, test: Trials, trials: int, tested: int) -> Evidence:
    of_kind = test.of_kind(rule.kind)
    present, absent = (guess & of_kind for guess in rule.guesses(test.seen[:, rule.feature]))
    right = int((present & test.present).sum() + (absent & ~test.present).sum())
    return Evidence(right, int(present.sum() + absent.sum()), trials, rule.name, tested)


def learn_moving(lesson: Trials, trials: Trials) -> Trials:
    """Return trials with one feature: how many more cells that moved in the lesson say "present" than "absent"."""
    score = np.zeros(len(trials))
    for learned, answers in zip(lesson.answers, trials.answers, strict=True):
        score = score + moving_cells(lesson.present, learned, answers)
    return Trials(trials.present, score[:, None], (ALL_THAT_MOVE,))


def moving_cells(present: Bools, lesson: Floats, answers: Floats) -> Floats:
    """Return how many more of the cells that were seen to move with the unit say "present" than "absent"."""
    if present.all() or not present.any():
        return np.zeros(len(answers))
    shown, hidden = lesson[present], lesson[~present]
    apart = shown.mean(axis=0) - hidden.mean(axis=0)
    error = np.sqrt(shown.var(axis=0) / len(shown) + hidden.var(axis=0) / len(hidden)) + 1e-9
    moved = np.argsort(-np.abs(apart / error))[:MOST_MOVING]
    moved = moved[np.abs(apart / error)[moved] > LEAST_MOVE]
    middle = (shown.mean(axis=0) + hidden.mean(axis=0)) / 2
    sides = np.sign(answers[:, moved] - middle[moved]) * np.sign(apart[moved])
    return np.asarray(sides.sum(axis=1))


@dataclass(frozen=True)
class Mixture:
    """The straight mixture of all features that best tells present from absent (ridge regression)."""

    middle: Floats
    scale: Floats
    weights: Floats

    @classmethod
    def fit(cls, trials: Trials) -> "Mixture":
        """Learn the weights."""
        seen = _finite(trials)
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
        score = np.clip((_finite(trials) - self.middle) / self.scale, -5, 5) @ self.weights
        return Trials(trials.present, score[:, None], ("mixture of all features",))


def _finite(trials: Trials) -> Floats:
    return np.nan_to_num(trials.seen, nan=0.0, posinf=1e9, neginf=-1e9)


def choose(trials: Trials, caution: float) -> Rule:
    """Return the rule with the best bound on these trials, among all features, kinds, ends and single values."""
    # Of equal ones it is that of the feature with the fewest values, which is least likely to be right by chance.
    best, chosen = (-math.inf, 0), Rule(0, "nothing")
    for kind in trials.kinds():
        of_kind = trials.of_kind(kind)
        seen, present = trials.seen[of_kind], trials.present[of_kind]
        for feature, name in enumerate(trials.names):
            tally = tally_of(seen[:, feature], present)
            if tally is not None:
                worth, *cuts = tally.best(caution)
                if (worth, -len(tally.cuts)) > best:
                    best, chosen = (worth, -len(tally.cuts)), rule_of(feature, name, kind, *cuts)
    return chosen


Cut = tuple[int, float] | None  # one of the ENDS, and the value from which on something is guessed there


def rule_of(feature: int, name: str, kind: int | None, shown: Cut, hidden: Cut) -> Rule:
    """Return the rule that guesses "present" at one end of a feature, and "absent" at another, or at none."""
    words = ", else ".join(
        f"{said}{ENDS[part[0]]} {part[1]:.6g}"
        for said, part in ((f"{name} ", shown), ("" if shown else f"not {name} ", hidden))
        if part is not None
    )
    words = words if kind is None else f"{words}, {kind} beside"
    return Rule(feature, words, *_span(shown), *_span(hidden), kind)


def _span(part: Cut) -> tuple[float, float]:
    if part is None:
        return math.inf, -math.inf
    end, value = part
    return (-math.inf if ENDS[end] == "≤" else value), (math.inf if ENDS[end] == "≥" else value)


@dataclass(frozen=True)
class Tally:
    """How many trials lie above, below and on each of many values: one row an end, then shown and hidden ones."""

    cuts: Floats
    counts: Ints

    def best(self, caution: float) -> tuple[float, Cut, Cut]:
        """Return where best to guess "present" and "absent", and what that is worth."""
        all_counts = self.counts.sum(axis=1)
        at = [np.argmax(quick_bound(self.counts[:, side], all_counts, caution), axis=1) for side in (0, 1)]
        ends = np.arange(len(ENDS))
        right = np.array([self.counts[ends, side, at[side]] for side in (0, 1)])
        guesses = np.array([all_counts[ends, at[side]] for side in (0, 1)])
        values = self.cuts[at[0]], self.cuts[at[1]]
        apart = np.array([values[0][0] > values[1][1], values[0][1] < values[1][0], values[0][2] != values[1][2]])
        other = [1, 0, 2]
        right = np.concatenate([*right, (right[0] + right[1, other]) * apart])
        worth = quick_bound(right, np.concatenate([*guesses, (guesses[0] + guesses[1, other]) * apart]), caution)
        number = int(np.argmax(worth))
        end = number % len(ENDS)
        absent_end = end if number < 2 * len(ENDS) else other[end]
        shown = (end, float(values[0][end])) if number < len(ENDS) or number >= 2 * len(ENDS) else None
        hidden = (absent_end, float(values[1][absent_end])) if number >= len(ENDS) else None
        return float(worth[number]), shown, hidden


def tally_of(values: Floats, present: Bools) -> Tally | None:
    """Count shown and hidden trials at both ends of many values; None if all values are the same."""
    known = np.isfinite(values)
    values, present = values[known], present[known]
    if not len(values) or bool((values == values[0]).all()):
        return None
    cuts = np.unique(values)
    if len(cuts) > MOST_CUTS:
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, MOST_CUTS), method="nearest"))
    groups = np.sort(values[present]), np.sort(values[~present])
    above = [len(group) - np.searchsorted(group, cuts, side="left") for group in groups]
    below = [np.searchsorted(group, cuts, side="right") for group in groups]
    exact = [upto + onward - len(group) for upto, onward, group in zip(below, above, groups, strict=True)]
    return Tally(cuts, np.array([above, below, exact]))


def quick_bound(right: object, guesses: object, caution: float) -> Floats:
    """Return a quick stand-in for the bound, to choose by (Wilson's interval)."""
    count = np.asarray(guesses, dtype=np.float64)
    share = (np.asarray(right, dtype=np.float64) + 0.5) / (count + 1)
    squared = caution**2
    error = squared / (count + squared)
    middle = (1 - error) * share + error / 2
    width = caution / (count + squared) * np.sqrt(share * (1 - share) * count + squared / 4)
    return np.asarray(middle - width, dtype=np.float64)
