"""Every probe holds on the code as it is; `test_mutants.py` shows that each can fail."""

from pathlib import Path

import pytest
from tests.privacy.probes import PROBES, Probe


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: str(probe.__name__))
def test_it_is_true_that(probe: Probe, tmp_path: Path) -> None:
    probe(tmp_path)
