"""Try to break a promise: run every case against a subject, and tell what was proved."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain

from pointveil.lab.audit.city import ACROSS, HOME, IN_COMPANY, ONE_STRANGER, ROUND_THE_CORNER, City
from pointveil.lab.audit.evidence import Evidence, Trials, examine
from pointveil.lab.audit.files import command_subject
from pointveil.lab.audit.neighbours import Pair, find_jumps, pairs_for
from pointveil.lab.audit.priors import open_guided
from pointveil.lab.audit.questions import QUESTIONS
from pointveil.lab.audit.subjects import DROPPING, KEEP, MAX_POINTS, Subject, method_subject
from pointveil.lab.audit.trials import canary_trials, pair_trials, pool
from pointveil.methods import METHODS
from pointveil.placement import AlongRoads

SUSPICION = 0.75  # how sure a test must be that a promise is broken, for another one on fresh trials to be made
MORE_TESTS = 2
KEEPING = ("veil", "ugrid-uni")
KEPT_TEXTS = ("at=time:2024-03-04/2024-03-11@hour-of-day;share=3/10", "kind=category:bus,tram;share=1/5")
# So much for the question about crowds that these cities, too, have enough people for the answer to tell.
CROWDED = {"total": "1/100", "district": "1/100", "shape": "1/10", "offset": "2/100", "crowd": "1/5", "count": "33/50"}
ALARM = 1e-6  # the chance that all later tests together refute a true promise


@dataclass(frozen=True)
class Effort:
    """How much is tried."""

    runs: int = 28  # releases for each pair of neighbours; some get several times as many
    canaries: int = 4000  # whose coins are guessed in each city
    releases: int = 6  # that may be made for them at most
    blocks: int = 40  # along a side of the city
    crowd: int = 60_000  # people in its corner
    again: int = 4  # how many times as many trials each further test has
    every_pair: bool = False  # whether pairs are tried, too, that seldom tell more than others


FAST = Effort()
LONG_RUNS = 120
QUICK = 6  # times as many runs for the heaviest pairs, and in the long form cities, where a release takes no time


def effort_for(runs: int) -> Effort:
    """Return the effort with so many releases for each pair."""
    if runs < LONG_RUNS:
        return Effort(runs, 150 * runs, max(6, runs // 8))
    return Effort(runs, 350 * runs, runs // 3, blocks=100, crowd=400_000, again=2, every_pair=True)


Case = tuple[str, Callable[[int], Trials]]  # its name, and how to make trials: so many times as many as at first


@dataclass(frozen=True)
class Finding:
    """What one case showed about one subject."""

    subject: str  # what was attacked
    case: str  # how
    claim: float  # its epsilon
    evidence: Evidence  # the guesses, and how many were right
    flagged: bool  # whether the claim seemed false at first, and was refuted on fresh trials then, almost surely


def cases_for(subject: Subject, effort: Effort) -> Iterator[Case]:
    """Yield every case: the cities of canaries, the worst neighbours, and jumps that a search finds."""
    # Of methods that keep columns, cities and jumps are tried only in the long form; the map is as before.
    is_whole = subject.quick or effort.every_pair or not subject.keep
    for name, city in cities_for(subject, effort).items() if is_whole else ():
        yield name, partial(_city_trials, subject, city, effort)
    pairs = [pair for pair in pairs_for(subject) if pair.weight or effort.every_pair]
    made: list[Trials] = []
    for pair in pairs:
        quick = QUICK if subject.quick and pair.weight > 1 else 1
        yield pair.name, partial(_pair_trials, subject, pair, quick * effort.runs * max(pair.weight, 1), made)
    yield "all pairs together", partial(_pooled_trials, subject, pairs, effort.runs, made)
    for pair in find_jumps(subject) if is_whole else ():
        yield pair.name, partial(_pair_trials, subject, pair, effort.runs * pair.weight, [])


def cities_for(subject: Subject, effort: Effort) -> dict[str, City]:
    """Return the cities that suit the unit which a subject protects."""
    blocks, crowd = effort.blocks, effort.crowd
    cities = {"canaries, each alone": City(blocks, crowd), "canaries in company": City(blocks, 0, IN_COMPANY)}
    if subject.keep:
        return {"canaries, each alone": cities["canaries, each alone"]}
    if subject.points_per_unit > 1:
        return {**cities, "canaries on two streets": City(blocks, crowd, homes=(HOME, ROUND_THE_CORNER))}
    return {**cities, "canaries and a stranger": City(blocks, crowd, ONE_STRANGER, ACROSS)}


def _city_trials(subject: Subject, city: City, effort: Effort, times: int) -> Trials:
    times *= QUICK if subject.quick and effort.every_pair else 1
    return canary_trials(subject, city, times * effort.releases, enough=times * effort.canaries)


def _pair_trials(subject: Subject, pair: Pair, runs: int, made: list[Trials], times: int) -> Trials:
    """Return trials of a pair, and leave the first ones in `made`."""
    found = pair_trials(subject, pair, times * runs)
    if times == 1:
        made.append(found)
    return found


def _pooled_trials(subject: Subject, pairs: list[Pair], runs: int, made: list[Trials], times: int) -> Trials:
    """Return trials of all pairs together: what happens seldom in each may be seen in all."""
    return pool(made if times == 1 else [pair_trials(subject, pair, times * runs) for pair in pairs])


def audit(
    subject: Subject, effort: Effort = FAST, *, until_flagged: bool = False, first: str | None = None
) -> Iterator[Finding]:
    """Yield what each case shows, the one named `first` before all others.

    With `until_flagged`, stop at the first that refutes the claim.
    """
    named = first and next((case for case in cases_for(subject, effort) if case[0] == first), None)
    others = (case for case in cases_for(subject, effort) if not named or case[0] != first)
    for case in chain([named] if named else [], others):
        finding = try_case(subject, case, effort.again)
        yield finding
        if finding.flagged and until_flagged:
            return


def try_case(subject: Subject, case: Case, again: int) -> Finding:
    """Test; as long as the claim may be false, test again on more and fresh trials, and keep the last evidence."""
    (name, trials), claim = case, float(subject.claim)
    evidence, flagged = examine(trials(1)), False
    for stage in range(1, 1 + MORE_TESTS):
        if flagged or evidence.bound(SUSPICION) <= claim:
            break
        evidence = examine(trials(again**stage))
        flagged = evidence.bound(1 - ALARM / MORE_TESTS) > claim
    return Finding(subject.name, name, claim, evidence, flagged)


def subjects(*, persons: bool = False) -> dict[str, Subject]:
    """Return the vault's questions and every row of the table of methods, and those for persons, too."""
    units = (1, MAX_POINTS) if persons else (1,)
    rows = [method_subject(method, points_per_unit=points) for points in units for method in METHODS.values()]
    # And settings that no row of the table has: a small epsilon, a prior, crowds that are counted again, offsets by
    # edge, files and the command line.
    road = replace(METHODS["road"], placement=AlongRoads(offsets="edge"))
    crowded = replace(METHODS["veil"], split=CROWDED)
    rows += [
        replace(method_subject(METHODS["veil"]), name="veil, prior", open=open_guided),
        replace(method_subject(crowded), name="veil, second counts"),
        replace(method_subject(METHODS["veil"], claim=Fraction(1, 4)), name="veil, ε = 1/4"),
        replace(method_subject(road), name="road, offsets by edge"),
        command_subject("ugrid-uni", points_per_unit=MAX_POINTS),
    ]
    # And methods that keep columns.
    rows += [method_subject(METHODS[name], points_per_unit=points, keep=KEEP) for points in units for name in KEEPING]
    rows += [
        replace(method_subject(METHODS["ugrid-uni"], keep=DROPPING), name="ugrid-uni, columns, other dropped"),
        command_subject("ugrid-uni", points_per_unit=MAX_POINTS, keep=KEPT_TEXTS),
    ]
    return {**QUESTIONS, **{subject.name: subject for subject in rows}}
