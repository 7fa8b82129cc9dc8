"""Take the pictures of the reports, the demo and `pointveil app` in docs/images, on the built-in city.

    python scripts/make_screenshots.py

The people of that city are invented, so its report may be shown.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import shapely
from PIL import Image
from playwright.sync_api import sync_playwright

from pointveil.demo import city, draw_comparison, write_people
from pointveil.demo.column_pictures import draw_columns
from pointveil.demo.rhythms import KEPT, KINDS
from pointveil.evaluation import evaluate
from pointveil.evaluation.points import read_points
from pointveil.evaluation.report.release import write_release_report
from pointveil.releases import synthesize
from pointveil.vault import Vault

IMAGES = Path(__file__).parent.parent / "docs" / "images"
PICTURES = {
    "report-desktop": ("report", 1280, 1700, "light"),
    "report-phone-dark": ("report", 390, 2700, "dark"),
    "release-report-desktop": ("release", 1280, 1250, "light"),
}
APP_PICTURES = {  # the first and the last part that is shown
    "app-draw": (1280, "light", "#step-world", "#step-world"),
    "app-desktop": (1280, "light", "#step-data", "#step-release"),
    "app-look": (1280, "light", "#step-look", "#maps .mapgrid"),
    "app-phone-dark": (390, "dark", "#step-data", "#step-promise"),
}


def main() -> None:
    """Write both pages, and take pictures of them; then go through the app."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        pages = _write_pages(Path(name))
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for picture, (page, width, height, scheme) in PICTURES.items():
            _take(browser, pages[page], IMAGES / f"{picture}.png", width, height, scheme)
        _take_app(browser, Path(name) / "app")
        browser.close()


def _write_pages(folder: Path) -> dict[str, Path]:
    world = city()
    write_people(folder / "people.parquet", world)
    vault = Vault.open(folder / "people.parquet", world, epsilon=1, keep=KEPT, ledger=None)
    release = synthesize(vault, seed=1)
    release.write(folder / "synthetic.parquet")
    result = evaluate(folder / "people.parquet", folder / "synthetic.parquet", world)
    result.report(folder / "report.html")
    draw_columns(result.compared, IMAGES / "kept-columns.png")
    drawn = {"veil, epsilon 1": result.compared.synthetic}
    draw_comparison(world, result.compared.real, drawn, IMAGES / "real-beside-synthetic.png")
    points = read_points(folder / "synthetic.parquet", world, keep=KEPT)
    write_release_report(folder / "release.html", points, world, release.statement)
    return {name: folder / f"{name}.html" for name in ("report", "release")}


def _take(browser: Any, page: Path, path: Path, width: int, height: int, scheme: str) -> None:
    seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen.goto(page.as_uri())
    seen.wait_for_function("window.atlas && window.atlas.drawn > 0")
    _save(seen.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height}), path)
    seen.close()


def _save(raw: bytes, path: Path) -> None:
    with Image.open(BytesIO(raw)) as image:
        image.convert("RGB").quantize(192).save(path, format="PNG", optimize=True)


def _take_app(browser: Any, folder: Path) -> None:
    """Go all five steps, and take pictures of a boundary that is drawn and of the end."""
    folder.mkdir()
    world: Any = city()
    world.write(folder / "helsinki.gpkg")
    write_people(folder / "people.parquet", world)
    for name, shapes in (("streets", shapely.multilinestrings(world.roads.lines)), ("water", world.out_of_bounds)):
        (folder / f"{name}.geojson").write_text(shapely.to_geojson(shapes))
    with _app(folder) as link:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(link)
        page.wait_for_selector("html[data-ready]")
        page.evaluate("() => { document.getElementById('folder').textContent = 'Folder: trips'; }")
        # A bar that sticks to the window would lie across the middle of the picture.
        page.evaluate("() => document.querySelectorAll('.banner').forEach((one) => { one.style.position = 'static'; })")
        page.select_option("#data-file", "people.parquet")
        _draw(page)
        _take_part(page, "app-draw")
        page.select_option("#world-file", "helsinki.gpkg")
        page.select_option("[aria-label='Keep kind as']", "category")
        page.fill("[aria-label='What is public about kind']", ",".join(KINDS))
        page.fill("#points-about", "50000")
        page.click("#foretell")
        page.wait_for_selector("#forecasts table")
        page.wait_for_selector("#press:enabled")
        for picture in ("app-desktop", "app-phone-dark"):
            _take_part(page, picture)
        page.click("#press")
        page.wait_for_selector("#checks li")
        page.click("text=Look beside the real points")
        page.wait_for_selector("#maps canvas >> nth=2")
        _take_part(page, "app-look")
        page.close()


def _draw(page: Any) -> None:
    """Draw a polygon over streets and water."""
    page.select_option("#world-file", "new")
    page.wait_for_selector("#draw canvas")
    for layer, file in (("water", "water.geojson"), ("roads", "streets.geojson")):
        page.select_option(f"#layer-{layer}", file)
        page.wait_for_timeout(2000)
    page.check("input[value=polygon]")
    page.click("#pencil")
    page.locator("#draw canvas").scroll_into_view_if_needed()
    box = page.locator("#draw canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for right, down in ((-90, -120), (60, -200), (120, -40), (90, 190), (-110, 170), (-90, -120)):
        page.mouse.click(x + right, y + down)


def _take_part(page: Any, picture: str) -> None:
    width, scheme, first, last = APP_PICTURES[picture]
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("() => window.scrollTo(0, 0)")
    page.wait_for_timeout(500)
    top, end = (page.locator(part).bounding_box() for part in (first, last))
    top["y"] = 0 if first == "#step-data" else top["y"] - 10
    clip = {"x": 0, "y": top["y"], "width": width, "height": end["y"] + end["height"] + 10 - top["y"]}
    _save(page.screenshot(full_page=True, clip=clip), IMAGES / f"{picture}.png")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")


@contextmanager
def _app(folder: Path) -> Iterator[str]:
    """Run `pointveil app`, and yield the link that it prints."""
    command = [sys.executable, "-c", "from pointveil.cli import main; main()", "app", "--no-browser"]
    environment = {**os.environ, "XDG_DATA_HOME": str(folder.parent)}
    server = subprocess.Popen(
        [*command, "--data", str(folder)], env=environment, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        yield next(line for line in server.stderr or () if "token=" in line).split()[-1]
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
