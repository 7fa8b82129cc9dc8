"""A release that was changed is never verified."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from pointveil.errors import InputError, VerificationError
from pointveil.releases import synthesize
from pointveil.statement import parse_statement
from pointveil.synthetic import statement_path
from pointveil.vault import Vault
from pointveil.verification import verify
from pointveil.world import World

SUFFIXES = [".csv", ".parquet", ".geoparquet", ".geojson", ".gpkg", ".shp", ".fgb"]


@pytest.fixture
def release(people_file: Path, world: World, tmp_path: Path) -> Path:
    path = tmp_path / "synthetic.csv"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=20).write(path)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_release_in_any_format_is_verified(suffix: str, people_file: Path, world: World, tmp_path: Path) -> None:
    path = tmp_path / f"synthetic{suffix}"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=50).write(path)

    assert verify(path).statement.guarantee.epsilon == "1"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_verifying_leaves_no_file_behind(suffix: str, people_file: Path, world: World, tmp_path: Path) -> None:
    path = tmp_path / f"synthetic{suffix}"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=50).write(path)
    before = sorted(tmp_path.iterdir())

    verify(path)
    statement_path(path).unlink()
    with suppress(VerificationError):  # CSV and Shapefile have no statement in them
        verify(path)

    assert sorted(tmp_path.iterdir()) == [each for each in before if each != statement_path(path)]


@pytest.mark.parametrize("suffix", [".parquet", ".geoparquet", ".geojson", ".gpkg"])
def test_without_the_statement_beside_it_the_one_inside_is_checked(
    suffix: str, people_file: Path, world: World, tmp_path: Path
) -> None:
    path = tmp_path / f"synthetic{suffix}"
    synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", count=50).write(path)
    statement_path(path).unlink()

    assert "not every byte" in " ".join(verify(path).checks)


def test_every_changed_byte_of_the_points_is_noticed(release: Path) -> None:
    content = release.read_bytes()

    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        release.write_bytes(bytes(changed))
        with pytest.raises(VerificationError):
            verify(release)


def test_every_changed_byte_of_the_statement_is_noticed(release: Path) -> None:
    path = statement_path(release)
    content = path.read_bytes()

    for place in np.random.default_rng(1).permutation(len(content))[:600]:
        for bit in (1, 128):
            changed = bytearray(content)
            changed[place] ^= bit
            path.write_bytes(bytes(changed))
            with pytest.raises(VerificationError):
                verify(release)


@pytest.mark.parametrize(
    "change", [lambda text: text + " ", lambda text: text.replace("  ", " "), lambda _: "", lambda _: "[]"]
)
def test_a_statement_in_another_form_is_noticed(change: object, release: Path) -> None:
    path = statement_path(release)
    path.write_text(change(path.read_text()))  # type: ignore[operator]

    with pytest.raises(VerificationError):
        verify(release)


def test_sums_that_do_not_add_up_are_noticed_even_with_a_right_digest(release: Path) -> None:
    path = statement_path(release)
    statement = parse_statement(path.read_text())
    cheaper = statement.model_copy(update={"guarantee": statement.guarantee.model_copy(update={"epsilon": "1/2"})})
    path.write_text(cheaper.to_json())

    with pytest.raises(VerificationError, match="cost epsilon 1 in all, but the guarantee says 1/2"):
        verify(release)


def test_a_row_more_or_less_is_noticed(release: Path) -> None:
    lines = release.read_text().splitlines(keepends=True)
    release.write_text("".join(lines[:-1]))

    with pytest.raises(VerificationError, match=r"synthetic\.csv was changed"):
        verify(release)


def test_a_file_without_a_statement_is_not_verified(release: Path) -> None:
    statement_path(release).unlink()

    with pytest.raises(VerificationError, match="has no statement"):
        verify(release)
    with pytest.raises(InputError, match="There is no file"):
        verify(release.with_name("missing.csv"))


def test_the_statement_says_nothing_that_depends_on_the_data(release: Path) -> None:
    content = json.loads(statement_path(release).read_text())

    assert set(content) == {
        "schema", "release", "made", "software", "rehearsal", "guarantee", "domain", "method", "edition",
        "survey", "questions", "post_processing", "unprotected", "randomness", "numerics", "ledger", "not_promised",
        "in_plain_words", "output", "digest",
    }  # fmt: skip
    assert content["unprotected"] == []
    assert set(content["questions"][0]) == {
        "purpose", "question", "theorem", "cells", "sensitivity", "epsilon", "sampler", "reads",
    }  # fmt: skip


def test_a_rehearsal_is_never_verified(people_file: Path, world: World, tmp_path: Path) -> None:
    path = tmp_path / "rehearsed.csv"
    synthesize(Vault.rehearse(people_file, world, epsilon=1, seed=1), "ugrid-uni", count=20).write(path)

    with pytest.raises(VerificationError, match="not private"):
        verify(path)
