"""A release may be a folder of parts: written whole, read back, verified part by part."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.formats.test_kept import KEEP, trips

import pointveil as pv
from pointveil.cli import main
from pointveil.errors import InputError, VerificationError
from pointveil.world import World

pytestmark = pytest.mark.filterwarnings("ignore::pointveil.errors.PointveilWarning")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.formats.PART_ROWS", 500)
    monkeypatch.setattr("pointveil.synthetic.CHUNK", 300)


def released(source: Any, world: World, output: Path, **options: Any) -> pv.SyntheticPoints:
    return pv.release(source, world, epsilon=1, output=output, method="ugrid-uni", seed=1, **options)


def test_a_name_without_a_suffix_is_a_folder_of_parts(people_file: Path, world: World, tmp_path: Path) -> None:
    output = tmp_path / "synthetic"

    made = released(people_file, world, output, count=1400)

    assert sorted(file.name for file in output.iterdir()) == [f"part-0000{n}.parquet" for n in range(3)]
    assert sum(pq.read_metadata(part).num_rows for part in output.iterdir()) == 1400
    assert np.array_equal(pv.read(output).coordinates, made.coordinates)
    assert pv.verify(output).statement == made.statement
    assert pv.read(f"{output.as_uri()}/").statement == made.statement
    assert [file.name for file in made.statement.output.files] == sorted(file.name for file in output.iterdir())  # type: ignore[union-attr]
    assert not pv.evaluate(people_file, output, world).warnings()
    output.with_name("synthetic.statement.json").unlink()
    assert len(pv.read(output)) == 1400  # each part has the statement in it


def test_a_release_without_points_has_one_part(people_file: Path, world: World, tmp_path: Path) -> None:
    released(people_file, world, tmp_path / "synthetic", count=0)

    assert [file.name for file in (tmp_path / "synthetic").iterdir()] == ["part-00000.parquet"]
    assert len(pv.read(tmp_path / "synthetic")) == 0


CHANGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "changed": (lambda folder: shutil.copy(folder / "part-00000.csv", folder / "part-00001.csv"), "was changed"),
    "missing": (
        lambda folder: (folder / "part-00001.csv").unlink(),
        "part-00001.csv, a part of the release, is missing",
    ),
    "extra": (lambda folder: shutil.copy(folder / "part-00000.csv", folder / "part-00009.csv"), "is not a part of"),
    "hidden": (lambda folder: (folder / ".note").touch(), "is not a part of"),
    "a link": (lambda folder: to_link(folder / "part-00001.csv"), "is missing"),
}


def to_link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere.csv")
    path.symlink_to(path.parent.parent / "elsewhere.csv")


@pytest.mark.parametrize("change", CHANGES)
def test_one_part_changed_missing_or_too_many_is_not_verified(
    change: str, people_file: Path, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = tmp_path / "people.csv", tmp_path / "synthetic"
    table = pq.read_table(people_file)
    source.write_text("lat,lon\n" + "".join(f"{y},{x}\n" for x, y in zip(*map(list, table.columns[:2]), strict=True)))
    released(source, world, folder, count=900)
    do, words = CHANGES[change]
    do(folder)

    with pytest.raises(VerificationError, match=words):
        pv.verify(folder)
    with pytest.raises(SystemExit) as stopped:
        main(["verify", str(folder)])
    assert stopped.value.code == 4


def test_a_folder_is_replaced_only_when_told_and_never_with_other_files(
    people_file: Path, world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "synthetic"
    released(people_file, world, folder, count=1400, request="first")

    with pytest.raises(InputError, match="exists already"):
        released(people_file, world, folder, count=10)
    released(people_file, world, folder, count=1400, request="first")  # its own, at no further cost
    released(people_file, world, folder, count=10, force=True)
    assert [file.name for file in folder.iterdir()] == ["part-00000.parquet"]
    assert len(pv.read(folder)) == 10
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]
    (folder / "diary.txt").write_text("mine")
    with pytest.raises(InputError, match="other files in it"):
        released(people_file, world, folder, force=True)
    assert (folder / "diary.txt").read_text() == "mine"


def test_a_release_does_not_go_into_the_folder_that_it_is_made_of(
    people_file: Path, world: World, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    shutil.copy(people_file, private)

    for source in (private, f"{private}/*.parquet", [people_file, private]):
        with pytest.raises(InputError, match="would lie among the private files, "):
            released(source, world, private / "synthetic.parquet", force=True)
    with pytest.raises(InputError, match="would lie among the private files, "):
        released([private, people_file], world, people_file, force=True)
    for source in (f"{private}/*.parquet", [private / people_file.name], private / people_file.name):
        with pytest.raises(InputError, match="would lie among the private files, "):
            released(source, world, private, force=True)
    made = released(private, world, tmp_path / "synthetic", ledger=tmp_path / "ledger.db")

    assert made.statement.ledger is not None
    assert [account.name for account in pv.Ledger(tmp_path / "ledger.db").accounts()] == ["private"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_kept_columns_go_from_folder_to_folder(suffix: str, plain_world: World, tmp_path: Path) -> None:
    private, folder = tmp_path / "private", tmp_path / "synthetic"
    private.mkdir()
    for place in range(2):
        part = trips().slice(200 * place, 200)
        (pq.write_table if suffix == ".parquet" else csv.write_csv)(part, private / f"{place}{suffix}")

    made = pv.release(
        private, plain_world, epsilon=5, cap=5, output=folder, keep=KEEP, person="user", count=1200, seed=1, small=True
    )

    assert pv.verify(folder).statement == made.statement
    assert made.kept is not None
    found = pv.read(folder).kept
    assert found is not None
    assert found.num_rows == 1200
    assert found.column_names == [declared.partition("=")[0] for declared in KEEP]
    shutil.copy(folder / f"part-00001{suffix}", folder / f"part-00000{suffix}")
    with pytest.raises(VerificationError):
        pv.verify(folder)


def test_files_must_agree_in_the_types_of_kept_columns(plain_world: World, tmp_path: Path) -> None:
    whole = trips()
    pq.write_table(whole, tmp_path / "a.parquet")
    other = whole.set_column(whole.column_names.index("fare"), "fare", whole["fare"].cast("float32"))
    pq.write_table(other, tmp_path / "b.parquet")

    with pytest.raises(InputError, match=r"b\.parquet in .* differs from a\.parquet"):
        pv.Vault.open(tmp_path, plain_world, epsilon=1, keep=KEEP)
    pv.Vault.open(tmp_path, plain_world, epsilon=1)


@pytest.mark.parametrize("spelling", ["brackets", "symbolic link", "hard link"])
def test_private_files_are_known_by_other_names(
    spelling: str, people_file: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "odd[1]"
    private.mkdir()
    shutil.copy(people_file, private / "a.parquet")
    other = tmp_path / "other.parquet"
    if spelling == "symbolic link":
        other.symlink_to(private / "a.parquet")
    elif spelling == "hard link":
        other.hardlink_to(private / "a.parquet")
    monkeypatch.chdir(private)
    output = Path("a.parquet") if spelling == "brackets" else other

    with pytest.raises(InputError, match="would lie among the private files, "):
        released("*.parquet", world, output, force=True, ledger=tmp_path / "ledger.db")


def test_a_survey_never_goes_to_an_address(people_file: Path, world: World, tmp_path: Path) -> None:
    ledger = pv.Ledger(tmp_path / "ledger.db")

    with pytest.raises(InputError, match="cannot be given here") as caught:
        pv.release_survey(
            people_file, world, epsilon=1, output="postgresql://me:SECRET@host/city?table=t", ledger=ledger
        )

    assert "SECRET" not in str(caught.value)
    assert not ledger.accounts()
