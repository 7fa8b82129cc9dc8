"""The page for a release: nothing of the real points, and a fair guess of the error."""

import inspect
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from pointveil.columns import Category, Number
from pointveil.demo import city, people
from pointveil.errors import InputError
from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.cell_error import shifted_cell_error
from pointveil.evaluation.points import compare, read_points
from pointveil.evaluation.report.release import release_page, write_release_report
from pointveil.releases import synthesize
from pointveil.synthetic import SyntheticPoints
from pointveil.vault import Vault
from pointveil.world import World


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


@pytest.fixture(scope="module")
def release(people_file: Path, world: World) -> SyntheticPoints:
    return synthesize(Vault.open(people_file, world, epsilon=1), "ugrid-uni", seed=1)


def test_it_takes_no_real_points() -> None:
    assert list(inspect.signature(release_page).parameters) == ["synthetic", "world", "statement"]
    assert list(inspect.signature(write_release_report).parameters) == ["path", "synthetic", "world", "statement"]


def test_it_is_the_same_whatever_the_real_points_are(
    release: SyntheticPoints, people_file: Path, world: World, tmp_path: Path
) -> None:
    release.write(tmp_path / "synthetic.csv")
    other = tmp_path / "other.csv"
    other.write_text("lon,lat\n10.001,50.001\n")
    pages = []

    for real in (people_file, other):
        compared = compare(real, tmp_path / "synthetic.csv", world)
        pages.append(release_page(compared.synthetic, compared.world, compared.statement))

    assert pages[0] == pages[1]
    assert set(data_of(pages[0])["layers"]) == {"synthetic"}


def test_it_shows_the_statement_and_a_prediction(release: SyntheticPoints, world: World) -> None:
    xy = world.projection.to_metres(release.coordinates)

    content = data_of(release_page(xy, world, release.statement))

    assert content["statement"]["epsilon"] == "1"
    assert [question["purpose"] for question in content["statement"]["questions"]] == ["total", "count"]
    predicted = content["predicted"]["values"]
    assert all(small > large for small, large in itertools.pairwise(predicted))


def test_by_person_it_says_what_a_row_stands_for(world: World, people: NDArray[np.float64]) -> None:
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1], "user": np.arange(len(people)) // 4})
    made = synthesize(Vault.open(table, world, epsilon=1, person="user"), "ugrid-uni", seed=1)

    cards = data_of(release_page(world.projection.to_metres(made.coordinates), world, made.statement))["cards"]

    assert str(made.statement.people) in cards[1]["sentence"]
    assert "persons" in cards[1]["sentence"]
    assert cards[-1]["answer"] == "not known"
    assert "busy persons weigh less than their points" in cards[-1]["sentence"]


def test_points_without_a_name_have_that_of_their_file(release: SyntheticPoints, world: World, tmp_path: Path) -> None:
    statement = release.write(tmp_path / "made.parquet", key=None)

    page = release_page(world.projection.to_metres(release.coordinates), world, statement)

    assert "<title>made.parquet" in page


def test_no_page_without_a_statement(world: World) -> None:
    with pytest.raises(InputError, match="no valid statement"):
        release_page(np.zeros((0, 2)), world, None)


def test_a_rehearsal_is_not_called_fit_to_share(people_file: Path, world: World) -> None:
    synthetic = synthesize(Vault.rehearse(people_file, world, epsilon=1, seed=0), "ugrid-uni", seed=1)

    page = release_page(world.projection.to_metres(synthetic.coordinates), world, synthetic.statement)

    assert "rehearsal: not private: do not share" in page
    assert "nothing on this page comes from the real points" not in page


def test_an_empty_release_has_a_page_without_a_prediction(release: SyntheticPoints, world: World) -> None:
    content = data_of(release_page(np.zeros((0, 2)), world, release.statement))

    assert content["predicted"]["values"] == [None] * 5


@pytest.mark.parametrize("method", ["ugrid-uni", "agrid-uni", "veil"])
@pytest.mark.parametrize("epsilon", ["1", "0.2"])
def test_the_prediction_is_near_what_is_measured(method: str, epsilon: str) -> None:
    """Six squares of 500 m are right or wrong together, so that one release says little: three do."""
    world = city()
    real = people(world)
    lon, lat = world.projection.from_metres(real).T
    found = []
    for seed in (3, 4, 5):
        synthetic = synthesize(Vault.rehearse(_table(lon, lat), world, epsilon=epsilon, seed=seed), method, seed=seed)
        xy = world.projection.to_metres(synthetic.coordinates)
        predicted = data_of(release_page(xy, world, synthetic.statement))["predicted"]
        pair = Comparison(real[world.on_land(real)], xy, world)
        found.append((predicted["values"], [shifted_cell_error(pair, cell=cell) for cell in predicted["at"]]))

    guessed, measured = np.sum(found, axis=0)

    assert np.all(guessed / measured < 1.7)
    assert np.all(measured / guessed < 1.7)


def test_a_statement_without_margins_is_guessed_from_regions_or_not_at_all() -> None:
    world = city()
    lon, lat = world.projection.from_metres(people(world)[:5000]).T
    for method, known in (("ugrid-uni", True), ("road", False)):
        made = synthesize(Vault.rehearse(_table(lon, lat), world, epsilon=1, seed=3), method, seed=3)
        statement = made.statement.model_copy(update={"margins": None})

        page = data_of(release_page(world.projection.to_metres(made.coordinates), world, statement))

        assert (page["predicted"]["values"][0] is not None) is known


def test_it_says_what_the_release_is_worth() -> None:
    world = city()
    lon, lat = world.projection.from_metres(people(world)[:5000]).T
    made = synthesize(Vault.rehearse(_table(lon, lat), world, epsilon=1, seed=3), seed=3)

    cards = data_of(release_page(world.projection.to_metres(made.coordinates), world, made.statement))["cards"]

    assert made.statement.margins is not None
    assert f"{made.statement.margins.effective_sample:.0%} of a real sample" in str(cards)


def test_it_has_the_margins_of_its_circles_if_a_row_is_a_point() -> None:
    world = city()
    lon, lat = world.projection.from_metres(people(world)[:5000]).T
    made = synthesize(Vault.rehearse(_table(lon, lat), world, epsilon=1, seed=3), seed=3)
    xy = world.projection.to_metres(made.coordinates)

    told, of_part = (data_of(release_page(part, world, made.statement))["margins"] for part in (xy, xy[::2]))

    counts, stated = np.unique(np.geomspace(1, 10**6, 500).round()), made.statement.margins
    assert stated is not None
    for radius, row in zip(told["at"], told["margins"], strict=True):
        known = stated.margin(counts, np.pi * radius**2)
        assert np.interp(counts, told["counts"], row) == pytest.approx(known, rel=0.02)
    assert of_part is None
    elsewhere = release_page(xy, World.make((24.0, 60.0, 24.1, 60.1)), made.statement)
    assert data_of(elsewhere)["margins"] is None


def _table(lon: Any, lat: Any) -> Any:
    import pyarrow as pa

    return pa.table({"lon": lon, "lat": lat})


def test_it_shows_the_kept_columns_of_the_synthetic_points(world: World, people: NDArray[np.float64]) -> None:
    rng = np.random.default_rng(3)
    kinds = np.array(["bus", "tram"])[rng.integers(0, 2, len(people))]
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1], "kind": kinds, "fare": rng.uniform(0, 9, len(people))})
    keep = (Category("kind", ("bus", "tram"), other="drop"), Number("fare", 0, 10, bins=5))
    release = synthesize(Vault.open(table, world, epsilon=1, keep=keep), seed=1)

    page = release_page(read_points(release, world, keep=keep), world, release.statement)

    data = data_of(page)
    assert [part["name"] for part in data["kept"]] == ["kind", "fare"]
    assert data["kept"][0]["labels"] == ["bus", "tram"]
    assert data["kept"][1]["labels"] == ["0–2", "2–4", "4–6", "6–8", "8–10", "other"]
    assert [len(layer["bins"]) for layer in data["layers"].values()] == [2]
