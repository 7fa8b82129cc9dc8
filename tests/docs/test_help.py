"""Help on every public name says what it takes, and shows an example that runs."""

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import pointveil as pv
from pointveil.demo import city, write_people

NAMES = [name for name in pv.__all__ if not name.startswith("_")]
THINGS = [
    name for name in NAMES if not (inspect.isclass(getattr(pv, name)) and issubclass(getattr(pv, name), Exception))
]
MADE_BY = {
    "Vault": pv.Vault.open,
    "World": pv.World.make,
    "METHODS": type(pv.METHODS),
}  # what a user calls, where it is not the class
NEVER_MADE_BY_HAND = {"Statement"}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of `pointveil demo`, with fewer people."""
    folder = tmp_path_factory.mktemp("demo")
    city().write(folder / "helsinki.gpkg")
    write_people(folder / "people.parquet", city(), count=2000)
    return folder


def documented(thing: Any, section: str) -> set[str]:
    """Return the names that a section of a numpydoc docstring explains."""
    found = re.search(
        rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", inspect.getdoc(thing) or "", re.DOTALL | re.MULTILINE
    )
    lines = found.group(1).splitlines() if found else []
    return {name.strip() for line in lines if re.match(r"\w", line) for name in line.split(",")}


def parameters(thing: Any) -> set[str]:
    return set(inspect.signature(thing).parameters)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_sentence_of_its_own(name: str) -> None:
    thing = getattr(pv, name)
    own = thing.__dict__.get("__doc__") if inspect.isclass(thing) else inspect.getdoc(thing)

    assert own
    assert own.splitlines()[0].rstrip().endswith("."), own


@pytest.mark.parametrize("name", THINGS)
def test_every_parameter_is_explained(name: str) -> None:
    thing = MADE_BY.get(name, getattr(pv, name))

    if name in NEVER_MADE_BY_HAND:
        attributes = documented(thing, "Attributes")
        assert len(attributes) > 5
        assert attributes <= parameters(thing)
    else:
        assert documented(thing, "Parameters") == parameters(thing)


@pytest.mark.filterwarnings("ignore:Left out of the synthetic file. time, kind")
@pytest.mark.parametrize("name", THINGS)
def test_every_example_runs(name: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in demo.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pv.METHODS, "_rows", dict(pv.METHODS))  # an example may add a method
    thing = getattr(pv, name)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said: list[str] = []

    tests = doctest.DocTestFinder().find(
        type(thing) if name == "METHODS" else thing, name, module=False, globs={"pv": pv}
    )
    for test in tests:
        runner.run(test, out=said.append)

    assert sum(bool(test.examples) for test in tests) >= 1
    assert not said, "".join(said)
