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

CORE = 2
ALARM = 0.001
"""The chance that one test refutes a true promise; it counts only if a second test, on fresh trials, does so too."""


@dataclass(frozen=True)
class Effort:
    """How much is tried.

    Parameters
    ----------
    runs
        Releases for each pair of neighbours.
    core_runs
        Releases for the two pairs at the core, which must tell small excesses from none.
    releases
        Releases about the whole city.
    blocks, crowd
        Of the city.
    slow
        Whether pairs that take long are tried, too.
    """

    runs: int = 70
    core_runs: int = 500
    releases: int = 6
    blocks: int = 40
    crowd: int = 60_000
    slow: bool = False


FAST = Effort()
LONG = Effort(runs=1000, core_runs=6000, releases=40, blocks=60, crowd=200_000, slow=True)


def effort_for(runs: int) -> Effort:
    """Return the effort with so many releases for each pair."""
    return Effort(runs, 6 * runs, max(3, runs // 30), slow=runs >= 500)


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
    for number, pair in enumerate(pairs_for(subject)):
        if effort.slow or not pair.slow:
            yield _pair_case(subject, pair, effort.core_runs if number < CORE else effort.runs)
    for pair in find_jumps(subject):
        yield _pair_case(subject, pair, effort.runs)


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
