"""The table of measured errors has every method, and says what measuring again would say."""

import runpy
from pathlib import Path

import pytest

from pointveil.cli.methods import read_measured
from pointveil.methods import METHODS

SCRIPT = Path(__file__).parents[2] / "scripts" / "measure_methods.py"


def test_every_method_was_measured_and_nothing_else() -> None:
    missing = set(METHODS) ^ set(read_measured()["errors"])

    assert not missing, f"run scripts/measure_methods.py {' '.join(sorted(missing))}"


@pytest.mark.slow
@pytest.mark.usefixtures("rough_margins")
@pytest.mark.parametrize("name", ["ugrid-uni", "agrid-wud"])
def test_measuring_again_gives_the_same_error(name: str) -> None:
    measure = runpy.run_path(str(SCRIPT))["measure"]

    assert measure(name) == pytest.approx(read_measured()["errors"][name], rel=0.02)
