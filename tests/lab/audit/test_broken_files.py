"""Break what only files, batches and the command line show: the audit that goes through them must notice."""

from collections.abc import Callable

import pytest
from tests.privacy.test_mutants import a_count_printed, another_person_in_each_batch

from pointveil.lab.audit import subjects
from pointveil.lab.audit.auditor import ALARM
from pointveil.lab.audit.evidence import examine
from pointveil.lab.audit.neighbours import PERSON_PAIRS
from pointveil.lab.audit.trials import pair_trials

SUBJECT = subjects()["ugrid-uni, person, command line"]
BUSY = next(pair for pair in PERSON_PAIRS if pair.name == "one busy person among seventy")
# Runs of the command, a fifth of a second each; half of them choose a bet, and the others test it.
RUNS: dict[Callable[[pytest.MonkeyPatch], None], int] = {another_person_in_each_batch: 256, a_count_printed: 128}


@pytest.mark.parametrize("broken", RUNS, ids=lambda each: str(each.__name__))
def test_what_is_broken_in_files_alone_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)

    evidence = examine(pair_trials(SUBJECT, BUSY, RUNS[broken]))

    assert evidence.bound(1 - ALARM) > SUBJECT.claim
