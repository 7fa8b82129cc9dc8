"""The gate: every mutant is caught, and no true method is.

A true promise is refuted by mistake only if two tests in a row fail, each with a chance of at most one in a thousand:
one in a million for each case. A run of the gate has some 200 cases, so it fails by mistake less than once in 5,000
runs.
"""

import pytest

from pointveil.audit import FAST, audit, subjects
from pointveil.audit.mutants import MUTANTS

SUBJECTS = subjects()


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_caught(name: str) -> None:
    findings = list(audit(MUTANTS[name], FAST, until_flagged=True))

    assert findings[-1].flagged, f"{name} was not caught in {len(findings)} cases"


@pytest.mark.parametrize("name", SUBJECTS)
def test_no_true_promise_is_refuted(name: str) -> None:
    flagged = [finding for finding in audit(SUBJECTS[name], FAST) if finding.flagged]

    assert not flagged, f"{name}: {flagged}"


def test_the_audit_has_power_on_a_plain_count() -> None:
    findings = list(audit(SUBJECTS["vault.count"], FAST))

    assert findings[0].evidence.bound() > 0.8  # the long form comes within five percent
