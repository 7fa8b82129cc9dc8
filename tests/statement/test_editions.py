"""What an earlier edition released can be verified for ever; what it recorded is not drawn by another."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pointveil as pv
from pointveil.errors import InputError, VerificationError
from pointveil.statement import parse_statement
from pointveil.synthetic import statement_path
from pointveil.world import World

FIXTURES = Path(__file__).parents[1] / "fixtures"
EDITION_0 = FIXTURES / "edition-0"
RELEASES = [path.with_name(path.name.removesuffix(".statement.json")) for path in sorted(EDITION_0.glob("*.json"))]
SIGNED = [path for path in RELEASES if '"signature"' in statement_path(path).read_text()]


def test_the_fixtures_cover_what_can_differ() -> None:
    statements = [parse_statement(statement_path(path).read_text()) for path in RELEASES]
    combinations = {(each.method.name, each.domain.roads) for each in statements if each.method}

    assert {name for name, _ in combinations} == set(pv.METHODS)
    assert {("veil", True), ("veil", False)} <= combinations
    assert {each.guarantee.points_per_unit for each in statements} == {1, 2}
    assert {path.suffix for path in RELEASES} == {
        ".csv", ".tsv", ".parquet", ".geoparquet", ".geojson", ".gpkg", ".shp", ".fgb",
    }  # fmt: skip
    assert 0 < len(SIGNED) < len(RELEASES)
    assert {each.edition for each in statements} == {None}


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_release_of_an_earlier_edition_is_verified_and_a_flipped_byte_is_noticed(
    release: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(EDITION_0, folder, ignore=lambda _, names: [name for name in names if release.stem not in name])
    copy = folder / release.name
    key = (EDITION_0 / "publisher.pub").read_text() if release in SIGNED else None
    if key is not None:
        pytest.importorskip("cryptography", reason="a signature is checked with the extra sign")

    assert "nothing was charged" not in " ".join(pv.verify(copy, public_key=key).checks)

    for path in (copy, statement_path(copy)):
        content = path.read_bytes()
        for place in (0, len(content) // 3, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(bytes(changed))
            with pytest.raises(VerificationError):
                pv.verify(copy, public_key=key)
        path.write_bytes(content)


@pytest.mark.parametrize("suffix", [".parquet", ".geoparquet", ".geojson", ".gpkg"])
def test_the_statement_inside_a_file_of_an_earlier_edition_is_verified(suffix: str, tmp_path: Path) -> None:
    release = next(path for path in RELEASES if path.suffix == suffix)
    alone = shutil.copy(release, tmp_path / release.name)

    assert "not every byte" in " ".join(pv.verify(alone).checks)


def test_a_survey_without_an_edition_is_refused_and_the_version_named() -> None:
    with pytest.raises(InputError, match=r"made by Pointveil 0\.1\.0 before editions were recorded, and only that"):
        pv.Survey.read(EDITION_0 / "veil.survey")


@pytest.mark.parametrize(
    "raise_edition",
    [
        lambda patch: patch.setattr("pointveil.surveys.DRAWING", "4"),
        lambda patch: patch.setattr("pointveil.surveys.LAND", "3"),
        lambda patch: patch.setattr(pv.UniformGrid, "edition", 2, raising=False),
        lambda patch: patch.setattr(pv.Uniform, "edition", 2, raising=False),
    ],
    ids=["drawing", "land", "partitioner", "placement"],
)
def test_surveys_and_requests_of_another_edition_are_refused(
    raise_edition: Callable[[pytest.MonkeyPatch], None], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = pa.table({"lon": [10.004] * 2000, "lat": [50.003] * 2000})
    survey = tmp_path / "city.survey"
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni"}
    charged: dict[str, Any] = {"output": tmp_path / "a.csv", "request": "monday", **options}
    pv.release_survey(people, world, output=survey, **options)
    pv.release(people, world, **charged)
    assert pv.Survey.read(survey).statement.edition == {
        "method": "UniformGrid 1, Uniform 1", "drawing": "3", "land": "2",
    }  # fmt: skip

    raise_edition(monkeypatch)

    with pytest.raises(InputError, match=r"city\.survey .* by Pointveil .* \(method .*\), and only that version"):
        pv.Survey.read(survey)
    with pytest.raises(InputError, match=r"request 'monday' cannot be given again: .* only that version"):
        pv.release(people, world, **charged)
    assert [account.spent for account in pv.Ledger().accounts()] == [2]
    assert pv.verify(tmp_path / "a.csv")


def test_a_request_made_before_editions_is_refused(world: World, tmp_path: Path) -> None:
    ledger = pv.Ledger()
    charge = ledger.charge(dataset="frame", content=b"1", epsilon=1, purpose={"method": "veil"}, request="monday")
    survey = (EDITION_0 / "veil.survey").read_bytes()
    ledger.finish(charge.entry, survey=survey, seed=1, output={"file": "a.csv"})
    people = pa.table({"lon": [10.004], "lat": [50.003]})

    with pytest.raises(InputError, match="before editions were recorded"):
        pv.release(people, world, epsilon=1, output=tmp_path / "a.csv", request="monday")


def test_a_survey_of_another_edition_is_refused_even_when_its_method_has_other_parameters(
    surveyed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "city.survey"
    path.write_bytes(surveyed)

    with pytest.raises(InputError, match="only that version draws from it"):
        pv.Survey.read(path)


@pytest.fixture
def surveyed() -> bytes:
    """A survey whose method has a parameter that this version does not know, of an edition of its own."""
    with zipfile.ZipFile(EDITION_0 / "veil.survey") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    description = json.loads(content["survey.json"])
    description["method"]["parameters"]["partitioner"]["unheard_of"] = 1
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in (content | {"survey.json": json.dumps(description).encode()}).items():
            archive.writestr(name, part)
    return buffer.getvalue()


def test_a_statement_of_the_first_schema_has_no_later_field_and_keeps_its_bytes() -> None:
    unsigned = next(path for path in RELEASES if path not in SIGNED)
    text = statement_path(unsigned).read_text()

    assert parse_statement(text).to_json() == text
    assert "edition" not in json.loads(text)
    with pytest.raises(ValueError, match="schema"):
        parse_statement(_with_digest({**json.loads(text), "schema": "pointveil-statement-99"}))
    with pytest.raises(ValueError, match="canonical"):
        parse_statement(_with_digest({**json.loads(text), "schema": "pointveil-statement-2"}))


def _with_digest(content: dict[str, object]) -> str:
    from pointveil.statement import digest_of

    del content["digest"]
    return json.dumps({**content, "digest": digest_of(content)}, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("processor", [None, "Prescott"])  # how OpenBLAS adds up, on this machine and on an old one
def test_within_an_edition_the_same_answers_give_the_same_points_on_any_machine(processor: str | None) -> None:
    chosen = {} if processor is None else {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": "1"}
    script = FIXTURES / "drawn.py"
    drawn = subprocess.run(
        [sys.executable, str(script)], env=os.environ | chosen, capture_output=True, text=True, check=True
    ).stdout

    assert json.loads(drawn) == json.loads((FIXTURES / "drawn.json").read_text()), (
        "Drawing has changed. Raise the edition of what changed (in surveys.py, or `edition` of the method's part), "
        "and run: python tests/fixtures/drawn.py > tests/fixtures/drawn.json"
    )
