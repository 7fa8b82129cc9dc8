"""A real browser, where there is one."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pointveil.demo import city, write_people
from pointveil.demo.rhythms import KEPT
from pointveil.evaluation import evaluate
from pointveil.evaluation.points import read_points
from pointveil.evaluation.report.release import write_release_report
from pointveil.releases import synthesize
from pointveil.vault import Vault

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def find_browser() -> str | None:
    given = os.environ.get("POINTVEIL_CHROMIUM")
    return given or next((path for path in map(shutil.which, NAMES) if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium through Playwright."""
    path = find_browser()
    if path is None:
        pytest.skip("needs Chromium on this machine (such as Debian's package chromium)")
    sync = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report and the release report on the built-in city: with kept columns, and a report without any."""
    folder = tmp_path_factory.mktemp("reports")
    world = city()
    write_people(folder / "people.parquet", world)
    for name, keep in (("plain", ()), ("report", KEPT)):
        vault = Vault.open(folder / "people.parquet", world, epsilon=1, keep=keep)
        release = synthesize(vault, "agrid-wud", seed=1)
        release.write(folder / f"{name}.parquet")
        evaluate(folder / "people.parquet", folder / f"{name}.parquet", world).report(folder / f"{name}.html")
    points = read_points(folder / "report.parquet", world, keep=KEPT)
    write_release_report(folder / "release.html", points, world, release.statement)
    return {name: folder / f"{name}.html" for name in ("report", "plain", "release")}
