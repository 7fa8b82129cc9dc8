"""A release that is killed leaves no output without its charge, and nothing half-written."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from pointveil.ledger import Ledger
from pointveil.verification import verify

KILLS = 8


def test_kill_at_random_moments_never_leaves_an_output_without_its_charge(
    people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"
    Ledger(ledger).set_cap(people_file.name, 1000)
    command = [sys.executable, "-c", "from pointveil.cli import main; main()", "synthesize", str(people_file)]
    options = ["--world", str(world_file), "--epsilon", "1", "--ledger", str(ledger), "--quiet"]
    began = time.monotonic()
    subprocess.run([*command, str(tmp_path / "whole.csv"), *options], check=True)
    usual = time.monotonic() - began

    for number in range(KILLS):
        process = subprocess.Popen([*command, str(tmp_path / f"{number}.csv"), *options])
        time.sleep(random.Random(number).uniform(0.5, 1.0) * usual)
        process.send_signal(signal.SIGKILL)
        process.wait()

    outputs = list(tmp_path.glob("*.csv"))
    (account,) = Ledger(ledger).accounts()
    assert account.spent >= len(outputs)
    assert Ledger(ledger).verify() == []
    for output in outputs:
        assert output.read_text().endswith("\n")
        if (statement := output.with_name(f"{output.name}.statement.json")).exists():
            json.loads(statement.read_text())
            verify(output)
