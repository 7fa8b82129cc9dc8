"""Try to break a promise: run every case against a subject, and tell what was proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pointveil.audit.evidence import CONFIDENCE, Evidence, Trials, examine
from pointveil.audit.neighbours import Pair, find_jumps, pairs_for
from pointveil.audit.questions import QUESTIONS
from pointveil.audit.subjects import MAX_POINTS, Subject, method_subject
from pointveil.audit.trials import City, canary_trials, pair_trials
from pointveil.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

ALARM = 0.001
"""The chance that one test refutes a true promise; it counts only if a second test, on fresh trials, does so too."""


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Parameters
    ----------
    runs
        Releases for each pair of neighbours; some get several times as many.
    releases
        Releases about the whole city.
    blocks, crowd
        Of the city.
    every_pair
        Whether pairs are tried, too, that seldom tell more than others.
    """

    runs: int = 60
    releases: int = 6
    blocks: int = 40
    crowd: int = 60_000
    every_pair: bool = False


FAST = Effort()
LONG_RUNS = 400


def effort_for(runs: int) -> Effort:
    """Return the effort with so many releases for each pair."""
    if runs < LONG_RUNS:
        return Effort(runs, max(6, runs // 10))
    return Effort(runs, runs // 25, blocks=60, crowd=200_000, every_pair=True)


@dataclass(frozen=True)
class Case:
    """One way to attack: its name, and how to make trials of it."""

    name: str
    trials: Callable[[], Trials]


@dataclass(frozen=True)
class Finding:
    """What one case showed about one subject.

    Parameters
    ----------
    subject, case, claim
        What was attacked, how, and the epsilon that it claims.
    evidence
        The guesses, and how many were right.
    flagged
        Whether two tests, one after the other, refuted the claim.
    """

    subject: str
    case: str
    claim: float
    evidence: Evidence
    flagged: bool


def cases_for(subject: Subject, effort: Effort) -> Iterator[Case]:
    """Yield every case: the city of canaries, the worst neighbours, and jumps that a search finds."""
    city = City(effort.blocks, effort.crowd)
    yield Case("many canaries in one city", lambda: canary_trials(subject, city, effort.releases))
    for pair in pairs_for(subject):
        if pair.weight or effort.every_pair:
            yield _pair_case(subject, pair, effort.runs * max(pair.weight, 1))
    for pair in find_jumps(subject):
        yield _pair_case(subject, pair, effort.runs * pair.weight)


def _pair_case(subject: Subject, pair: Pair, runs: int) -> Case:
    return Case(pair.name, lambda: pair_trials(subject, pair, runs))


def audit(subject: Subject, effort: Effort = FAST, *, until_flagged: bool = False) -> Iterator[Finding]:
    """Yield what each case shows; with `until_flagged`, stop at the first that refutes the claim."""
    for case in cases_for(subject, effort):
        finding = try_case(subject, case)
        yield finding
        if finding.flagged and until_flagged:
            return


def try_case(subject: Subject, case: Case) -> Finding:
    """Test once; if the claim seems false, test again on fresh trials, and keep the second evidence."""
    claim = float(subject.claim)
    evidence = examine(case.trials())
    flagged = evidence.bound(1 - ALARM) > claim
    if flagged:
        evidence = examine(case.trials())
        flagged = evidence.bound(1 - ALARM) > claim
    return Finding(subject.name, case.name, claim, evidence, flagged)


def worst(findings: Sequence[Finding]) -> tuple[Finding, float]:
    """Return the finding with the largest bound, and that bound, which holds with 95 % for all of them together."""
    confidence = 1 - (1 - CONFIDENCE) / len(findings)
    found = max(findings, key=lambda finding: finding.evidence.bound(confidence))
    return found, found.evidence.bound(confidence)


def subjects(*, persons: bool = False) -> dict[str, Subject]:
    """Return the vault's questions and every row of the table of methods, and those for persons, too."""
    rows = {name: method_subject(method) for name, method in METHODS.items()}
    for method in METHODS.values() if persons else ():
        subject = method_subject(method, points_per_unit=MAX_POINTS)
        rows[subject.name] = subject
    return {**QUESTIONS, **rows}
