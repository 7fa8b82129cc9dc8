"""What an earlier edition released can be verified for ever; what it recorded is not drawn by another."""

import shutil
from pathlib import Path

import pytest

import pointveil as pv
from pointveil.errors import InputError, VerificationError
from pointveil.statement import parse_statement
from pointveil.synthetic import statement_path

EDITION_0 = Path(__file__).parents[1] / "fixtures" / "edition-0"
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
