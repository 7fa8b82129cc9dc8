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
ENDS = {"≥": np.greater_equal, "≤": np.less_equal, "=": np.equal}
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


Cut = tuple[str, float] | None  # one of the ENDS, and the value from which on something is guessed there


@dataclass(frozen=True)
class Rule:
    """Guess "present" or "absent" for a trial, or nothing, from one feature."""

    feature: int  # its column
    name: str
    shown: Cut = None  # where to guess "present"
    hidden: Cut = None  # where to guess "absent"
    kind: int | None = None  # the only kind of trials for which anything is guessed, if not for all

    def test(self, test: Trials, trials: int, tested: int) -> "Evidence":
        """Guess every trial once."""
        of_kind, values = test.of_kind(self.kind), test.seen[:, self.feature]
        present, absent = (
            of_kind & ENDS[cut[0]](values, cut[1]) if cut else np.zeros(len(test), dtype=bool)
            for cut in (self.shown, self.hidden)
        )
        guessed = present ^ absent  # where both would be guessed, nothing is
        return Evidence(int((guessed & (present == test.present)).sum()), int(guessed.sum()), trials, self.name, tested)


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
        learned = learn_mixture(trials.part(0, FIT), trials)
        rules.append((choose(learned.part(FIT, CHOOSE), CAUTIONS[0]), learned.part(CHOOSE, 1)))
        moving = learn_moving(trials.part(0, CHOOSE), trials)
        rules.append((known_beforehand(moving, ALL_THAT_MOVE), moving.part(CHOOSE, 1)))
    if ALL_THAT_TOUCH in trials.names:
        rules.append((known_beforehand(trials, ALL_THAT_TOUCH), trials))
    tests = [rule.test(seen, len(trials), len(rules)) for rule, seen in rules]
    return max(tests, key=lambda evidence: evidence.bound(STRICT))


def known_beforehand(trials: Trials, name: str) -> Rule:
    """Return the rule for a feature whose sign says it all, so that no choice is needed."""
    least = 1e-9  # so that zero, give or take a rounding, means nothing
    return Rule(trials.names.index(name), f"{name} > 0, else < 0", ("≥", least), ("≤", -least))


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


def learn_mixture(lesson: Trials, trials: Trials) -> Trials:
    """Return trials with one feature: the straight mixture of all that best told the lesson's coins (ridge)."""
    known, seen = (np.nan_to_num(each.seen, nan=0.0, posinf=1e9, neginf=-1e9) for each in (lesson, trials))
    middle = np.median(known, axis=0)
    spread = np.abs(known - middle).mean(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    columns, scaled = (np.clip((each - middle) / scale, -5, 5) for each in (known, seen))
    penalty = (1 + 0.05 * len(known)) * np.eye(known.shape[1])
    weights = np.linalg.solve(columns.T @ columns + penalty, columns.T @ np.where(lesson.present, 1.0, -1.0))
    return Trials(trials.present, (scaled @ weights)[:, None], ("mixture of all features",))


def choose(trials: Trials, caution: float) -> Rule:
    """Return the rule with the best bound on these trials, among all features, kinds, ends and single values."""
    # Of equal ones it is that of the feature with the fewest values, which is least likely to be right by chance.
    best, chosen = (-math.inf, 0), Rule(0, "nothing")
    for kind in trials.kinds():
        of_kind = trials.of_kind(kind)
        seen, present = trials.seen[of_kind], trials.present[of_kind]
        for feature, name in enumerate(trials.names):
            cuts, counts = tally(seen[:, feature], present)
            if len(cuts) > 1:
                worth, shown, hidden = best_cuts(cuts, counts, caution)
                if (worth, -len(cuts)) > best:
                    words = _words(name, kind, shown, hidden)
                    best, chosen = (worth, -len(cuts)), Rule(feature, words, shown, hidden, kind)
    return chosen


def _words(name: str, kind: int | None, shown: Cut, hidden: Cut) -> str:
    """Return in words where "present" is guessed of a feature, and where "absent"."""
    parts = (f"{name} ", shown), ("" if shown else f"not {name} ", hidden)
    words = ", else ".join(f"{said}{cut[0]} {cut[1]:.6g}" for said, cut in parts if cut is not None)
    return words if kind is None else f"{words}, {kind} beside"


def best_cuts(cuts: Floats, counts: Ints, caution: float) -> tuple[float, Cut, Cut]:
    """Return where best to guess "present" and "absent", and what that is worth; `counts` as `tally` returns them."""
    all_counts = counts.sum(axis=1)
    at = [np.argmax(quick_bound(counts[:, side], all_counts, caution), axis=1) for side in (0, 1)]
    ends, names = np.arange(len(ENDS)), tuple(ENDS)
    right = np.array([counts[ends, side, at[side]] for side in (0, 1)])
    guesses = np.array([all_counts[ends, at[side]] for side in (0, 1)])
    values = cuts[at[0]], cuts[at[1]]
    apart = np.array([values[0][0] > values[1][1], values[0][1] < values[1][0], values[0][2] != values[1][2]])
    other = [1, 0, 2]
    right = np.concatenate([*right, (right[0] + right[1, other]) * apart])
    worth = quick_bound(right, np.concatenate([*guesses, (guesses[0] + guesses[1, other]) * apart]), caution)
    number = int(np.argmax(worth))
    which, end = divmod(number, len(ENDS))  # "present" alone, "absent" alone, or both
    absent_end = other[end] if which == 2 else end
    shown = (names[end], float(values[0][end])) if which != 1 else None
    hidden = (names[absent_end], float(values[1][absent_end])) if which != 0 else None
    return float(worth[number]), shown, hidden


def tally(values: Floats, present: Bools) -> tuple[Floats, Ints]:
    """Return cuts, and how many trials lie above, below and on each: `(end, shown or hidden, cut)`."""
    known = np.isfinite(values)
    values, present = values[known], present[known]
    cuts = np.unique(values)
    if len(cuts) > MOST_CUTS:
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, MOST_CUTS), method="nearest"))
    groups = np.sort(values[present]), np.sort(values[~present])
    above = [len(group) - np.searchsorted(group, cuts, side="left") for group in groups]
    below = [np.searchsorted(group, cuts, side="right") for group in groups]
    exact = [upto + onward - len(group) for upto, onward, group in zip(below, above, groups, strict=True)]
    return cuts, np.array([above, below, exact])


def quick_bound(right: object, guesses: object, caution: float) -> Floats:
    """Return a quick stand-in for the bound, to choose by (Wilson's interval)."""
    count = np.asarray(guesses, dtype=np.float64)
    share = (np.asarray(right, dtype=np.float64) + 0.5) / (count + 1)
    squared = caution**2
    error = squared / (count + squared)
    middle = (1 - error) * share + error / 2
    width = caution / (count + squared) * np.sqrt(share * (1 - share) * count + squared / 4)
    return np.asarray(middle - width, dtype=np.float64)
