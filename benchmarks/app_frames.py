"""How much work a frame of the linked maps is while panning, with 200,000 points a side, in Chromium.

    python benchmarks/app_frames.py

Measures the report's own canvas code, which `pointveil app` shares, on the built-in city. Sixty frames a second leave
16.7 ms for each. The processor's time on the page's main thread does not depend on what else the machine does; how many
frames were seen does.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from pointveil.demo import city, people
from pointveil.evaluation import evaluate

POINTS, FRAMES = 200_000, 120
PANNING = """(frames) => new Promise((done) => {
    const began = performance.now();
    let left = frames;
    const step = () => {
        atlas.move(2 * Math.sin(left / 8), 0);
        if (left--) requestAnimationFrame(step); else done(performance.now() - began);
    };
    requestAnimationFrame(step);
})"""


def main() -> None:
    """Print the work of a frame and the frames a second, on a plain and on a fine screen."""
    world = city()
    real, other = (world.projection.from_metres(people(world, count=POINTS, seed=seed)) for seed in (1, 2))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        evaluate(np.asarray(real), np.asarray(other), world, measures=["total_count"]).report(page_file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for ratio in (1, 2):
            work, took = _pan(browser, page_file, ratio)
            print(
                f"{ratio} pixels to a CSS pixel: {1000 * work / FRAMES:.1f} ms of the processor a frame, "
                f"{1000 * FRAMES / took:.0f} frames a second seen"
            )
        browser.close()


def _pan(browser: Any, page_file: Path, ratio: int) -> tuple[float, float]:
    """Return seconds of the processor on the main thread, and milliseconds by the clock, of all frames."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, device_scale_factor=ratio)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_function("window.atlas && window.atlas.drawn > 0")
    tools = context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])

    before = spent()
    took = float(page.evaluate(PANNING, FRAMES))
    work = spent() - before
    context.close()
    return work, took


if __name__ == "__main__":
    main()
