"""The pinned requirements are what they say: with hashes, without hosts, and as old as pyproject promises."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "requirements"
LISTS = sorted(path.name for path in FOLDER.glob("*.txt"))


def pinned(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", (FOLDER / name).read_text(), re.MULTILINE))


def test_the_oldest_list_pins_every_lower_bound_of_pyproject() -> None:
    bounds = runpy.run_path(str(FOLDER / "pin.py"))["lower_bounds"]()

    found = pinned("oldest.txt")

    for name, bound in (requirement.split("==") for requirement in bounds):
        assert found[name] == bound or found[name].startswith(f"{bound}.0"), "run: make pins"


def test_the_core_list_has_no_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].values()

    names = {re.split("[<>=]", requirement)[0] for extra in extras for requirement in extra}

    assert not names & set(pinned("core.txt"))


@pytest.mark.parametrize("name", LISTS)
def test_every_pin_has_a_hash_and_no_list_names_a_host(name: str) -> None:
    text = (FOLDER / name).read_text()

    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=[a-z0-9])", text) if "==" in block)
    assert not re.search(r"https?:|file://|--(extra-)?index-url|--find-links|--trusted-host", text)
