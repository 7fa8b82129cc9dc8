"""veil: what it asks, what it makes of it, and that it is never worse than the simplest method."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely

from pointveil.errors import InputError
from pointveil.evaluation import MEASURES, Comparison
from pointveil.files.crs import transform
from pointveil.methods import METHODS, Method
from pointveil.network.network import Network
from pointveil.partition import UniformGrid, Veil, veil
from pointveil.placement import Density, Uniform
from pointveil.releases import draw, survey, synthesize
from pointveil.surveys import Survey
from pointveil.testing import ScriptedVault
from pointveil.vault import VOTES, Cells, Share, Vault
from pointveil.world import World


def crowd(world: World, count: int, seed: int) -> pa.Table:
    """People along the two roads of the small city, and a few anywhere."""
    rng = np.random.default_rng(seed)
    share = rng.random(count)
    x = np.where(share < 0.5, rng.uniform(0, 640, count), 287 + rng.normal(0, 6, count))
    y = np.where(share < 0.5, 334 + rng.normal(0, 6, count), rng.uniform(0, 1330, count))
    xy = np.where((share < 0.9)[:, None], np.column_stack([x, y]), rng.uniform(0, 600, (count, 2)))
    coordinates = world.projection.from_metres(xy)
    return pa.table({"lon": coordinates[:, 0], "lat": coordinates[:, 1]})


def error(method: str, world: World, count: int, epsilon: object, seed: int) -> float:
    vault = Vault.rehearse(crowd(world, count, seed), world, epsilon=epsilon, seed=seed)
    synthetic = synthesize(vault, method, seed=seed)
    compared = Comparison(vault.exact_points(), world.projection.to_metres(synthetic.coordinates), world)
    return MEASURES["nce_shifted_100"](compared)


def test_it_asks_five_questions_with_roads_and_four_without(world: World, plain_world: World) -> None:
    with_roads, without = ScriptedVault(world, everywhere=1000), ScriptedVault(plain_world, everywhere=1000)

    for vault in (with_roads, without):
        synthesize(vault, "veil", seed=1)  # type: ignore[arg-type]

    assert [share.purpose for share in with_roads.asked] == ["total", "district", "shape", "offset", "count"]
    assert [share.purpose for share in without.asked] == ["total", "district", "shape", "count"]
    assert with_roads.left == without.left == 0


@pytest.mark.parametrize(
    ("epsilon", "points", "roads", "shape", "count"),
    [
        (1, 1, True, "19/100", "153/200"),
        (1, 1, False, "19/100", "157/200"),
        (5, 1, True, "1/2", "171/40"),  # a tenth of epsilon for blocks, and what is left of their share for leaves
        (5, 4, True, "19/20", "153/40"),  # a quarter of it for each point of a person
    ],
)
def test_what_is_not_worth_its_cost_goes_to_the_leaves(
    *, epsilon: int, points: int, roads: bool, shape: str, count: str
) -> None:
    budget = METHODS["veil"].budget(Fraction(epsilon))

    shares = veil.fitting(budget, points, roads=roads)

    assert (shares["shape"].epsilon, shares["count"].epsilon) == (Fraction(shape), Fraction(count))
    assert sum(share.epsilon for share in shares.values()) == epsilon
    assert ("offset" in shares) == roads


def test_few_people_are_counted_once_with_all_that_is_left(world: World) -> None:
    vault = ScriptedVault(world, everywhere=10)

    synthesize(vault, "veil", seed=1)  # type: ignore[arg-type]

    assert [(share.purpose, share.epsilon) for share in vault.asked] == [
        ("total", Fraction(1, 100)),
        ("offset", Fraction(33, 200)),
        ("count", Fraction(33, 40)),
    ]


def test_few_people_stay_as_near_to_the_streets_as_they_are(world: World) -> None:
    assert world.roads is not None
    lines = np.repeat(shapely.get_parts(world.roads.lines_m), 150)
    along = shapely.line_interpolate_point(lines, np.tile(np.linspace(0.02, 0.98, 150), 2), normalized=True)
    places = shapely.get_coordinates(along)
    lon, lat = world.projection.from_metres(places[world.on_land(places)]).T
    made = [
        world.projection.to_metres(synthesize(Vault.rehearse(pa.table({"lon": lon, "lat": lat}), world, epsilon=1,
                                                             seed=seed), "veil", seed=seed).coordinates)
        for seed in range(5)
    ]  # fmt: skip
    away = [np.median(Network.of(world).distances(xy)) for xy in made]
    assert np.median(away) < 10  # on average over all land it is some hundred metres


def test_at_a_small_epsilon_the_total_is_asked_in_one_cell(world: World) -> None:
    sizes: list[int] = []

    def script(cells: Cells, share: Share) -> np.ndarray:
        sizes.append(len(cells))
        return np.full(len(cells), 100_000)

    synthesize(ScriptedVault(world, script=script, epsilon=Fraction(1, 10)), "veil", count=10)  # type: ignore[arg-type]

    assert sizes[0] == 1


@pytest.mark.parametrize(("count", "epsilon"), [(100, "0.2"), (300, "0.2"), (1000, "0.2"), (1000, 1), (5000, 1)])
def test_it_is_never_worse_than_the_simplest_method(count: int, epsilon: object, world: World) -> None:
    """Six seeds each; the margin of 8 % is for the noise of so few."""
    ours, simplest = (
        np.mean([error(method, world, count, epsilon, seed) for seed in range(6)]) for method in ("veil", "ugrid-uni")
    )

    assert ours <= 1.08 * simplest


def test_released_districts_fit_their_answers_whatever_the_distances_say(world: World) -> None:
    """Blocks and districts have people, but nearly all distances are said to be far."""
    asked: dict[str, Any] = {}

    def script(cells: Cells, share: Share) -> Any:
        asked[share.purpose] = cells
        if share.purpose == "offset":
            return np.append(np.zeros(len(cells) - 1, dtype=np.int64), 30_000)
        return np.full(len(cells), max(1, 30_000 // len(cells)))

    vault = ScriptedVault(world, script=script)
    shares = {name: Share(name, part) for name, part in METHODS["veil"].shares().items()}
    found = Veil().divide(vault, world, shares)

    of_entry = asked["district"].leaf_of[found.raster.entry_cell]
    released = np.bincount(of_entry, found.mass, minlength=len(asked["district"]))
    assert np.abs(released - 30_000 // len(asked["district"])).max() < 100 * np.log(1000 * len(asked["district"])) + 1


@pytest.fixture(scope="module")
def open_country() -> World:
    return World.make((0.0, 0.0, 4000.0, 4000.0), crs="EPSG:32632")


def test_crowded_places_are_found_by_second_counts(
    open_country: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80,000 records on 2,000 exact places."""
    rng = np.random.default_rng(7)
    xy = rng.uniform(0, 4000, (2000, 2))[rng.integers(2000, size=80_000)]
    records = pa.table({"x": xy[:, 0], "y": xy[:, 1]})

    def release() -> tuple[Survey, float]:
        vault = Vault.rehearse(records, open_country, epsilon=1, seed=3, crs="EPSG:32632")
        made = survey(vault, "veil")
        drawn = draw(made, seed=3).coordinates
        return made, MEASURES["nce_shifted_50"](Comparison(vault.exact_points(), drawn, open_country))

    crowded, with_them = release()
    monkeypatch.setattr(veil, "MOSTLY", 9.0)
    _, without = release()

    asked = [(one.purpose, one.question, one.sensitivity) for one in crowded.statement.questions]
    assert asked[3] == ("crowd", "crowding", 20)
    assert [purpose for purpose, *_ in asked[4:]] == ["count", "count", "count"]
    assert crowded.statement.guarantee.epsilon == "1"
    assert with_them < 0.5 * without
    monkeypatch.undo()
    crowded.write(tmp_path / "crowded.survey", key=None)
    again = Survey.read(tmp_path / "crowded.survey")
    assert (draw(again, seed=1).coordinates == draw(crowded, seed=1).coordinates).all()


def test_people_all_over_the_place_are_not_counted_again(world: World) -> None:
    vault = Vault.rehearse(crowd(world, 80_000, 1), world, epsilon=1, seed=1)

    asked = [one.purpose for one in survey(vault, "veil").statement.questions]

    assert asked == ["total", "district", "shape", "offset", "crowd", "count"]


def test_points_follow_the_roads(world: World) -> None:
    from pointveil.network import Network

    vault = Vault.rehearse(crowd(world, 20_000, 1), world, epsilon=1, seed=1)
    real = Network.of(world).distances(vault.exact_points())

    synthetic = synthesize(vault, "veil", seed=1)
    made = Network.of(world).distances(world.projection.to_metres(synthetic.coordinates))

    assert made.mean() == pytest.approx(real.mean(), abs=2.0)
    assert np.median(made) == pytest.approx(np.median(real), abs=1.5)


def test_rounded_coordinates_stay_rounded(plain_world: World) -> None:
    rng = np.random.default_rng(1)
    coordinates = np.round(rng.uniform((10.0, 50.0), (10.02, 50.012), (20_000, 2)), 4)
    table = pa.table({"lon": coordinates[:, 0], "lat": coordinates[:, 1]})

    made = synthesize(Vault.rehearse(table, plain_world, epsilon=1, seed=1), "veil", seed=1).coordinates

    assert np.allclose(np.round(made, 4), made, atol=1e-9)


def test_coordinates_rounded_in_the_files_own_crs_stay_rounded_also_from_a_survey(
    plain_world: World, tmp_path: Path
) -> None:
    """A file in metres, rounded to tens, about a world in degrees."""
    rng = np.random.default_rng(1)
    there = transform(plain_world.projection.crs, "EPSG:32632")
    metres = np.round(there(rng.uniform((10.0, 50.0), (10.02, 50.012), (20_000, 2))), -1)
    table = pa.table({"x": metres[:, 0], "y": metres[:, 1]})
    vault = Vault.rehearse(table, plain_world, epsilon=1, seed=1, columns=("x", "y"), crs="EPSG:32632")

    surveyed = survey(vault, "veil")
    surveyed.write(tmp_path / "people.survey", key=None)
    made = draw(surveyed, seed=1).coordinates

    assert np.array_equal(np.round(made, -1), made)
    assert np.array_equal(draw(tmp_path / "people.survey", seed=1).coordinates, made)


def test_a_person_with_many_points_is_protected_by_wider_noise(world: World) -> None:
    table = crowd(world, 20_000, 1).append_column("who", pa.array(np.arange(20_000) % 4000))
    vault = Vault.rehearse(table, world, epsilon=1, seed=1, person="who", max_points=4)

    done = survey(vault, "veil")

    assert {answer.purpose: answer.points_per_unit for answer in done.answers} == {
        "persons": 1, "sizes": 1, **dict.fromkeys(("district", "shape", "offset", "count"), 4 * VOTES)
    }  # fmt: skip
    people = done.statement.people
    assert people is not None
    assert abs(people.points - 20_000) < people.points_margin  # type: ignore[operator]
    assert len(draw(done, seed=1)) == people.points


def test_parts_that_do_not_fit_are_refused_before_anything_is_spent(world: World) -> None:
    vault = ScriptedVault(world)

    for method in (Method(Veil(), Uniform(), METHODS["veil"].split), Method(UniformGrid(), Density(), {"count": 1})):
        with pytest.raises(InputError, match="divides the world into"):
            survey(vault, method)  # type: ignore[arg-type]
    assert vault.asked == []
