"""Only the folder: nothing above it, beside it, or behind a link."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.app.conftest import Served

from pointveil.app.folder import Folder
from pointveil.errors import InputError

OUTSIDE = (
    *("..", "../outside.csv", "a/../../outside.csv", "/etc/passwd", "//etc/passwd", "", "."),
    *("--force.csv", "sub/-x.csv", "people.parquet\n.csv", "people\u202e.csv"),
    *("..\\outside.csv", "people.parquet\0.csv", ".hidden.csv", "sub/.hidden/x.csv", "file:outside.csv", "C:x.csv"),
    *("*.parquet", "lin*.csv", "people.parque?", "[a-z]*.csv", "s3://bucket/x.parquet", "postgresql://x/y?table=z"),
)
ORDER = {"data": "people.parquet", "world": "world.gpkg", "output": "s.csv", "epsilon": "1"}
ACTIONS: dict[str, Callable[[str], dict[str, object]]] = {
    "columns": lambda name: {"data": name},
    "world": lambda name: {"world": name},
    "make-world": lambda name: {"output": "new.gpkg", "bounds": [10, 50, 10.02, 50.012], "roads": name},
    "verify": lambda name: {"output": name},
    "share": lambda name: {"output": name, "world": "world.gpkg"},
    "download": lambda name: {"output": name, "part": "x"},
    "quote": lambda name: {"order": ORDER | {"data": name}},
    "certificate": lambda name: {"output": name},
    "foretell": lambda name: {"world": name, "epsilon": "1", "points": 10},
    "ground": lambda name: {"water": name},
    "release": lambda name: {"order": ORDER | {"data": name}, "price": "1"},
    "release to": lambda name: {"order": ORDER | {"output": name}, "price": "1"},
    "look": lambda name: {"order": ORDER | {"output": name}},
    "look in": lambda name: {"order": ORDER | {"output": "people.parquet", "world": name}},
    "make-world to": lambda name: {"output": name, "bounds": [10, 50, 10.02, 50.012]},
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_leads_out_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(InputError):
        Folder.open(folder).inside(name)


@pytest.mark.parametrize("action", ACTIONS)
def test_no_action_takes_a_name_that_leads_out(served: Served, folder: Path, action: str) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "sub").mkdir()
    (folder / "sub" / "inner.csv").symlink_to(folder.parent / "outside.csv")
    names = "../outside.csv", "/etc/passwd", "link.csv", "linked/outside.csv", "*.csv", "sub", "file:///etc/passwd"
    for name in names:
        answer = served.ask(action.split(maxsplit=1)[0], ACTIONS[action](name))

        assert answer.status == 400, (action, name)
        assert "10.001" not in answer.text
        assert "root:" not in answer.text


def test_links_are_neither_listed_nor_followed(folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "outside.csv")
    (folder / "linked").symlink_to(folder.parent)
    (folder / "inner.parquet").symlink_to(folder / "people.parquet")
    here = Folder.open(folder)

    assert here.files() == ["people.parquet", "world.gpkg"]
    for name in ("link.csv", "linked/outside.csv", "linked/new.csv", "inner.parquet"):
        with pytest.raises(InputError, match="link"):
            here.inside(name)


@pytest.mark.parametrize(("name", "link"), [("a.shp", "a.dbf"), ("world.gpkg", "world.gpkg-wal")])
def test_a_link_beside_a_file_that_would_be_read_with_it_is_refused(folder: Path, name: str, link: str) -> None:
    (folder / name).touch()
    here = Folder.open(folder)
    assert here.file(name) == folder.resolve() / name

    (folder / link).symlink_to(folder.parent / "outside.csv")

    with pytest.raises(InputError, match="link"):
        here.file(name)


def test_a_boundary_is_not_written_through_a_link(served: Served, folder: Path) -> None:
    (folder / "new-boundary.geojson").symlink_to(folder.parent / "stolen.geojson")

    asked = {"output": "new.gpkg", "corners": [[10, 50], [10.02, 50], [10.01, 50.01]]}

    assert served.ask("make-world", asked).status == 400
    assert not (folder.parent / "stolen.geojson").exists()
    assert not (folder / "new.gpkg").exists()


def test_a_part_that_was_swapped_for_a_link_cannot_be_downloaded(served: Served, folder: Path) -> None:
    work = served.ask("release", {"order": ORDER, "price": "1"}).json()["work"]
    assert served.wait(work)["state"] == "done"
    assert served.ask("download", {"output": "s.csv", "part": "s.csv.statement.json"}).status == 200
    statement = folder / "s.csv.statement.json"
    statement.rename(folder.parent / "elsewhere.json")
    statement.symlink_to(folder.parent / "elsewhere.json")

    assert served.ask("download", {"output": "s.csv", "part": "s.csv.statement.json"}).status == 400


def test_a_release_is_not_written_through_a_link(served: Served, folder: Path) -> None:
    (folder / "out.csv").symlink_to(folder.parent / "stolen.csv")

    order = {"data": "people.parquet", "world": "world.gpkg", "output": "out.csv", "epsilon": "1"}
    answer = served.ask("quote", {"order": order})

    assert answer.status == 400
    assert not (folder.parent / "stolen.csv").exists()


@pytest.mark.parametrize("output", ["parts", "s3://bucket/x.parquet", "../x.parquet", "sub/x.parquet", "x.html"])
def test_a_release_is_written_to_one_file_in_the_folder(served: Served, output: str) -> None:
    order = {"data": "people.parquet", "world": "world.gpkg", "output": output, "epsilon": "1"}

    assert served.ask("quote", {"order": order}).status == 400
    assert served.ask("release", {"order": order, "price": "1"}).status == 400


def test_files_in_folders_are_listed_by_name_alone(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "more.csv").write_text("lon,lat\n")
    (folder / ".secret.csv").write_text("lon,lat\n")

    assert Folder.open(folder).files() == ["people.parquet", "sub/more.csv", "world.gpkg"]


def test_a_private_file_cannot_be_downloaded(served: Served) -> None:
    for part in ("people.parquet", "world.gpkg", "people.parquet.statement.json"):
        assert served.ask("download", {"output": "people.parquet", "part": part}).status == 400
