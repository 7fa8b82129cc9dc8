"""The two pages in a real browser: quiet, offline, linked, and fit for a phone."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SIZES = {"desktop": (1280, 900), "phone": (390, 800)}
Open = Callable[..., Any]


class Watched:
    """A page, with all that it said and asked for."""

    def __init__(self, page: Any) -> None:
        self.page, self.said, self.asked = page, [], []  # type: ignore[var-annotated]
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def visit(browser: Any, reports: dict[str, Path]) -> Iterator[Open]:
    contexts = []

    def open_page(name: str, *, size: str = "desktop", scheme: str = "light") -> Watched:
        width, height = SIZES[size]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=size == "phone"
        )
        contexts.append(context)
        watched = Watched(context.new_page())
        watched.page.goto(reports[name].as_uri())
        watched.page.wait_for_function("() => window.atlas && window.atlas.drawn > 0")
        return watched

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["report", "plain", "release"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_asks_for_nothing_and_fits(visit: Open, name: str, size: str, scheme: str) -> None:
    seen = visit(name, size=size, scheme=scheme)

    assert seen.said == []
    assert seen.asked == [seen.page.url]
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]


def test_maps_show_points_streets_and_water(visit: Open) -> None:
    page = visit("report").page

    colours = page.evaluate(
        """() => [...document.querySelectorAll("canvas")].map((canvas) => {
            const seen = new Set(), data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            for (let k = 0; k < data.length; k += 4) seen.add((data[k] << 16) | (data[k + 1] << 8) | data[k + 2]);
            return [seen.has(0xc5dbe8), seen.size];
        })"""
    )

    assert len(colours) == 3
    assert all(water for water, _ in colours)
    assert all(different > 20 for _, different in colours)


def test_dragging_one_map_moves_all_of_them(visit: Open) -> None:
    page = visit("report").page
    pictures = "[...document.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())"
    before, view = page.evaluate(pictures), page.evaluate("({...atlas.view})")
    page.locator("canvas").nth(1).scroll_into_view_if_needed()
    box = page.locator("canvas").nth(1).bounding_box()

    page.mouse.move(box["x"] + 150, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 180, steps=4)
    page.mouse.up()
    page.wait_for_timeout(200)

    assert page.evaluate("atlas.view.x") > view["x"]
    assert page.evaluate("atlas.view.y") > view["y"]
    assert all(one != other for one, other in zip(before, page.evaluate(pictures), strict=True))


def test_the_wheel_zooms_and_the_button_shows_the_whole_map_again(visit: Open) -> None:
    page = visit("report").page
    scale = page.evaluate("atlas.view.scale")
    page.locator("canvas").first.hover()

    page.mouse.wheel(0, -600)
    page.wait_for_function(f"() => atlas.view.scale > {2 * scale}")
    page.get_by_role("button", name="Show the whole map").click()

    assert page.evaluate("atlas.view.scale") == pytest.approx(scale)


def test_the_keyboard_moves_the_maps(visit: Open) -> None:
    page = visit("report").page
    before = page.evaluate("({...atlas.view})")
    page.locator("canvas").first.focus()

    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")

    assert page.evaluate("atlas.view.scale") > before["scale"]
    assert page.evaluate("atlas.view.x") > before["x"]


@pytest.mark.parametrize(("name", "reach"), [("plain", 100), ("report", 250)])
def test_the_pointer_counts_both_maps(visit: Open, name: str, reach: int) -> None:
    page = visit(name).page

    page.locator("canvas").first.hover(position={"x": 200, "y": 300})

    page.wait_for_function(rf"() => /Within {reach} m: [\d,]+ real, [\d,]+ synthetic/.test(byId('here').textContent)")


def test_without_kept_columns_there_is_no_clock(visit: Open) -> None:
    page = visit("plain").page

    assert page.locator("#hour").count() == 0
    assert page.locator("#where").count() == 0


def test_the_slider_shows_one_hour_on_all_maps(visit: Open) -> None:
    page = visit("report").page
    pictures = "[...document.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL())"
    lit = "atlas.panels.slice(0, 2).map(({painter}) => painter.lit && painter.lit.reduce((sum, one) => sum + one, 0))"
    whole, before, drawn = page.evaluate(pictures), page.evaluate(lit), page.evaluate("atlas.drawn")

    page.locator("#hour").fill("8")
    page.wait_for_function(f"() => atlas.drawn > {drawn}")

    assert page.locator(".clock output").inner_text() == "08:00–09:00"
    assert before == [None, None]
    assert all(1_000 < count < 10_000 for count in page.evaluate(lit))
    assert all(one != other for one, other in zip(whole, page.evaluate(pictures), strict=True))
    page.locator("#hour").fill("-1")
    page.wait_for_timeout(200)
    assert page.evaluate(pictures) == whole


def test_the_day_can_be_played_and_stopped(visit: Open) -> None:
    page = visit("report").page

    page.get_by_role("button", name="Play the day").click()
    page.wait_for_function("() => Number(byId('hour').value) >= 1")
    page.get_by_role("button", name="Play the day").click()

    stopped = page.locator("#hour").input_value()
    page.wait_for_timeout(900)
    assert page.locator("#hour").input_value() == stopped


@pytest.mark.parametrize(("name", "layers"), [("report", ["real", "synthetic"]), ("release", ["synthetic"])])
def test_charts_show_the_columns_of_the_circle_under_the_pointer(visit: Open, name: str, layers: list[str]) -> None:
    page = visit(name).page
    titles = "[...document.querySelectorAll('.columns svg title')].map((title) => title.textContent)"
    whole = page.evaluate(titles)

    page.get_by_label("Radius of the circle under the pointer").select_option("100")
    page.locator("canvas").first.hover()
    page.wait_for_function("() => byId('where').textContent.includes('within 100 m of the pointer')")
    page.wait_for_timeout(200)

    here = page.evaluate(titles)
    assert [title.split(":")[0] for title in whole] == [layers[0]] * 3
    assert all(f"{layer}: foot" in whole[2] for layer in layers)
    assert all(one != other for one, other in zip(whole, here, strict=True))
    page.mouse.move(0, 0)
    page.wait_for_function("() => byId('where').textContent === 'Kept columns on the whole map'")


def test_the_difference_map_takes_other_cells(visit: Open) -> None:
    page = visit("report").page
    picture = "document.querySelectorAll('canvas')[2].toDataURL()"
    before, drawn = page.evaluate(picture), page.evaluate("atlas.drawn")

    page.get_by_label("Size of the cells of the difference map").select_option("200")
    page.wait_for_function(f"() => atlas.drawn > {drawn}")

    assert page.evaluate(picture) != before


def test_cells_of_the_difference_are_square_on_a_phone(visit: Open) -> None:
    page = visit("report", size="phone").page

    shapes = page.evaluate(
        """() => [...document.querySelectorAll("canvas")].map((canvas) => {
            const box = canvas.getBoundingClientRect();
            return (canvas.width / box.width) / (canvas.height / box.height);
        })"""
    )

    assert shapes == pytest.approx([1, 1, 1], abs=0.02)


def test_the_banner_stays_in_sight(visit: Open) -> None:
    page = visit("report").page

    page.mouse.wheel(0, 2000)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")

    box = page.locator(".banner").bounding_box()
    assert box["y"] == pytest.approx(0, abs=1)
    assert page.locator(".banner").inner_text().lower() == "contains real points: do not share"


def test_the_page_for_a_release_has_one_map_and_no_real_layer(visit: Open) -> None:
    page = visit("release").page

    assert page.locator("canvas").count() == 1
    assert page.evaluate("Object.keys(DATA.layers)") == ["synthetic"]
    assert "nothing on this page comes from the real points" in page.locator(".banner").inner_text()
