"""The page of `pointveil app` in a real browser: the whole way, and everything that may happen on it."""

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from tests.app.conftest import Clock, Served, run_server

from pointveil.app.desk import Desk
from pointveil.app.folder import Folder
from pointveil.demo import city, write_people
from pointveil.demo.rhythms import KINDS
from pointveil.ledger import Ledger
from pointveil.world import layers as pv_layers

pytestmark = pytest.mark.browser

Visit = Callable[..., Any]
NASTY = "<script>document.title='broken'</script>"
LONG = 60_000  # milliseconds: the machine may be busy


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Served]:
    """A server on the built-in city."""
    folder = tmp_path / "data"
    folder.mkdir()
    city().write(folder / "helsinki.gpkg")
    write_people(folder / "people.parquet", city(), count=5000)
    yield from run_server(Desk(Folder.open(folder), Ledger(tmp_path / "ledger.db")), Clock())


@pytest.fixture
def said() -> list[str]:
    """All that pages said on their consoles, and errors."""
    return []


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()


@pytest.fixture
def visit(context: Any, demo: Served, said: list[str]) -> Visit:
    def open_page(link: str | None = None) -> Any:
        page = context.new_page()
        page.set_default_timeout(LONG)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if demo.gate.origin not in request.url else None)
        page.goto(link or demo.gate.new_link())
        page.wait_for_selector("html[data-ready]")
        return page

    return open_page


def choose(page: Any, data: str = "people.parquet") -> None:
    page.select_option("#data-file", data)
    page.select_option("#world-file", "helsinki.gpkg")
    page.wait_for_selector("#press:enabled")


def spent(demo: Served) -> list[str]:
    return [str(account.spent) for account in demo.desk.ledger.accounts()]


def test_from_file_to_verified_release_and_maps(visit: Visit, demo: Served, said: list[str]) -> None:
    page = visit()
    assert page.url == f"{demo.gate.origin}/"
    choose(page)
    assert page.inner_text("#press") == "Release: spend epsilon 1 of people.parquet"
    assert spent(demo) == []

    page.click("#press")

    page.wait_for_selector("#made", state="attached")
    page.wait_for_selector("#checks li")
    assert any("ledger is whole" in text for text in page.locator("#checks li").all_inner_texts())
    with page.expect_download() as download:
        page.click("text=Download people-synthetic.parquet >> nth=0")
    assert Path(download.value.path()).read_bytes() == (demo.desk.folder.root / "people-synthetic.parquet").read_bytes()
    page.click("text=Look beside the real points")
    page.wait_for_selector("#maps canvas >> nth=2")
    assert page.locator("#report .banner").inner_text().startswith("CONTAINS REAL POINTS")
    assert spent(demo) == ["1"]
    assert said == []


def test_columns_are_kept_and_forecasts_shown(visit: Visit, demo: Served, said: list[str]) -> None:
    page = visit()
    choose(page)
    page.select_option("[aria-label='Keep kind as']", "category")
    page.fill("[aria-label='What is public about kind']", ",".join(KINDS))
    page.fill("#points-about", "5000")
    page.click("#foretell")
    page.wait_for_selector("#forecasts table")
    page.wait_for_selector("#press:enabled")

    page.click("#press")

    page.wait_for_selector("#checks li")
    made = pq.read_table(demo.desk.folder.root / "people-synthetic.parquet")
    assert set(made.column("kind").to_pylist()) <= set(KINDS)
    assert "time" not in made.column_names
    assert page.locator("#earlier tbody tr").count() == 1
    page.click("text=Look beside the real points")
    page.wait_for_selector("#maps .columns svg")
    assert said == []


def test_no_coordinate_is_left_in_the_browser(visit: Visit, demo: Served) -> None:
    page = visit()
    choose(page)
    page.click("#press")
    page.wait_for_selector("#checks li")
    page.click("text=Look beside the real points")
    page.wait_for_selector("#maps canvas >> nth=2")

    kept = page.evaluate("() => JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")
    databases = page.evaluate("async () => (await indexedDB.databases()).length + (await caches.keys()).length")

    assert not re.search(r"\d+\.\d{4,}", kept)
    assert demo.gate.cookie not in kept  # no script can read it
    assert databases == 0


def test_a_reload_in_the_middle_follows_the_same_release(visit: Visit, demo: Served) -> None:
    page = visit()
    choose(page)
    page.click("#press")
    page.wait_for_selector("#progress li")

    page.reload()

    page.wait_for_selector("#checks li")
    assert page.input_value("#data-file") == "people.parquet"
    assert page.input_value("#release-file") == "people-synthetic.parquet"
    assert page.inner_text("#press").startswith("Make it again: costs nothing")
    assert spent(demo) == ["1"]


def test_two_tabs_and_a_double_press_are_charged_once(visit: Visit, demo: Served) -> None:
    first, second = visit(), visit()
    choose(first)
    choose(second)

    first.dblclick("#press")
    second.click("#press")

    for page in (first, second):
        page.wait_for_selector("#checks li")
    assert spent(demo) == ["1"]


def test_a_closed_tab_loses_nothing(visit: Visit, demo: Served) -> None:
    page = visit()
    choose(page)
    page.click("#press")
    page.wait_for_selector("#progress li")
    page.close()

    again = visit()
    again.select_option("#data-file", "people.parquet")
    again.select_option("#world-file", "helsinki.gpkg")

    again.wait_for_selector("text=Make it again: costs nothing")
    again.click("#press")
    again.wait_for_selector("#checks li")
    assert spent(demo) == ["1"]


def test_a_tab_without_the_secret_sees_nothing(visit: Visit, demo: Served, context: Any) -> None:
    visit()
    page = context.new_page()
    page.goto(demo.gate.origin)  # the cookie goes along, the secret does not

    page.wait_for_selector("#fault:visible")

    assert "This tab has no key" in page.inner_text("#fault")
    assert "people" not in page.content().replace("people may be", "")


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_wrong_token_shows_a_sentence(browser: Any, demo: Served, token: str) -> None:
    page = browser.new_page()

    answer = page.goto(f"{demo.gate.origin}/?token={token}")

    assert answer.status == 403
    assert "used before" in page.inner_text("body")
    page.close()


class Thief(BaseHTTPRequestHandler):
    """A server of somebody else on this machine, who writes down what browsers send."""

    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>free coffee</p>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


STEALING = """async (origin) => {
    const post = { method: "POST", body: "{}", credentials: "include" }, get = { credentials: "include" };
    const tries = [
        ["/api/files", post], ["/api/files", { ...post, mode: "no-cors" }],
        ["/api/files", { ...post, headers: { "x-pointveil-secret": "x" } }],
        ["/", get], ["/", { ...get, mode: "no-cors" }], ["/assets/app.js", { ...get, mode: "no-cors" }],
    ];
    const texts = [];
    for (const [path, options] of tries)
        try { texts.push(await (await fetch(origin + path, options)).text()); } catch { texts.push(""); }
    return texts;
}"""


def test_a_page_on_another_port_gets_the_cookie_and_nothing_else(visit: Visit, demo: Served, context: Any) -> None:
    visit()
    with ThreadingHTTPServer(("127.0.0.1", 0), Thief) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{other.server_port}/")

        got = page.evaluate(STEALING, demo.gate.origin)
        framed = page.evaluate(
            """(origin) => new Promise((done) => {
                const frame = document.createElement("iframe");
                frame.onload = () => { try { done(frame.contentDocument.body.innerText); } catch { done(""); } };
                frame.src = origin;
                document.body.append(frame);
            })""",
            demo.gate.origin,
        )
        other.shutdown()

    assert any(demo.gate.cookie in cookie for cookie in Thief.heard)  # cookies ignore ports
    assert got == [""] * 6
    assert framed == ""
    stolen = {"Cookie": Thief.heard[0], "Origin": demo.gate.origin}
    assert demo.ask("files", headers=stolen).status == 403


def test_a_world_is_drawn_over_coasts_or_over_layers(visit: Visit, demo: Served, said: list[str]) -> None:
    streets = pv_layers.read_layer(
        demo.desk.folder.root / "helsinki.gpkg", kinds=("LineString", "MultiLineString"), layer="roads"
    )
    text = shapely.to_geojson(shapely.multilinestrings(shapely.get_parts(streets.geometries)))
    (demo.desk.folder.root / "streets.geojson").write_text(text)
    page = visit()
    page.select_option("#world-file", "new")
    canvas = page.wait_for_selector("#draw canvas")

    def drag() -> list[float]:
        page.click("text=Draw a rectangle")
        page.locator("#draw canvas").scroll_into_view_if_needed()
        box = page.locator("#draw canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2 - 40, box["y"] + box["height"] / 2 - 40)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + box["height"] / 2 + 40, steps=3)
        page.mouse.up()
        return [float(page.input_value(f"#{side}")) for side in ("west", "south", "east", "north")]

    west, south, east, north = drag()
    assert west < -10 < 10 < east
    assert south < -10 < 10 < north
    page.select_option("#layer-roads", "streets.geojson")
    canvas.wait_for_element_state("hidden")
    west, south, east, north = drag()
    assert 24.93 < west < east < 24.96
    assert 60.16 < south < north < 60.18

    page.click("#make-world")

    page.wait_for_selector("#world-map canvas")
    assert "roads" in page.inner_text("#world-about")
    assert page.input_value("#world-file") == "world.gpkg"
    assert said == []


def test_a_script_in_a_name_is_text(visit: Visit, demo: Served, said: list[str]) -> None:
    table = pq.read_table(demo.desk.folder.root / "people.parquet")
    table = table.append_column(NASTY, pa.array(["a"] * len(table)))
    pq.write_table(table, demo.desk.folder.root / "<img src=x onerror=alert(1)>.parquet")
    page = visit()

    choose(page, "<img src=x onerror=alert(1)>.parquet")

    assert NASTY in page.inner_text("#columns")
    assert page.title() == "Pointveil"
    assert page.locator("img").count() == 0
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280, 2560])
def test_the_page_fits(visit: Visit, width: int, scheme: str) -> None:
    page = visit()
    choose(page)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)

    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_it_can_be_used_from_the_keyboard(visit: Visit, demo: Served) -> None:
    page = visit()
    choose(page)
    page.focus("#epsilon")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("text=spend epsilon 3/4")
    page.wait_for_selector("#press:enabled")

    page.focus("#press")
    page.keyboard.press("Enter")

    page.wait_for_selector("#checks li")
    assert spent(demo) == ["3/4"]


def test_every_control_has_a_name(visit: Visit) -> None:
    page = visit()
    choose(page)

    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, canvas")].filter((one) =>
            !(one.labels && one.labels.length) && !one.getAttribute("aria-label") && !one.textContent.trim()
        ).map((one) => one.outerHTML)"""
    )

    assert unnamed == []
