"""Break the code for kept columns: the audit of what keeps them must notice, by what records say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pointveil.engines.at_most
import pointveil.engines.base
import pointveil.formats.codes
import pointveil.vault.vault
from pointveil.lab.audit import FAST, audit, subjects

SUBJECTS = subjects(persons=True)
vault = pointveil.vault.vault
base = pointveil.engines.base
Patch = Callable[[pytest.MonkeyPatch], None]


def tables_counted_twice(patch: pytest.MonkeyPatch) -> None:
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any = (), votes: Any = None) -> Any:
        return honest(cells, xy, size, codes, votes) * (2 if codes else 1)

    patch.setattr(base, "tally_cells", tally)


def an_unlisted_value_shifts_all_others(patch: pytest.MonkeyPatch) -> None:
    honest = pointveil.formats.codes._finished

    def finished(column: Any, bins: Any) -> Any:
        shift = int((bins < 0).any() and len(bins) % column.codes != 0)  # all codes in turn are tried at first
        return honest(column, np.where(bins < 0, bins, (bins + shift) % column.size))

    patch.setattr(pointveil.formats.codes, "_finished", finished)


def an_error_for_a_lonely_value(patch: pytest.MonkeyPatch) -> None:
    honest = base.tally_cells

    def tally(cells: Any, xy: Any, size: int, codes: Any = (), votes: Any = None) -> Any:
        if codes and len(xy) and np.bincount(codes[0]).min(initial=9, where=np.bincount(codes[0]) > 0) == 1:
            raise ValueError
        return honest(cells, xy, size, codes, votes)

    patch.setattr(base, "tally_cells", tally)


def a_whole_vote_for_every_point(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pointveil.engines.at_most.AtMost, "votes", lambda _, __, counts, votes: counts * votes)


BROKEN: dict[Patch, str] = {
    tables_counted_twice: "vault.count, columns",
    an_unlisted_value_shifts_all_others: "vault.count, columns",
    an_error_for_a_lonely_value: "vault.count, columns",
    a_whole_vote_for_every_point: "vault.count, columns, person",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: str(each.__name__))
def test_broken_code_is_noticed(broken: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)

    first = "one who says nothing" if broken is an_unlisted_value_shifts_all_others else None  # no other case shows it
    findings = list(audit(SUBJECTS[BROKEN[broken]], FAST, until_flagged=True, first=first))

    assert findings[-1].flagged, [(finding.case, finding.evidence) for finding in findings]
