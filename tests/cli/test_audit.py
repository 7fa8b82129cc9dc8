"""The commands that give evidence: keys, verify, audit."""

import itertools
import json
from pathlib import Path

import pytest

from pointveil.cli import main

pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def test_a_release_is_signed_by_the_users_own_key_and_verified(
    people_file: Path, world_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "synthetic.csv"
    assert run("keys", "new", "--quiet") == 0
    assert run("keys", "show") == 0
    public = capsys.readouterr().out.strip()

    assert run("synthesize", people_file, output, "--world", world_file, "--epsilon", "1", "--quiet") == 0

    assert run("verify", output, "--public-key", public, "--quiet") == 0
    assert run("keys", "new", "--key", tmp_path / "other.pem", "--json") == 0
    other = json.loads(capsys.readouterr().out)["public_key"]
    assert run("verify", output, "--public-key", other, "--quiet") == 4


def test_verify_explains_and_exports(
    people_file: Path, world_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, ledger = tmp_path / "synthetic.csv", tmp_path / "ledger.db"
    options = ("--world", world_file, "--epsilon", "1/2", "--ledger", ledger, "--small", "--quiet")
    assert run("synthesize", people_file, output, *options) == 0

    assert run("verify", output, "--ledger", ledger, "--explain") == 0
    assert "50%: however long they study this release, at most 62.2%" in capsys.readouterr().out
    assert run("verify", output, "--registry") == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 0.5


@pytest.fixture
def first_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try two cases of an audit: what the command makes of them is tested here, and all of them in tests/lab."""
    from pointveil.lab.audit import auditor

    all_cases = auditor.cases_for
    monkeypatch.setattr(auditor, "cases_for", lambda *given: itertools.islice(all_cases(*given), 2))


@pytest.mark.usefixtures("first_cases")
def test_an_audit_tells_its_result_as_json_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'figures'")
    table, picture = tmp_path / "audit.md", tmp_path / "audit.png"

    assert run("audit", "--method", "vault.count", "--runs", 20, "--json", "--table", table, "--picture", picture) == 0

    (row,) = json.loads(capsys.readouterr().out)["methods"]
    assert row["claim"] == 1.0
    assert not row["flagged"]
    assert "| vault.count | 1 |" in table.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("wrong", [("--method", "magic"), ("--runs", "3")])
def test_an_audit_of_nothing_is_refused(wrong: tuple[str, str]) -> None:
    assert run("audit", *wrong) == 2


@pytest.mark.usefixtures("first_cases")
def test_a_refuted_promise_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pointveil.lab.audit.mutants import MUTANTS
    from pointveil.lab.audit.questions import QUESTIONS

    monkeypatch.setitem(QUESTIONS, "vault.count", MUTANTS["noise of half the size"])

    assert run("audit", "--method", "vault.count") == 4
    assert "Do not release anything made with it" in capsys.readouterr().err
