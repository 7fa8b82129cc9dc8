"""What every row of METHODS must do, whoever wrote it: a new row is tested by standing in the table."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.methods import METHODS, Method
from pointveil.partition import adaptive_grid
from pointveil.placement import kernel_density
from pointveil.releases import draw, survey, synthesize
from pointveil.surveys import Survey
from pointveil.synthetic import SyntheticPoints
from pointveil.testing import ScriptedVault
from pointveil.vault import VOTES, Cells, Share, Vault
from pointveil.world import World

pytestmark = pytest.mark.usefixtures("rough_margins")

BOUNDS = (10.0, 50.0, 10.02, 50.012)
ISLET = shapely.box(10.0121, 50.0047, 10.0141, 50.0059)
every_row = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="session")
def wet_world() -> World:
    """A world that is 99 % water, with a road on its one islet."""
    water = shapely.difference(shapely.box(*BOUNDS), ISLET)
    road = shapely.LineString([(10.0122, 50.005), (10.014, 50.0058)])
    return World.make(BOUNDS, out_of_bounds=water, roads=np.array([road]))


def table_of(lonlat: NDArray[np.float64]) -> pa.Table:
    return pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1]})


def open_vault(lonlat: NDArray[np.float64], world: World, epsilon: object = 1, seed: int = 0) -> Vault:
    return Vault.rehearse(table_of(lonlat), world, epsilon=epsilon, seed=seed)


def check(points: SyntheticPoints, world: World) -> None:
    assert np.isfinite(points.coordinates).all()
    assert world.on_land(world.projection.to_metres(points.coordinates)).all()


@every_row
def test_the_whole_budget_is_spent_and_no_more(name: str, world: World, people: NDArray[np.float64]) -> None:
    vault = open_vault(people, world, "7/3")

    found = survey(vault, name, small=True)

    assert vault.left == 0
    assert sum(Fraction(question.epsilon) for question in found.statement.questions) == Fraction(7, 3)
    # So few people are not asked about crowds: that share goes to the leaves.
    asked = [purpose for purpose in METHODS[name].purposes if purpose != "crowd"]
    assert [question.purpose for question in found.statement.questions] == asked


@every_row
def test_every_point_is_on_land_and_their_number_is_about_right(
    name: str, world: World, people: NDArray[np.float64]
) -> None:
    points = synthesize(open_vault(people, world), name, seed=1, small=True)

    check(points, world)
    real = world.on_land(world.projection.to_metres(people)).sum()
    assert abs(len(points) - real) < 400


@every_row
def test_points_are_more_like_the_real_ones_than_chance(name: str, world: World, people: NDArray[np.float64]) -> None:
    # Three quarters of all people stand in one corner that has a tenth of the land.
    points = synthesize(open_vault(people, world, 2), name, seed=1, small=True)

    crowd = (np.abs(points.coordinates - (10.004, 50.003)) < (0.002, 0.0016)).all(axis=1)
    assert crowd.mean() > 0.45


@every_row
def test_the_same_seed_draws_the_same_points_and_another_others(
    name: str, world: World, people: NDArray[np.float64]
) -> None:
    found = survey(open_vault(people, world), name, small=True)

    one, same, other = draw(found, seed=5), draw(found, seed=5), draw(found, seed=6)

    assert (one.coordinates == same.coordinates).all()
    assert (one.coordinates != other.coordinates).any()


@every_row
def test_a_saved_survey_draws_the_same_points(
    name: str, world: World, people: NDArray[np.float64], tmp_path: Path
) -> None:
    found = survey(open_vault(people, world), name, small=True)

    found.write(tmp_path / "saved.survey")
    read = Survey.read(tmp_path / "saved.survey")

    assert (draw(found, seed=5).coordinates == draw(read, seed=5).coordinates).all()
    assert read.statement == found.statement


@every_row
def test_no_real_point_is_needed(name: str, world: World) -> None:
    vault = ScriptedVault(world, everywhere=10)

    points = synthesize(vault, name, seed=1, small=True)  # type: ignore[arg-type]

    check(points, world)
    assert len(points) > 0
    assert vault.left == 0


@every_row
def test_as_many_points_are_drawn_as_asked_for(name: str, world: World, people: NDArray[np.float64]) -> None:
    found = survey(open_vault(people, world), name, small=True)

    for count in (0, 1, 17, 5000):
        points = draw(found, count=count, seed=1)
        assert len(points) == count
        check(points, world)


def on_borders() -> NDArray[np.float64]:
    """Points on edges and corners of the bounds, of grids of 10 by 10, and of the river's banks."""
    x, y = np.meshgrid(np.linspace(10.0, 10.02, 11), np.linspace(50.0, 50.012, 11))
    banks = np.column_stack([np.repeat([10.009, 10.011], 6), np.tile(np.linspace(50.0, 50.012, 6), 2)])
    return np.concatenate([np.column_stack([x.ravel(), y.ravel()]), banks])


DATASETS: dict[str, Callable[[], NDArray[np.float64]]] = {
    "nobody": lambda: np.empty((0, 2)),
    "one point": lambda: np.array([[10.0131, 50.0051]]),
    "all in one place": lambda: np.full((3000, 2), (10.0131, 50.0051)),
    "on borders and corners": on_borders,
    "nowhere to be found": lambda: np.array([[np.nan, 50.0], [np.inf, -np.inf], [0.0, 0.0], [10.02, 50.012]]),
}


@every_row
@pytest.mark.parametrize("data", DATASETS)
def test_no_dataset_makes_it_fail(name: str, data: str, world: World) -> None:
    for epsilon in (1, "1/100"):
        check(synthesize(open_vault(DATASETS[data](), world, epsilon), name, seed=1, small=True), world)


@every_row
@pytest.mark.parametrize("epsilon", ["0.01", 20])
def test_little_and_much_epsilon_are_both_fine(
    name: str, epsilon: object, world: World, people: NDArray[np.float64]
) -> None:
    check(synthesize(open_vault(people, world, epsilon), name, seed=1, small=True), world)


@every_row
@pytest.mark.parametrize("data", ["nobody", "all in one place"])
def test_a_world_of_water_gets_its_points_on_the_islet(name: str, data: str, wet_world: World) -> None:
    points = synthesize(open_vault(DATASETS[data](), wet_world), name, seed=1, small=True)

    check(points, wet_world)
    if data != "nobody":
        assert len(points) > 2000


@every_row
@pytest.mark.parametrize("everywhere", [-(10**6), -1, 0])
def test_answers_that_are_all_negative_or_zero_give_no_one(name: str, everywhere: int, world: World) -> None:
    found = survey(ScriptedVault(world, everywhere=everywhere), name)  # type: ignore[arg-type]

    assert len(draw(found, seed=1)) == 0
    check(draw(found, count=50, seed=1), world)


@every_row
def test_huge_answers_are_cut_to_size(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive_grid, "MOST_PARTS", 5000)
    monkeypatch.setattr(kernel_density, "MOST_BLURRED", 5000)

    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        return np.full(len(cells), 2000 if share.purpose == "total" else 10**12)

    found = survey(ScriptedVault(world, script=script), name)  # type: ignore[arg-type]

    points = draw(found, count=1000, seed=1)
    assert len(points) == 1000
    check(points, world)


@every_row
def test_a_person_with_many_points_is_protected_at_the_same_price(
    name: str, world: World, people: NDArray[np.float64]
) -> None:
    table = table_of(people).append_column("who", pa.array(np.arange(len(people)) // 10))
    vault = Vault.rehearse(table, world, epsilon=1, seed=0, person="who", max_points=5)

    points = synthesize(vault, name, seed=1, small=True)

    assert vault.left == 0
    sensitivity = {"persons": 1, "count": 5 * VOTES, "scatter": 5}
    assert all(
        question.sensitivity == sensitivity.get(question.question, question.sensitivity // 25 * 25)
        for question in points.statement.questions
    )
    check(points, world)


@every_row
def test_another_split_is_kept_to(name: str, world: World, people: NDArray[np.float64]) -> None:
    method = METHODS[name]
    parts = len(method.purposes)
    other = method.with_split(dict.fromkeys(method.purposes, Fraction(1, parts)))
    vault = open_vault(people, world)

    found = survey(vault, other, small=True)

    paid = [Fraction(question.epsilon) for question in found.statement.questions]
    assert sum(paid) == 1
    # What there are too few people to ask about is spent on their counts.
    assert all(each in (Fraction(1, parts), Fraction(2, parts)) for each in paid)
    assert len(set(paid)) == 1 or name == "veil"


@every_row
def test_a_method_can_be_made_again_from_its_description(name: str) -> None:
    method = METHODS[name]

    again = Method.restore(name, method.parameters, method.shares())

    assert (again.partitioner, again.placement) == (method.partitioner, method.placement)
    assert again.shares() == method.shares()
    assert method.when
