"""Take the pictures of the two pages in docs/images, with Chromium, on the built-in city.

    python scripts/make_screenshots.py

The people of that city are invented, so its report may be shown.
"""

import shutil
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from pointveil.demo import city, write_people
from pointveil.evaluation import evaluate
from pointveil.evaluation.report.release import write_release_report
from pointveil.releases import synthesize
from pointveil.vault import Vault

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PICTURES = {
    "report-desktop": ("report", 1280, 1500, "light"),
    "report-phone-dark": ("report", 390, 1500, "dark"),
    "release-report-desktop": ("release", 1280, 1250, "light"),
}


def main() -> None:
    """Write both pages, and take pictures of them."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        pages = _write_pages(Path(name))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for picture, (page, width, height, scheme) in PICTURES.items():
            _take(browser, pages[page], IMAGES / f"{picture}.png", width, height, scheme)
        browser.close()


def _write_pages(folder: Path) -> dict[str, Path]:
    world = city()
    write_people(folder / "people.parquet", world)
    synthesize(Vault.open(folder / "people.parquet", world, epsilon=1, ledger=None), seed=1).write(
        folder / "synthetic.parquet"
    )
    result = evaluate(folder / "people.parquet", folder / "synthetic.parquet", world)
    result.report(folder / "report.html")
    write_release_report(folder / "release.html", result.compared.synthetic, world, result.compared.statement)
    return {name: folder / f"{name}.html" for name in ("report", "release")}


def _take(browser: Any, page: Path, path: Path, width: int, height: int, scheme: str) -> None:
    seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen.goto(page.as_uri())
    seen.wait_for_function("window.atlas && window.atlas.drawn > 0")
    raw = seen.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
    with Image.open(BytesIO(raw)) as image:
        image.convert("RGB").quantize(192).save(path, format="PNG", optimize=True)
    seen.close()


if __name__ == "__main__":
    main()
