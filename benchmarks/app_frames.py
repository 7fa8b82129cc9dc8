"""How many frames a second the linked maps draw while panning, with 200,000 points a side, in Chromium.

    python benchmarks/app_frames.py

Measures the report's own canvas code, which `pointveil app` shares, on the built-in city.
"""

import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from pointveil.demo import city, people
from pointveil.evaluation import evaluate

POINTS = 200_000
PANNING = """() => new Promise((done) => {
    const times = [], began = [];
    let left = 120, last = performance.now();
    const step = (now) => {
        began.push(now - last); last = now;
        atlas.view.x += 40 * Math.sin(left / 8);
        const start = performance.now();
        atlas.draw();
        times.push(performance.now() - start);
        if (--left) requestAnimationFrame(step); else done([times.slice(5), began.slice(5)]);
    };
    requestAnimationFrame(step);
})"""


def main() -> None:
    """Print the median time of a frame and the frames a second."""
    world = city()
    real, other = (world.projection.from_metres(people(world, count=POINTS, seed=seed)) for seed in (1, 2))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        evaluate(np.asarray(real), np.asarray(other), world, measures=["total_count"]).report(page_file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(page_file.as_uri())
        page.wait_for_function("window.atlas && window.atlas.drawn > 0")
        drawing, between = page.evaluate(PANNING)
        browser.close()
    print(f"drawing: median {statistics.median(drawing):.1f} ms, 95% {np.quantile(drawing, 0.95):.1f} ms")
    print(f"frames a second: {1000 / statistics.mean(between):.0f}")


if __name__ == "__main__":
    main()
