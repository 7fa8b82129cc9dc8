"""Show that the paper's kernel leaks: it claims epsilon 1, and more than 4 is measured; ours keeps its promise.

In a city of blocks, every second block of 100 m has one person or nobody, as an even coin says. One release tells
about all of them. An attacker knows where each person would be, looks only at the published points, and bets on those
blocks where a point lies very near. Under a promise of epsilon, bets are right with odds of at most e^epsilon.

    python examples/paper_kernel_leaks.py [BLOCKS [RELEASES]]
"""

import sys
import time

import numpy as np

from pointveil.lab.audit.city import City
from pointveil.lab.audit.evidence import Trials, examine
from pointveil.lab.audit.mutants import MUTANTS
from pointveil.lab.audit.subjects import Subject, method_subject
from pointveil.lab.audit.trials import canary_trials
from pointveil.methods import METHODS

BLOCKS, RELEASES = 400, 8


def main() -> None:
    """Attack both kernels in the same way."""
    blocks, releases = sizes()
    # For our kernel a crowd in one corner makes the method choose cells of about 100 m; the paper's has them anyway.
    ours = method_subject(METHODS["ugrid-kde"])
    for subject, crowd in ((MUTANTS["the paper's kernel"], 1000), (ours, round(17 * blocks**2))):
        attack(subject, City(blocks, crowd), releases)


def sizes() -> tuple[int, int]:
    """Return what was asked for on the command line."""
    numbers = [int(text) for text in sys.argv[1:3]]
    return (*numbers, *(BLOCKS, RELEASES)[len(numbers) :])  # type: ignore[return-value]


def attack(subject: Subject, city: City, releases: int) -> None:
    """Bet on the nearest point, and say what that proves."""
    began = time.perf_counter()
    evidence = examine(points_only(canary_trials(subject, city, releases)))
    bound = evidence.bound()
    print(f"{subject.name}: claims epsilon {float(subject.claim):g}; refuted: every epsilon below {bound:.2f} (95 %)")
    print(f"    {evidence.correct:,} of {evidence.guesses:,} bets were right: {evidence.rule}")
    print(f"    {evidence.trials:,} people or none, in {releases} releases, {time.perf_counter() - began:.0f} s")


def points_only(trials: Trials) -> Trials:
    """Return trials with the distance of the nearest point alone."""
    nearest = trials.names.index("nearest point")
    return Trials(trials.present, np.ascontiguousarray(trials.seen[:, [nearest]]), ("nearest point",))


if __name__ == "__main__":
    main()
