"""Whatever byte of a release is changed, added or taken away: `verify` notices."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pointveil.cli import main
from pointveil.errors import InputError, VerificationError
from pointveil.formats import open_points
from pointveil.releases import synthesize
from pointveil.statement import SigningKey, parse_statement
from pointveil.synthetic import statement_path
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World

pytest.importorskip("cryptography", reason="signing needs the extra 'sign'")
MOST_PLACES = 1500
HALF_A_STEP = 0.5e-7
"""Degrees: what is less does not move a point on the lattice."""
FORMATS = (".csv", ".parquet", ".geojson", ".fgb", ".gpkg")


def make(suffix: str, people_file: Path, world: World, folder: Path, key: SigningKey | None) -> Path:
    path = folder / f"synthetic{suffix}"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=12).write(path, key=key)
    return path


@pytest.fixture(params=["signed", "not signed"])
def key(request: pytest.FixtureRequest, tmp_path: Path) -> SigningKey | None:
    return SigningKey.new(tmp_path / "key.pem") if request.param == "signed" else None


def tampered(content: bytes) -> Iterator[bytes]:
    """Change each byte, or MOST_PLACES of them; take some away, double some, cut the end off."""
    rng = np.random.default_rng(len(content))
    places = np.arange(len(content))
    for place in places if len(places) <= MOST_PLACES else np.sort(rng.choice(places, MOST_PLACES, replace=False)):
        changed = bytearray(content)
        changed[place] ^= int(rng.integers(1, 256))
        yield bytes(changed)
    for place in rng.choice(places, 40):
        yield content[:place] + content[place + 1 :]
        yield content[:place] + content[place : place + 1] + content[place:]
        yield content[:place]
    yield content + b"\n"
    yield content + b"\0"


def test_every_byte_of_the_statement_counts(
    people_file: Path, world: World, tmp_path: Path, key: SigningKey | None
) -> None:
    release = make(".csv", people_file, world, tmp_path, key)
    statement = statement_path(release)
    content = statement.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        statement.write_bytes(bytes(changed))
        with pytest.raises(VerificationError):
            verify(release)

    for other in tampered(content):
        if other != content:
            statement.write_bytes(other)
            with pytest.raises(VerificationError):
                verify(release)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_byte_of_the_release_counts(suffix: str, people_file: Path, world: World, tmp_path: Path) -> None:
    release = make(suffix, people_file, world, tmp_path, None)
    content = release.read_bytes()

    for other in tampered(content):
        if other != content:
            release.write_bytes(other)
            with pytest.raises(VerificationError):
                verify(release)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # a point that became no number
@pytest.mark.parametrize("suffix", [".parquet", ".geojson"])
def test_without_a_statement_beside_it_a_change_of_points_or_promise_is_noticed(
    suffix: str, people_file: Path, world: World, tmp_path: Path
) -> None:
    release = make(suffix, people_file, world, tmp_path, None)
    statement_path(release).unlink()
    content, points, promise = release.read_bytes(), points_of(release), verify(release).statement

    for other in tampered(content):
        release.write_bytes(other)
        try:
            found = verify(release).statement
        except (VerificationError, InputError):
            continue
        assert found == promise
        np.testing.assert_allclose(points_of(release), points, rtol=0, atol=HALF_A_STEP)


def points_of(release: Path) -> NDArray[np.float64]:
    return np.concatenate([batch.coordinates for batch in open_points(release).batches()])


def test_only_a_signature_shows_a_statement_that_was_made_anew(people_file: Path, world: World, tmp_path: Path) -> None:
    """Who changes a statement can make its digest fit again, but not the signature."""
    owner = SigningKey.new(tmp_path / "owner.pem")
    release = make(".csv", people_file, world, tmp_path, owner)
    path = statement_path(release)
    signed = parse_statement(path.read_text())
    changed = signed.model_copy(update={"not_promised": ("Hardly anything.",), "signature": None})

    for forged in (changed, changed.signed(SigningKey.new(tmp_path / "forger.pem"))):
        path.write_text(forged.to_json(), encoding="utf-8")
        with pytest.raises(VerificationError):
            verify(release, public_key=owner.public)
    path.write_text(changed.to_json(), encoding="utf-8")
    assert any("not signed: who made it is not known" in check for check in verify(release).checks)
    kept = changed.model_copy(update={"signature": signed.signature})
    path.write_text(kept.to_json(), encoding="utf-8")
    with pytest.raises(VerificationError):
        verify(release)


def test_the_command_tells_it_too(people_file: Path, world: World, tmp_path: Path) -> None:
    release = make(".csv", people_file, world, tmp_path, None)
    content = json.loads(statement_path(release).read_text())
    content["guarantee"]["epsilon"] = "1/10"
    statement_path(release).write_text(json.dumps(content, indent=2))

    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(release), "--quiet"])

    assert stopped.value.code == 4
