"""A statement that was signed can be trusted as far as its key can."""

import base64
import json
import os
from pathlib import Path

import pydantic
import pytest

import pointveil as pv
from pointveil.errors import InputError, VerificationError
from pointveil.ledger import Ledger
from pointveil.releases import synthesize
from pointveil.statement import SigningKey, explain, parse_statement, registry_entry, statement_schema
from pointveil.statement.document import IF_ANY
from pointveil.synthetic import statement_path
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World

pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
SCHEMA = Path(__file__).parents[2] / "docs" / "statement.schema.json"


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return SigningKey.new(tmp_path / "keys" / "key.pem")


@pytest.fixture
def release(people_file: Path, world: World, tmp_path: Path, key: SigningKey) -> Path:
    path = tmp_path / "synthetic.parquet"
    vault = Vault.open(people_file, world, epsilon=1, ledger=Ledger(tmp_path / "ledger.db"), dataset="people")
    synthesize(vault, "ugrid-uni", count=20).write(path, key=key)
    return path


def test_a_signed_release_is_verified_by_its_key(release: Path, key: SigningKey) -> None:
    checks = " ".join(verify(release, public_key=key.public).checks)

    assert "signed by the given key" in checks
    assert verify(release, public_key=str(key.public_path)).statement.signature is not None
    assert key.public in " ".join(verify(release).checks)


def test_the_statement_inside_the_file_is_signed_too(release: Path, key: SigningKey) -> None:
    statement_path(release).unlink()

    assert verify(release, public_key=key.public)


def test_another_key_is_refused(release: Path, tmp_path: Path) -> None:
    other = SigningKey.new(tmp_path / "other.pem")

    with pytest.raises(VerificationError, match="signed by another key"):
        verify(release, public_key=other.public)


def test_a_key_that_looks_nearly_the_same_is_another_key(release: Path, key: SigningKey) -> None:
    statement = parse_statement(statement_path(release).read_text())
    nearly = [key.public.swapcase(), key.public[:-1], f" {key.public}", key.public.replace("=", "\uff1d")]

    for other in (*nearly, *(key.public.replace(sign, sign.swapcase(), 1) for sign in key.public if sign.isalpha())):
        with pytest.raises(VerificationError, match="another key"):
            statement.check_signature(other)


def test_a_statement_without_a_signature_is_refused_where_one_is_wanted(release: Path, key: SigningKey) -> None:
    path = statement_path(release)
    path.write_text(parse_statement(path.read_text()).model_copy(update={"signature": None}).to_json())

    with pytest.raises(VerificationError, match="not signed"):
        verify(release, public_key=key.public)
    assert "not signed" in " ".join(verify(release).checks)


def test_a_signature_does_not_fit_another_statement_even_with_a_right_digest(release: Path) -> None:
    path = statement_path(release)
    statement = parse_statement(path.read_text())
    path.write_text(statement.model_copy(update={"made": "1999-01-01"}).to_json())

    with pytest.raises(VerificationError, match="signature is not that of this statement"):
        verify(release)


def test_every_changed_character_of_a_signature_is_noticed(release: Path) -> None:
    path = statement_path(release)
    statement = parse_statement(path.read_text())
    assert statement.signature is not None
    value = base64.b64decode(statement.signature.value)

    for place in range(len(value)):
        changed = bytearray(value)
        changed[place] ^= 1
        forged = statement.signature.model_copy(update={"value": base64.b64encode(bytes(changed)).decode()})
        path.write_text(statement.model_copy(update={"signature": forged}).to_json())
        with pytest.raises(VerificationError):
            verify(release)
    for text in ("", "not base64", statement.signature.value + "\n", "ä"):
        forged = statement.signature.model_copy(update={"value": text})
        path.write_text(statement.model_copy(update={"signature": forged}).to_json())
        with pytest.raises(VerificationError, match="not well-formed"):
            verify(release)


def test_the_private_key_is_for_its_owner_only_and_never_overwritten(key: SigningKey) -> None:
    assert key.path.stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in repr(key)
    with pytest.raises(InputError, match="already"):
        SigningKey.new(key.path)
    assert SigningKey.read(key.path).public == key.public


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o610])
def test_a_private_key_that_others_may_open_is_refused_with_the_cure(
    mode: int, key: SigningKey, people_file: Path, world: World, tmp_path: Path
) -> None:
    key.path.chmod(mode)

    with pytest.raises(InputError, match=f"Other users may open .* chmod 600 '{key.path}'"):
        SigningKey.read(key.path)
    ledger = Ledger(tmp_path / "ledger.db")
    for make in (pv.release, pv.release_survey):
        with pytest.raises(InputError, match="chmod 600"):  # before anything is charged
            make(people_file, world, epsilon=1, output=tmp_path / "out.csv", ledger=ledger, key=key.path)
    assert ledger.accounts() == []
    key.path.chmod(0o600)
    assert SigningKey.read(key.path) == key


def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing")
    wrong.chmod(0o600)

    with pytest.raises(InputError, match="not a private key"):
        SigningKey.read(wrong)
    with pytest.raises(InputError, match="keys new"):
        SigningKey.read(tmp_path / "missing.pem")


def test_the_ledger_confirms_the_release_or_does_not(release: Path, tmp_path: Path) -> None:
    checks = " ".join(verify(release, ledger=tmp_path / "ledger.db").checks)
    assert "its chain has the charge" in checks

    other = tmp_path / "other.db"
    Ledger(other).set_cap("something", 5)
    with pytest.raises(VerificationError, match="does not confirm"):
        verify(release, ledger=other)


def test_a_release_that_cost_more_than_was_charged_is_noticed(release: Path) -> None:
    path = statement_path(release)
    statement = parse_statement(path.read_text()).model_copy(update={"signature": None})
    assert statement.ledger is not None
    cheap = statement.ledger.model_copy(update={"spent_after": "1/2"})
    path.write_text(statement.model_copy(update={"ledger": cheap}).to_json())

    with pytest.raises(VerificationError, match="Less was charged"):
        verify(release)


def test_the_published_schema_is_fresh_and_names_every_field(release: Path) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))

    if tuple(map(int, pydantic.VERSION.split(".")[:2])) >= (2, 9):  # older ones say the same in other words
        assert schema == statement_schema(), "run scripts/make_statement_schema.py"
    assert set(json.loads(statement_path(release).read_text())) <= set(schema["properties"])
    assert set(schema["required"]) | set(IF_ANY) == set(schema["properties"])


def test_the_registry_entry_says_what_the_statement_says(release: Path) -> None:
    entry = registry_entry(verify(release).statement)["deployment"]

    assert set(entry) == {
        "basic", "dp_variant", "privacy_loss", "deployment_model", "accounting", "implementation", "administrative",
    }  # fmt: skip
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 0}
    assert entry["dp_variant"]["unprotected_quantities"] == "None."
    assert json.loads(json.dumps(entry)) == entry


def test_the_promise_is_explained_with_numbers_that_are_right(release: Path) -> None:
    text = explain(verify(release).statement)

    assert "50%: however long they study this release, at most 73.1%, and at least 26.9%" in text
    assert "in which of two places" in text
    assert "50%: at most 88.1%, and at least 11.9%" in text
    assert "each point by itself" in text
    assert "changes the probability of any release" in text
    assert "odds" not in text
    assert "Not promised" in text
