"""The owner's report: one file, all numbers, nothing from elsewhere."""

import base64
import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pointveil.columns import Category
from pointveil.demo import city
from pointveil.demo import people as crowd
from pointveil.evaluation import BANNER, MEASURES, Comparison, Evaluation, evaluate, measure_all
from pointveil.evaluation.measures.cell_error import CELL_SIZES, shifted_cell_error
from pointveil.evaluation.report import maps
from pointveil.evaluation.report.maps import encode_map, encode_points
from pointveil.evaluation.report.owner import report_data, report_page
from pointveil.evaluation.report.readings import cards
from pointveil.evaluation.results import lines
from pointveil.releases import synthesize
from pointveil.vault import Vault
from pointveil.world import World

XY = NDArray[np.float64]


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


@pytest.fixture(scope="module")
def result(world: World, people: XY) -> Evaluation:
    xy = world.projection.to_metres(people)
    return measure_all(Comparison(xy[world.on_land(xy)], xy[world.on_land(xy)] + 3.0, world))


def test_the_page_carries_the_banner_and_every_measure(result: Evaluation) -> None:
    page = report_page(result)

    assert f'role="note">{BANNER}</div>' in page
    shown = {row["name"] for row in data_of(page)["table"]}
    assert all(
        any(name == stem or name.startswith(f"{stem}_") for stem in shown)
        for name, row in MEASURES.items()
        if row.always
    )


def test_the_page_names_nothing_outside_itself(result: Evaluation) -> None:
    page = report_page(result)

    assert "http://www.w3.org/2000/svg" in page  # a name, never fetched
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "default-src 'none'" in page


def test_a_name_with_markup_stays_a_name(result: Evaluation) -> None:
    evil = "</script><script>alert(1)</script>.csv"

    renamed = dataclasses.replace(result.compared, names=("real.csv", evil))
    page = report_page(dataclasses.replace(result, comparison=renamed))

    assert "<script>alert" not in page
    assert data_of(page)["names"][1] == evil


def test_points_come_back_from_the_page_within_a_step(world: World, people: XY) -> None:
    xy = world.projection.to_metres(people)
    xy = xy[world.on_land(xy)]

    coded = encode_points(xy, world)

    steps = np.frombuffer(base64.b64decode(coded["data"]), dtype="<u2").reshape(-1, 2)
    metres = steps * encode_map(world)["metres"] / 65535
    assert np.abs(metres - xy).max() <= encode_map(world)["metres"] / 65535
    assert coded["count"] == coded["shown"] == len(xy)


def test_of_very_many_points_an_even_part_is_shown(plain_world: World) -> None:
    xy = np.random.default_rng(1).uniform(0, 800, (300_000, 2))

    coded = encode_points(xy, plain_world)

    assert coded["count"] == 300_000
    assert coded["shown"] == 250_000
    assert len(base64.b64decode(coded["data"])) == 4 * 250_000


def test_streets_and_water_are_drawn(world: World) -> None:
    drawn = encode_map(world)

    lengths = np.frombuffer(base64.b64decode(drawn["streets"]["lengths"]), dtype="<u4")
    assert lengths.tolist() == [2, 2]
    assert np.frombuffer(base64.b64decode(drawn["water"]["lengths"]), dtype="<u4").tolist() == [5]


def test_a_world_without_roads_and_water_has_a_map_too(plain_world: World) -> None:
    drawn = encode_map(plain_world)

    assert drawn["streets"] == {"lengths": "", "corners": ""}
    assert drawn["water"] == {"lengths": "", "corners": ""}


def test_without_roads_the_page_says_why_medd_is_missing(plain_world: World, people: XY) -> None:
    xy = plain_world.projection.to_metres(people)

    content = data_of(report_page(measure_all(Comparison(xy, xy, plain_world))))

    assert content["offsets"] is None
    assert any(row["name"] == "medd" and "needs roads" in row["reading"] for row in content["table"])
    assert any(card["answer"] == "not measured" for card in content["cards"])


@pytest.mark.parametrize("count", [0, 1])
def test_a_page_is_made_of_no_point_and_of_one(world: World, people: XY, count: int) -> None:
    xy = world.projection.to_metres(people)
    result = measure_all(Comparison(xy, xy[:count], world))

    content = data_of(report_page(result))

    assert content["layers"]["synthetic"]["shown"] == count
    assert bool(result.warnings()) == (count == 0)


def test_another_real_sample_is_foretold_from_one_alone() -> None:
    """Against the truth: many pairs of samples from one population, in cells that are nearly empty and full."""
    world, rng = city(), np.random.default_rng(5)
    population = crowd(world, count=400_000)
    population = population[world.on_land(population)]

    def sample() -> XY:
        return population[rng.choice(len(population), 10_000, replace=False)]

    foretold = np.mean(
        [report_data(measure_all(Comparison(sample(), sample(), world), []))["cells"]["another"] for _ in range(4)],
        axis=0,
    )

    pairs = [Comparison(sample(), sample(), world) for _ in range(6)]
    for cell, guess in zip(CELL_SIZES, foretold, strict=True):
        truth = np.mean([shifted_cell_error(pair, cell=cell) for pair in pairs])
        assert guess == pytest.approx(truth, rel=0.12), cell


def test_nine_in_ten_cells_are_called_noise_where_there_is_nothing_else() -> None:
    """A release of veil, whose error is noise for the most part, by a margin that has not seen the real points."""
    world = city()
    lon, lat = world.projection.from_metres(crowd(world, count=30_000)).T
    table = pa.table({"lon": lon, "lat": lat})
    release = synthesize(Vault.rehearse(table, world, epsilon=1, seed=3), seed=3)
    result = evaluate(table, release, world, measures=["nce"])

    noise = report_data(result)["noise"]

    for cell, margins in zip(noise["at"], noise["margins"], strict=True):
        real, synthetic = result.compared.cell_counts(cell)
        within = np.abs(real - synthetic) <= np.interp(synthetic, noise["counts"], margins)
        if len(real) > 100:
            assert 0.8 < within.mean() < 0.97, (cell, within.mean())


def test_without_a_statement_or_in_another_world_nothing_is_called_noise(
    result: Evaluation, world: World, people: XY
) -> None:
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1]})
    release = synthesize(Vault.rehearse(table, world, epsilon=1, seed=3), "ugrid-uni", seed=3)
    elsewhere = dataclasses.replace(result.compared, world=World.make((10.0, 50.0, 10.03, 50.02)))

    assert report_data(result)["noise"] is None
    for compared in (result.compared, elsewhere):
        stated = dataclasses.replace(compared, statement=release.statement)
        noise = report_data(dataclasses.replace(result, comparison=stated))["noise"]
        assert (noise is None) == (compared is elsewhere)


def test_points_elsewhere_are_not_drawn(world: World, people: XY) -> None:
    xy = world.projection.to_metres(people)

    content = data_of(report_page(measure_all(Comparison(xy, xy + 1e6, world))))

    assert content["layers"]["synthetic"] | {"data": ""} == {
        "data": "",
        "count": 2000,
        "shown": 0,
        "inside": 0,
        "bins": [],
    }
    assert content["cards"][0]["answer"].startswith("0%")


def test_a_perfect_copy_is_good_everywhere_but_is_called_a_copy(world: World, people: XY) -> None:
    xy = world.projection.to_metres(people)
    xy = xy[world.on_land(xy)]

    levels = {card.question: card.level for card in cards(measure_all(Comparison(xy, xy, world)))}

    assert levels.pop("Were real points copied?") == "poor"
    assert set(levels.values()) == {"good"}


def test_the_first_card_reads_cell_error_as_a_share_of_people() -> None:
    result = Evaluation({"nce_shifted_100": 0.5}, {"medd": "MEDD needs roads in the world"})

    first = cards(result)[0]

    assert first.answer == "75% in the right 100 m square"
    assert first.level == "fair"


def test_far_fewer_points_are_not_called_half_right() -> None:
    """With one synthetic point for 500 real ones, at most one in 500 has a synthetic one in its square."""
    result = Evaluation({"nce_shifted_100": 0.998}, {}, real_points=500, synthetic_points=1)

    first = cards(result)[0]

    assert first.answer == "0% in the right 100 m square"
    assert first.level == "poor"


def test_sizes_of_one_measure_share_a_line(world: World, people: XY) -> None:
    result = evaluate(people, people, world, measures=["nce_25", "nce_100", "medd", "nce_shifted_50"])

    found = {line.name: line.values for line in lines(result)}

    assert list(found) == ["nce", "nce_shifted", "medd"]
    assert [size for size, _ in found["nce"]] == ["25 m", "100 m"]


def test_the_report_appears_whole_or_not_at_all(result: Evaluation, tmp_path: Path) -> None:
    result.report(tmp_path / "report.html")

    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text().rstrip().endswith("</html>")


def test_kept_columns_come_back_from_the_page_in_the_order_of_the_points(world: World, people: XY) -> None:
    xy = world.projection.to_metres(people)
    kinds = Category("<kind>", ("bus", "tram"), other="rest")
    codes = np.arange(len(xy)).astype(np.uint8) % 3
    compared = Comparison(xy, xy[::-1], world, columns=(kinds,), codes=((codes,), (codes[::-1],)))

    page = report_page(measure_all(compared, ["place_and_bin", "profile"]))

    data = data_of(page)
    (kept,) = data["kept"]
    assert (kept["name"], kept["labels"], kept["clock"]) == ("<kind>", ["bus", "tram", "rest"], False)
    assert kept["errors"]["values"] == [0.0, 0.0, 0.0]
    assert "<kind>" not in page
    for name, layer in data["layers"].items():
        steps = np.frombuffer(base64.b64decode(layer["data"]), dtype="<u2").reshape(-1, 2)
        bins = np.frombuffer(base64.b64decode(layer["bins"][0]), dtype="<u2")
        assert len(bins) == len(steps) == len(xy)
        assert np.array_equal(bins, codes if name == "real" else codes[::-1])
    assert data["cards"][-1]["question"] == "Does each neighbourhood keep its own mix of <kind>?"


def test_a_sample_of_very_many_points_keeps_each_with_its_own_bin(
    world: World, people: XY, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maps, "MOST_SHOWN", 50)
    xy = world.projection.to_metres(people)
    east = np.rint(xy[:, 0]).astype(np.int64).clip(0)

    coded = encode_points(xy, world, [east])

    places = np.frombuffer(base64.b64decode(coded["data"]), dtype="<u2").reshape(-1, 2)[:, 0]
    bins = np.frombuffer(base64.b64decode(coded["bins"][0]), dtype="<u2")
    assert len(bins) == 50
    assert np.abs(places * encode_map(world)["metres"] / 65535 - bins).max() < 1.0
