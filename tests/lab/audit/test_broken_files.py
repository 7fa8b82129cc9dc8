"""Break what only files, batches and the command line show: the audit that goes through them must notice."""

from collections.abc import Callable

import pytest
from tests.privacy.test_mutants import a_count_printed, another_person_in_each_batch, nobody_bounded_on_re_reading

from pointveil.lab.audit import FAST, subjects
from pointveil.lab.audit.auditor import cases_for, try_case

SUBJECT = subjects()["ugrid-uni, person, command line"]
AGAIN = 2
"""How many times as many trials each further test has: few, because each is a run of the command."""


@pytest.mark.parametrize(
    "broken",
    [another_person_in_each_batch, nobody_bounded_on_re_reading, a_count_printed],
    ids=lambda broken: str(broken.__name__),
)
def test_what_is_broken_in_files_alone_is_noticed(
    broken: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    case = next(case for case in cases_for(SUBJECT, FAST) if case.name == "one busy person")

    assert try_case(SUBJECT, case, AGAIN).flagged
