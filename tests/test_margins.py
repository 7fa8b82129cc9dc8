"""Margins hold on a file that the release has not seen, cost nothing, and are the same for the same survey."""

import dataclasses
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError
from scipy.spatial import KDTree

import pointveil as pv
from pointveil.cells.coded import CodedCells
from pointveil.demo import city
from pointveil.demo.people import people
from pointveil.margins import Trials, _believed, _deviations, _halved, margins_of, unevenness, with_margins
from pointveil.statement import Margins, parse_statement
from pointveil.surveys import Survey
from pointveil.vault import NoisyCounts, Vault
from pointveil.world import World

SMALL = Margins(
    people=1000, shares=(0.25, 1.0), areas=(100.0, 10_000.0), counts=(0.0, 99.0),
    deviations=(((2.0, 4.0), (8.0, 16.0)), ((1.0, 2.0), (4.0, 8.0))),
)  # fmt: skip


@pytest.fixture(scope="module")
def helsinki() -> tuple[World, np.ndarray]:
    world = city()
    return world, world.projection.from_metres(people(world, count=20_000))


@pytest.fixture(scope="module")
def releases(helsinki: tuple[World, np.ndarray]) -> list[Survey]:
    world, places = helsinki
    return [pv.survey(Vault.rehearse(places, world, epsilon=1, seed=seed)) for seed in range(1, 13)]


@pytest.fixture(scope="module")
def clumps() -> tuple[np.ndarray, list[Survey]]:
    """Return 6,000 people in clumps, and releases of them."""
    world = World.make((8.0, 47.0, 8.06, 47.04))
    rng = np.random.default_rng(11)
    xy = rng.uniform(0, world.size, (25, 2))
    for spread in (600, 200, 60):
        weight = rng.pareto(1.5, len(xy)) + 0.2
        xy = xy[rng.choice(len(xy), len(xy) * 8, p=weight / weight.sum())]
        xy = xy + rng.normal(0, spread, xy.shape)
    xy = rng.permutation(xy[world.on_land(xy)])[:6000]
    places = world.projection.from_metres(xy)
    return xy, [pv.survey(Vault.rehearse(places, world, epsilon=1, seed=seed)) for seed in range(6)]


@pytest.fixture(scope="module")
def surveyed(releases: list[Survey]) -> Survey:
    return releases[-1]


def off_by(survey: Survey, real: np.ndarray, centres: np.ndarray, radius: float) -> np.ndarray:
    """Return how far circles of a release are off, in margins."""
    margins = survey.statement.margins
    assert margins is not None
    drawn = survey.world.projection.to_metres(pv.draw(survey, seed=1).coordinates)
    true, told = (KDTree(xy).query_ball_point(centres, radius, return_length=True) for xy in (real, drawn))
    return np.asarray(np.abs(true - told) / margins.margin(told, np.pi * radius**2))


@pytest.mark.parametrize("radius", [100.0, 250.0])
def test_nine_in_ten_intervals_hold_the_true_count(
    radius: float, helsinki: tuple[World, np.ndarray], releases: list[Survey]
) -> None:
    """A release is off in many circles at once, so single ones hold more or less: twelve are taken together."""
    world, places = helsinki
    real = world.projection.to_metres(places)
    centres = real[np.random.default_rng(0).choice(len(real), 1000)]

    off = np.concatenate([off_by(survey, real, centres, radius) for survey in releases])

    assert 0.86 < np.mean(off <= 1) < 0.95
    assert np.mean(off <= 0.5) < 0.75  # so the margins are no wider than need be


def test_circles_with_hardly_anybody_hold_as_often_as_others(clumps: tuple[np.ndarray, list[Survey]]) -> None:
    """Noise tells of some people where there is nobody: margins by what is told would miss that too often."""
    real, releases = clumps
    world = releases[0].world
    centres = np.random.default_rng(0).uniform(world.bounds[:2], world.bounds[2:], (3000, 2))
    quiet = KDTree(real).query_ball_point(centres, 500.0, return_length=True) < 20

    off = np.concatenate([off_by(survey, real, centres[quiet], 500.0) for survey in releases])

    assert np.mean(off <= 1) > 0.88


def test_margins_cost_nothing_and_are_the_same_again(surveyed: Survey) -> None:
    again = Survey.from_bytes(surveyed.to_bytes())

    assert margins_of(again) == surveyed.statement.margins == again.statement.margins
    assert sum(Fraction(question.epsilon) for question in surveyed.statement.questions) == 1
    assert len(surveyed.answers) == len(surveyed.statement.questions)


def test_the_answers_alone_decide(surveyed: Survey) -> None:
    last = surveyed.answers[-1]
    assert isinstance(last, NoisyCounts)
    wider = dataclasses.replace(last, values=last.values + 1)
    changed = dataclasses.replace(surveyed, answers=(*surveyed.answers[:-1], wider))

    assert margins_of(changed) != surveyed.statement.margins


def test_noise_that_is_wider_widens_margins(helsinki: tuple[World, np.ndarray], surveyed: Survey) -> None:
    world, places = helsinki
    noisier = pv.survey(Vault.open(places, world, epsilon="1/4", ledger=None)).statement.margins
    margins = surveyed.statement.margins
    assert margins is not None
    assert noisier is not None

    assert noisier.margin(100, 31_416) > 1.5 * margins.margin(100, 31_416)
    assert noisier.effective_sample is not None
    assert margins.effective_sample is not None
    assert noisier.effective_sample < margins.effective_sample < 1


def test_adaptive_grids_have_margins_too(helsinki: tuple[World, np.ndarray]) -> None:
    world, places = helsinki

    made = pv.synthesize(Vault.rehearse(places, world, epsilon=1, seed=2), "agrid-uni", seed=1)
    found = made.count((*places[0], 200.0))

    assert found.margin is not None
    assert 0 < found.margin < found.value


@pytest.mark.parametrize("method", ["agrid-wud", "road"])
def test_every_other_method_has_margins_that_hold(method: str, helsinki: tuple[World, np.ndarray]) -> None:
    world, places = helsinki
    real = world.projection.to_metres(places)[:8000]

    made = pv.synthesize(Vault.rehearse(places[:8000], world, epsilon=1, seed=2), method, seed=1)

    assert made.statement.margins is not None
    drawn = world.projection.to_metres(made.coordinates)
    centres = real[np.random.default_rng(0).choice(len(real), 500)]
    true, told = (KDTree(xy).query_ball_point(centres, 150.0, return_length=True) for xy in (real, drawn))
    off = np.abs(true - told) / made.statement.margins.margin(told, np.pi * 150.0**2)
    assert 0.75 < np.mean(off <= 1) <= 1
    assert np.mean(off <= 0.3) < 0.75


@pytest.mark.parametrize(("method", "why"), [("ugrid-uni", "an even grid"), ("clust-uni", "clusters")])
def test_a_method_that_puts_people_where_nobody_is_has_no_margins_and_says_why(
    method: str, why: str, helsinki: tuple[World, np.ndarray]
) -> None:
    world, places = helsinki

    made = pv.synthesize(Vault.open(places[:3000], world, epsilon=1, ledger=None), method, seed=1)

    assert made.statement.margins is None
    assert f"no margin: {why}" in str(made.count((*places[0], 200.0)))


@pytest.mark.parametrize("points", [1, 100])
def test_few_people_have_margins_too(points: int, helsinki: tuple[World, np.ndarray]) -> None:
    world, places = helsinki

    margins = pv.survey(Vault.rehearse(places[:points], world, epsilon=1, seed=1)).statement.margins

    assert margins is None or margins.margin(3, 31_416) > 1


def test_neighbours_that_share_unevenly_and_halves_are_told_apart_under_noise() -> None:
    rng = np.random.default_rng(1)

    def answered(true: np.ndarray) -> NoisyCounts:
        noisy = true + rng.geometric(1 - np.exp(-1), len(true)) - rng.geometric(1 - np.exp(-1), len(true))
        return NoisyCounts(noisy.astype(np.int64), "count", Fraction(1))

    halves = answered(rng.poisson(20, 5000))
    all_in_one = answered(np.where(np.arange(5000) % 2, 40, 0))

    a_few_crowds = answered(np.where(np.arange(5000) % 1000, rng.poisson(20, 5000), 2000))

    assert unevenness(halves) < 0.05
    assert unevenness(all_in_one) == pytest.approx(1, abs=0.05)
    assert unevenness(a_few_crowds) < 0.3  # of 120,000 people, 20,000 are in crowds


def test_nobody_is_invented_where_the_release_has_only_people_of_noise() -> None:
    rng = np.random.default_rng(1)
    noise = rng.geometric(1 - np.exp(-1), 1024) - rng.geometric(1 - np.exp(-1), 1024)
    answer = NoisyCounts(np.where(np.arange(1024) < 512, 0, 20) + noise, "count", Fraction(1))
    part = np.repeat(np.arange(1024), np.maximum(answer.values, 0))

    likely = _believed(part + 1, answer)

    quiet = part < 512
    assert quiet.mean() > 0.015
    assert likely[quiet].sum() < 0.3 * quiet.sum()
    assert likely.sum() == pytest.approx(len(part), rel=0.02)


def test_what_was_answered_about_kept_columns_is_known_to_margins(helsinki: tuple[World, np.ndarray]) -> None:
    """Slices were far too sure once, because these answers did not come through."""
    world, places = helsinki
    lon, lat = places.T
    table = pa.table({"lon": lon, "lat": lat, "kind": np.where(lon > np.median(lon), "east", "west")})
    keep = [pv.Category("kind", ["east", "west"])]

    surveyed = pv.survey(Vault.rehearse(table, world, epsilon=1, seed=1, keep=keep))

    counted = [cells for cells, _ in surveyed.prepared.parts if isinstance(cells, CodedCells)]
    assert any(len(cells.places) > 1 for cells in counted)


def test_people_on_few_exact_places_have_margins_too() -> None:
    world = city()
    spots = people(world, count=60)
    crowd = np.repeat(spots[world.on_land(spots)], 400, axis=0)

    made = pv.survey(Vault.rehearse(world.projection.from_metres(crowd), world, epsilon=4, seed=1))

    assert len([question for question in made.statement.questions if question.purpose == "count"]) > 1
    assert made.statement.margins is not None


def test_slices_of_a_kept_column_are_less_sure_than_their_part_of_all(helsinki: tuple[World, np.ndarray]) -> None:
    world, places = helsinki
    lon, lat = places.T
    kind = np.where(lon > np.median(lon), "east", "west")
    table = pa.table({"lon": lon, "lat": lat, "kind": kind})

    made = pv.synthesize(
        Vault.rehearse(table, world, epsilon=1, seed=1, keep=[pv.Category("kind", ["east", "west"])]), seed=1
    )
    both = made.count((24.94, 60.168, 300), where={"kind": ["east", "west"]})
    east = made.count((24.94, 60.168, 300), where={"kind": "east"})

    assert str(both) == str(made.count((24.94, 60.168, 300)))
    assert east.margin is not None
    assert both.margin is not None
    assert east.margin > both.margin * int(east) / int(both)


def test_invented_people_are_as_clumped_within_parts_as_parts_are_among_each_other() -> None:
    rng = np.random.default_rng(1)
    xy = rng.uniform(0, 1000, (4096, 2))

    even, uneven = (_halved(np.zeros(len(xy), dtype=np.int64), xy, share, rng) for share in (0.02, 0.5))

    assert np.ptp(even) < np.ptp(uneven)
    assert even.mean() == pytest.approx(1, abs=0.5)
    assert (uneven > 4 * uneven.mean()).mean() > 0.01


def circles(radius: float, told: np.ndarray, true: np.ndarray) -> Trials:
    """Return trials of all people in circles of one size."""
    area, share = (np.full(len(told), each) for each in (np.pi * radius**2, 1.0))
    return Trials(np.full(len(told), -1), area, share, told, true)


def held(trials: Trials, some: np.ndarray) -> float:
    """Return how many of some trials are within the margins that are fitted to all."""
    areas, counts = np.unique(trials.area), np.array([0.0, 3, 10, 30, 100, 300, 1000])
    found = _deviations(trials, (1.0,), areas, counts, 1e12)[0]
    at = [np.interp(np.log1p(trials.told[some]), np.log1p(counts), np.log(row)) for row in found]
    margin = 1.645 * np.exp(np.choose(np.searchsorted(areas, trials.area[some]), at))
    return float(np.mean(np.abs(trials.told - trials.true)[some] <= margin))


def test_circles_whose_many_people_were_smoothed_away_hold_too() -> None:
    """They are told as if few were there: margins by true counts, which were looked up by what is told, missed them."""
    rng = np.random.default_rng(1)
    true = np.concatenate([rng.poisson(8, 1500), rng.poisson(60, 500)]).astype(np.float64)
    told = np.where(np.arange(2000) < 1500, true + rng.normal(0, 3, 2000), 0.3 * true + rng.normal(0, 4, 2000)).clip(0)

    trials = circles(100, np.rint(told), true)

    assert held(trials, true > 40) > 0.7
    assert held(trials, true < 40) > 0.88


def test_an_area_goes_its_own_way_where_enough_of_its_circles_do() -> None:
    rng = np.random.default_rng(1)
    tried = []
    for radius in (50, 100, 250, 500, 1000):
        true = np.rint(np.exp(rng.uniform(np.log(10), np.log(900), 800)))
        wide = np.where((radius == 250) & (true > 50) & (true < 200), 4, 1)
        tried.append(circles(radius, np.rint(true + wide * rng.normal(0, 2 + 0.02 * true)).clip(0), true))
    trials = Trials(*map(np.concatenate, zip(*tried, strict=True)))

    there = (trials.area == np.pi * 250**2) & (trials.true > 50) & (trials.true < 200)

    assert held(trials, there) > 0.65
    assert 0.88 < held(trials, ~there) < 0.95


def test_an_area_in_which_no_slice_was_tried_has_what_all_areas_have_in_common() -> None:
    rng, counted = np.random.default_rng(1), np.array([0.0, 3, 10, 30, 100])
    true = rng.poisson(20, 300).astype(np.float64)
    small, wide = (circles(radius, true + rng.normal(0, 3, 300), true) for radius in (100, 1000))
    sliced = small._replace(column=np.zeros(300, dtype=np.int64), share=np.full(300, 0.25))
    joined: list[np.ndarray] = [np.concatenate(each) for each in zip(small, wide, sliced, strict=True)]
    trials = Trials(*joined)

    found = _deviations(trials, (0.25, 1.0), np.unique(trials.area), counted, 1e12)

    assert found.shape == (2, 2, 5)
    assert (found > 0).all()
    assert np.isfinite(found).all()


def test_a_statement_with_margins_is_read_back_and_one_without_has_no_such_field(surveyed: Survey) -> None:
    text = surveyed.statement.to_json()

    assert parse_statement(text) == surveyed.statement
    assert '"margins"' in text
    assert '"margins"' not in surveyed.statement.model_copy(update={"margins": None}).to_json()


def test_between_the_knots_deviations_are_log_linear_and_beyond_them_as_at_the_edge() -> None:
    assert SMALL.deviation(0, 100) == pytest.approx(1)
    assert SMALL.deviation(9, 1000) == pytest.approx(2**1.5)  # half-way in both
    assert SMALL.deviation(99, 10_000, 0.5) == pytest.approx(8 * 2**0.5)
    assert SMALL.deviation(10**6, 1e9, 1e-6) == pytest.approx(16)
    assert SMALL.margin(0, 100) == pytest.approx(1.645)


@pytest.mark.parametrize(
    "wrong",
    [
        {"areas": (10_000.0, 100.0)},
        {"counts": (0.0,)},
        {"shares": (0.25, 0.5)},
        {"deviations": SMALL.deviations[:1]},
        {"deviations": (((0.0, 4.0), (8.0, 16.0)), SMALL.deviations[1])},
        {"people": 0},
    ],
)
def test_a_table_that_does_not_fit_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Margins.model_validate(SMALL.model_dump() | wrong)


@pytest.mark.parametrize("fault", [np.linalg.LinAlgError, ZeroDivisionError, KeyError, IndexError])
def test_margins_that_cannot_be_worked_out_do_not_cost_a_release_that_is_paid_for(
    fault: type[Exception], surveyed: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_solution(*_: object) -> None:
        raise fault

    monkeypatch.setattr("pointveil.margins._fit", no_solution)

    assert with_margins(surveyed).statement.margins is None


def test_odd_numbers_of_hardly_anybody_warn_nobody(surveyed: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody_anywhere(*_: object) -> object:
        return np.zeros(3) / np.zeros(3).sum()

    monkeypatch.setattr("pointveil.margins._clumped", nobody_anywhere)

    assert with_margins(surveyed).statement.margins is None
