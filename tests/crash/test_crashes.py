"""A release that was killed, or whose disk failed, is there whole after the same command, and charged once."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CANNOT_TRACE = 77


def found_by_breaking(kind: str) -> dict[str, Any]:
    """Return what the laboratory tells; skip with its reason where it cannot work."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace, to break system calls")
    command = [sys.executable, "-m", "tests.crash.laboratory", "--json", "--part", "--kinds", kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode == CANNOT_TRACE:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["KILL", "EIO"])
def test_the_same_request_after_a_crash_gives_one_whole_release_for_one_charge(kind: str) -> None:
    found = found_by_breaking(kind)

    not_reached = found["problems"].pop("not reached", [])

    assert found["trials"] >= 60
    assert len(not_reached) < found["trials"] / 10
    assert found["problems"] == {}
