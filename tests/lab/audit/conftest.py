"""Margins take longer than all else in a small release, and an audit makes thousands."""

from typing import Any

import pytest

from pointveil import margins

ONE_IN = 8


@pytest.fixture
def margins_now_and_then(rough_margins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find margins in one release of eight, as its answers say: there they are compared with what the answers tell.

    A margin that follows from anything else is noticed for sure in the first such release. `make audit` compares all.
    """
    honest = margins.margins_of

    def now_and_then(survey: Any) -> Any:
        return honest(survey) if int(survey.answers[0].values.sum()) % ONE_IN == 0 else None

    monkeypatch.setattr(margins, "margins_of", now_and_then)
