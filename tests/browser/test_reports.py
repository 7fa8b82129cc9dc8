"""The two pages in a real browser: quiet, offline, linked, and fit for a phone."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
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
        """() => atlas.visible.map(({ canvas }) => {
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
    pictures = "atlas.visible.map(({ canvas }) => canvas.toDataURL())"
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


def test_the_pointer_tells_margins_of_a_release_but_not_of_an_hour_or_of_what_lies_outside(visit: Open) -> None:
    page = visit("release").page

    page.locator("canvas").hover(position={"x": 200, "y": 300})
    page.wait_for_function(r"() => /^Within 250 m: [\d,]+ ± [\d,]+ synthetic$/.test(byId('here').textContent)")

    page.locator("canvas").hover(position={"x": 1, "y": 1})
    page.wait_for_function(r"() => /^Within 250 m: [\d,]+ synthetic$/.test(byId('here').textContent)")
    page.locator("#hour").fill("8")
    page.locator("canvas").hover(position={"x": 200, "y": 300})
    page.wait_for_function(r"() => /^Within 250 m: [\d,]+ synthetic$/.test(byId('here').textContent)")


def test_charts_stand_beside_the_map_whether_or_not_it_names_whom_to_credit(visit: Open) -> None:
    page = visit("release").page
    tops = "['.mapgrid', '.beside'].map((one) => document.querySelector(one).getBoundingClientRect().top)"

    page.evaluate("() => { DATA.map.attribution = ''; show(DATA); }")

    assert page.locator(".credit").count() == 1
    map_top, charts_top = page.evaluate(tops)
    assert charts_top == pytest.approx(map_top, abs=1)


def test_without_charts_the_cards_stand_beside_the_map(visit: Open) -> None:
    page = visit("release").page

    page.evaluate("() => { DATA.kept = []; DATA.predicted = null; show(DATA); }")

    drawn, cards = (page.locator(name).bounding_box() for name in (".mapgrid canvas", "#cards"))
    assert cards["x"] > drawn["x"] + drawn["width"]
    assert cards["y"] < drawn["y"] < cards["y"] + cards["height"]
    shape = page.evaluate("DATA.map.width / DATA.map.height")
    assert drawn["width"] / drawn["height"] == pytest.approx(shape, rel=0.02)


def test_no_line_leads_to_the_bin_of_other_values(visit: Open) -> None:
    page = visit("release").page

    page.evaluate(
        "() => { const box = document.createElement('div'); box.id = 'tried'; document.body.append(box); chart(box, "
        "{ labels: ['00:00', '01:00', 'other'], across: '', show: percent, plain: true, apart: true, "
        "series: [{ name: 'real', look: 'r', values: [0.5, 0.1, 0.4] }] }); }"
    )

    assert len(page.locator("#tried polyline").get_attribute("points").split()) == 2
    assert page.locator("#tried circle").count() == 1


def test_without_kept_columns_there_is_no_clock(visit: Open) -> None:
    page = visit("plain").page

    assert page.locator("#hour").count() == 0
    assert page.locator("#where").count() == 0


def test_the_slider_shows_one_hour_on_all_maps(visit: Open) -> None:
    page = visit("report").page
    pictures = "atlas.visible.map(({ canvas }) => canvas.toDataURL())"
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
    titles = "[...document.querySelectorAll('.columns svg')].map((chart) => chart.getAttribute('aria-label'))"
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


@pytest.mark.parametrize(("size", "maps"), [("desktop", 3), ("phone", 1)])
def test_maps_have_the_shape_of_the_world_and_square_pixels(visit: Open, size: str, maps: int) -> None:
    page = visit("report", size=size).page

    shapes = page.evaluate(
        """() => atlas.visible.map(({ canvas }) => {
            const box = canvas.getBoundingClientRect();
            return [(canvas.width / box.width) / (canvas.height / box.height), box.width / box.height];
        })"""
    )

    assert len(shapes) == maps
    assert [pixel for pixel, _ in shapes] == pytest.approx([1] * maps, abs=0.02)
    if size == "desktop":
        assert [shape for _, shape in shapes] == pytest.approx([page.evaluate("DATA.map.width")] * maps, rel=0.02)


def colour_shares(page: Any, canvas: str) -> list[list[float]]:
    """Return the share of pixels nearer to the real, and to the synthetic colour, in the left and the right half."""
    shares: list[list[float]] = page.evaluate(
        """(canvas) => {
            const { width, height } = canvas, inks = ["--real", "--synthetic"].map((name) => rgb(colour(name)));
            return [0, width / 2].map((left) => {
                const data = canvas.getContext("2d").getImageData(left, 0, Math.floor(width / 2), height - 30).data;
                const seen = [0, 0];
                for (let k = 0; k < data.length; k += 4) inks.forEach((ink, i) => {
                    if (ink.every((part, c) => Math.abs(part - data[k + c]) < 24)) seen[i]++;
                });
                return seen.map((count) => count / (data.length / 4));
            });
        }""",
        page.locator(canvas).element_handle(),
    )
    return shares


def test_paper_is_as_narrow_as_a_phone_but_has_all_maps_and_none_is_stretched(visit: Open) -> None:
    page = visit("plain").page

    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})

    assert page.locator("#maps canvas:visible").count() == 3
    assert page.locator(".swipe:visible").count() == 0
    fit = "each => each.map(canvas => getComputedStyle(canvas).objectFit)"
    assert set(page.locator("#maps canvas:visible").evaluate_all(fit)) == {"contain"}


def test_a_phone_has_one_map_with_real_left_and_synthetic_right_of_a_slider(visit: Open) -> None:
    page = visit("plain", size="phone").page
    half = colour_shares(page, ".swipe canvas")

    page.get_by_label("Where the real map ends").fill("0")
    page.wait_for_timeout(200)

    assert page.locator("canvas:visible").count() == 1
    (real, none), (never, synthetic) = half
    assert min(real, synthetic) > 0.001
    assert max(none, never) == 0
    assert [share[0] for share in colour_shares(page, ".swipe canvas")] == [0, 0]
    page.get_by_label("Map on the right").select_option("difference")
    page.wait_for_timeout(200)
    assert page.evaluate("atlas.visible[0].painter.right.constructor.name") == "Difference"


def test_the_difference_has_the_colours_of_the_maps(visit: Open) -> None:
    page = visit("report").page

    maps = page.evaluate(
        """() => {
            const painted = [], pen = { fillRect() { painted.push(this.fillStyle); } };
            const difference = atlas.panels[2].painter;
            difference.paint(pen, atlas, atlas.size.width, atlas.size.height);
            const most = (sign) => sign * Math.max(...[...difference.cells.values()].map(({ value }) => sign * value));
            return [painted, rgb(colour("--real")), rgb(colour("--synthetic")), most(-1), most(1)];
        }"""
    )

    painted, real, synthetic, fewest, most = maps
    assert {tuple(map(int, one[5:].split(",")[:3])) for one in painted} == {tuple(real), tuple(synthetic)}
    assert fewest < 0 < most


def test_a_difference_that_noise_explains_is_faded(visit: Open) -> None:
    page = visit("report").page

    faded = page.evaluate("""() => {
        const difference = atlas.panels[2].painter, cells = [...difference.cells.values()];
        const part = ({ value, synthetic }) => Math.abs(value) / difference.noise(synthetic, 100);
        const largest = (faded) => cells.filter((cell) => cell.faded === faded).map(part).sort((a, b) => b - a);
        return [difference.faded, largest(true)[0], largest(false).at(-1)];
    }""")

    assert 0.5 < faded[0] < 1
    assert 0 < faded[1] <= 1 < faded[2]
    assert "if noise were all" in page.locator("#maps").inner_text()


def test_one_hour_is_never_faded_as_nothing_says_how_noisy_it_is(visit: Open) -> None:
    page = visit("report").page

    page.locator("#hour").fill("8")

    assert page.evaluate("atlas.panels[2].painter.faded") is None
    assert "if noise were all" not in page.locator("#maps").inner_text()
    assert "How much of it is noise is not known." in page.locator("#maps").inner_text()


def test_the_density_is_drawn_by_one_scale_for_both_maps(visit: Open) -> None:
    page = visit("plain").page
    pictures = "atlas.visible.slice(0, 2).map(({ canvas }) => canvas.toDataURL())"
    before, drawn = page.evaluate(pictures), page.evaluate("atlas.drawn")

    page.get_by_label("How points are drawn").select_option("density")
    page.wait_for_function(f"() => atlas.drawn > {drawn}")

    assert all(one != other for one, other in zip(before, page.evaluate(pictures), strict=True))
    real, synthetic = page.evaluate("atlas.panels.slice(0, 2).map(({ painter }) => painter.crowd(atlas, 9))")
    assert real == synthetic


def test_points_are_drawn_stronger_the_fewer_there_are_in_sight(visit: Open) -> None:
    page = visit("plain").page
    crowd = "atlas.panels[0].painter.crowd(atlas, Math.pow(atlas.panels[0].painter.size(atlas, 1), 2))"
    before = page.evaluate(crowd)

    page.evaluate("atlas.zoom(8)")

    assert page.evaluate(crowd) < before / 3


def test_the_scale_bar_is_as_long_as_it_says(visit: Open) -> None:
    page = visit("plain").page

    said = page.evaluate("""() => {
        const said = [], lines = [];
        const pen = { measureText: () => ({ width: 90 }), beginPath() {}, stroke() {}, strokeText() {},
            moveTo(x) { lines.push([x]); }, lineTo(x) { lines.at(-1).push(x); }, fillText: (text) => said.push(text) };
        const { width, height } = atlas.size;
        atlas.drawMargin(pen, width, height, 1);
        return [said, Math.max(...lines[0]) - Math.min(...lines[0]), atlas.stepsPerMetre * atlas.view.scale];
    }""")

    (bar, credit), pixels, per_metre = said
    assert pixels == pytest.approx(int(bar.removesuffix(" m")) * per_metre)
    assert credit == "© OpenStreetMap contributors"


def test_charts_tell_their_values_under_the_pointer(visit: Open) -> None:
    page = visit("report").page
    chart = page.locator("#charts .hover").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()

    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    tip = chart.locator(".tip")
    assert tip.is_visible()
    assert tip.inner_text().splitlines()[0] == "100 m"
    assert [text in tip.inner_text() for text in ("laid at random", "another real sample")] == [True, True]
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    assert tip.inner_text().splitlines()[0] == "25 m"
    page.mouse.move(0, 0)
    assert tip.is_hidden()


def test_charts_can_be_read_on_a_phone(visit: Open) -> None:
    page = visit("report", size="phone").page

    heights = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter((one) => one.textContent)"
        ".map((one) => one.getBoundingClientRect().height)"
    )

    assert min(heights) > 11  # pixels of a line; letters of 10 pixels need so many


def test_a_fraction_of_epsilon_stands_below_its_first_digits_unless_they_are_all(visit: Open) -> None:
    page = visit("release").page
    exact = [question["epsilon"] for question in page.evaluate("DATA.statement.questions")]

    shown = page.locator("#statement tbody tr td:first-child").all_inner_texts()

    assert all("/" not in text.split()[0] for text in shown)
    assert [Fraction(text.split()[-1]) for text in shown] == [Fraction(one) for one in exact]
    short = [text.split()[0] for text in shown]
    assert max(map(len, short)) <= 8
    assert [float(Fraction(one)) for one in short] == pytest.approx([float(Fraction(one)) for one in exact], rel=0.01)


def test_titles_name_the_files_and_the_city(visit: Open) -> None:
    assert visit("report").page.title() == "people.parquet beside report.parquet · Helsinki"
    assert visit("release").page.title() == "report.parquet · Helsinki"


@pytest.mark.parametrize(
    ("name", "banner"), [("report", "contains real points"), ("release", "made from the release alone")]
)
def test_paper_has_the_banner_on_every_page_and_what_is_not_promised(
    visit: Open, name: str, banner: str, tmp_path: Path
) -> None:
    page = visit(name, scheme="dark").page

    page.pdf(path=tmp_path / "page.pdf")

    pages = pdf_texts(tmp_path / "page.pdf")
    assert len(pages) > 2
    assert all(banner in text.lower() for text in pages)
    assert any("side channels" in text for text in pages)
    assert not any("pointveil-statement" in text for text in pages)
    assert page.evaluate("colour('--paper')") == "#14191f"
    assert page.locator(".open-in-print").get_attribute("open") is None


def pdf_texts(path: Path) -> list[str]:
    """Return the text of each page."""
    program = shutil.which("pdftotext")
    if program is None:
        pytest.skip("needs pdftotext (such as Debian's package poppler-utils)")
    text = subprocess.run([program, "-layout", str(path), "-"], check=True, capture_output=True, text=True).stdout
    return text.split("\f")[:-1]


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
    assert page.locator(".swipe").count() == 0
    assert page.evaluate("Object.keys(DATA.layers)") == ["synthetic"]
    assert "nothing on this page comes from the real points" in page.locator(".banner").inner_text()
