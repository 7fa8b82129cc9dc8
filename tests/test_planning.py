"""A plan touches no data, and what it foretells moves as it must with epsilon, people and points."""

import json
from pathlib import Path

import numpy as np
import pytest

import pointveil as pv
from pointveil.cli import main
from pointveil.planning import Forecast, Plan, invent
from pointveil.world import World


def test_more_epsilon_and_more_points_promise_less_error(world: World) -> None:
    few, many = (pv.plan(world, points=points, epsilons=["1/4", 4]).forecasts for points in (1000, 20_000))

    assert [each.epsilon for each in few] == ["1/4", "4"]
    for less, more in (few, many):
        assert less.worth < more.worth
        assert less.right_square < more.right_square
    assert few[0].right_square < many[0].right_square
    assert (few[0].stops, many[1].stops) == (True, False)


def test_the_same_plan_comes_out_each_time_and_nothing_is_charged(world: World) -> None:
    first, again = (pv.plan(world, points=2000, epsilons=[1], method="ugrid-uni") for _ in range(2))

    assert first == again
    assert not pv.Ledger().path.exists()


def test_people_are_planned_for_by_the_points_used_of_one(world: World) -> None:
    planned = pv.plan(world, persons=1500, per_person=6, epsilons=[2], method="ugrid-uni")

    assert [each.max_points for each in planned.forecasts] == [1, 2, 4, 6]
    single = pv.plan(world, points=9000, epsilons=[2], method="ugrid-uni").forecasts[0]
    assert all(each.worth < single.worth for each in planned.forecasts)
    errors = [each.count_error for each in planned.forecasts]
    assert max(errors) < 2 * min(errors)  # that all have six points, which bins tell badly, spoils no row
    assert "of each person at most" in planned.recommendation
    assert "let --max-points be chosen by noisy answers" in planned.caveat
    assert "--max-points" not in pv.plan(world, points=9000, epsilons=[2], method="ugrid-uni").caveat


def test_what_kept_columns_cost_is_taken_off(world: World) -> None:
    options = {"points": 20_000, "epsilons": [1], "method": "ugrid-uni"}
    bare, kept = (pv.plan(world, **options, keep=keep).forecasts[0] for keep in ((), ["kind=category:bus,tram"]))  # type: ignore[arg-type]

    assert kept.worth < bare.worth


def test_the_crowd_is_on_land_and_uneven(world: World, plain_world: World) -> None:
    for place in (world, plain_world):
        xy = invent(place, 5000, np.random.default_rng(1))
        counts = np.histogram2d(xy[:, 0], xy[:, 1], bins=10)[0]

        assert xy.shape == (5000, 2)
        assert place.on_land(xy).all()
        assert counts.max() > 3 * counts.mean()


def test_half_a_real_sample_is_recommended_with_the_smallest_epsilon_that_gives_it() -> None:
    def forecast(epsilon: str, worth: float, *, stops: bool = False) -> Forecast:
        return Forecast(epsilon, None, 200, 14.0, 0.9, worth, stops)

    planned = Plan((forecast("1/2", 0.6, stops=True), forecast("1", 0.55), forecast("2", 0.8)))
    hopeless = Plan((forecast("1", 0.1), forecast("4", 0.9)))

    assert planned.recommendation.startswith(
        "Take epsilon 1: a count of 200 within 500 m is off by 14 on average; worth"
    )
    assert hopeless.recommended is None
    assert "coarse map: epsilon 1" in hopeless.recommendation


@pytest.mark.parametrize("wrong", [{}, {"points": 10, "persons": 3}, {"persons": 3}, {"points": 0}])
def test_a_plan_needs_to_know_how_many(wrong: dict[str, int], world: World) -> None:
    with pytest.raises(pv.InputError):
        pv.plan(world, **wrong)  # type: ignore[arg-type]


def test_the_command_prints_a_table_or_json(world_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ["plan", "--world", str(world_file), "--points-about", "3000", "--epsilon", "1,2", "--method", "ugrid-uni"]
    for more, says in (([], "worth a real sample"), (["--quiet"], "epsilon"), (["--json"], '"recommendation"')):
        with pytest.raises(SystemExit, match="0"):
            main([*base, *more])
        out = capsys.readouterr().out
        assert says in out
    assert len(json.loads(out)["forecasts"]) == 2


def test_a_release_of_very_few_persons_is_called_useless(world: World) -> None:
    found = pv.plan(world, persons=143, per_person=20, epsilons=["1", "2"], max_points=[1, 8], method="ugrid-uni")

    assert all(forecast.stops for forecast in found.forecasts)
    assert "useless" in found.recommendation
    assert "persons" in found.recommendation
