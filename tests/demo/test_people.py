"""The invented people of the demo."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.demo.city import city
from pointveil.demo.column_pictures import SPOTS
from pointveil.demo.people import Lost, lives_of, look_around, people, write_people
from pointveil.demo.rhythms import KINDS
from pointveil.errors import InputError
from pointveil.world.world import World


@pytest.fixture(scope="module")
def crowd() -> NDArray[np.float64]:
    return people(city(), count=20_000)


def test_the_same_seed_gives_the_same_people() -> None:
    first, second = people(city(), count=3_000, seed=7), people(city(), count=3_000, seed=7)

    assert np.array_equal(first, second)


def test_another_seed_gives_other_people() -> None:
    first, second = people(city(), count=3_000, seed=7), people(city(), count=3_000, seed=8)

    assert not np.isin(first, second).any()


@pytest.mark.parametrize("count", [0, 1, 999])
def test_as_many_people_as_asked_for_are_invented(count: int) -> None:
    assert people(city(), count=count).shape == (count, 2)


def test_everyone_is_within_the_boundary(crowd: NDArray[np.float64]) -> None:
    west, south, east, north = city().bounds

    assert (crowd >= (west, south)).all()
    assert (crowd < (east, north)).all()


def test_nearly_everyone_is_on_land_and_a_few_are_in_the_water(crowd: NDArray[np.float64]) -> None:
    share = city().on_land(crowd).mean()

    assert 0.97 < share < 0.999


def test_most_people_are_near_a_street_but_few_on_its_middle_line(crowd: NDArray[np.float64]) -> None:
    roads = city().roads
    assert roads is not None

    _, distance = shapely.STRtree(roads.lines_m).query_nearest(
        shapely.points(crowd), return_distance=True, all_matches=False
    )

    assert (distance < 15).mean() > 0.7
    assert (distance < 1).mean() < 0.2


def test_phones_err_by_a_few_metres_and_now_and_then_by_more() -> None:
    one_spot = Lost((0.0, 0.0, 0.0, 0.0))

    xy = look_around({one_spot: 1.0}, 10_000, np.random.default_rng(1))

    error = np.hypot(*xy.T)
    assert 2 < np.median(error) < 5
    assert 0.01 < (error > 12).mean() < 0.05


def test_some_squares_of_the_city_are_far_busier_than_others(crowd: NDArray[np.float64]) -> None:
    tally, _, _ = np.histogram2d(crowd[:, 0], crowd[:, 1], bins=(10, 16))

    assert tally.max() > 5 * tally.mean()
    assert np.median(tally) < 0.8 * tally.mean()


def test_people_are_written_as_longitudes_and_latitudes(tmp_path: Path) -> None:
    write_people(tmp_path / "people.parquet", city(), count=500)

    table = pq.read_table(tmp_path / "people.parquet")

    lonlat = np.column_stack([table["lon"], table["lat"]])
    assert table.column_names == ["lon", "lat", "time", "kind"]
    assert np.abs(city().projection.to_metres(lonlat) - people(city(), count=500)).max() < 0.01


def test_people_are_invented_for_the_built_in_city_only() -> None:
    elsewhere = World.make((0.0, 0.0, 0.02, 0.01))

    with pytest.raises(InputError, match="built-in city"):
        people(elsewhere)


def test_stations_are_busy_when_people_commute_and_the_market_at_noon() -> None:
    xy = people(city())
    when, kind = lives_of(xy)
    hour = when.astype("datetime64[h]").astype(np.int64) % 24

    def share(spot: tuple[float, float], first: int, last: int) -> float:
        near = np.hypot(*(xy - spot).T) < 100
        return float(((hour >= first) & (hour < last))[near].mean())

    station, market = SPOTS.values()
    assert share(station, 16, 19) > 1.2 * share(market, 16, 19)
    assert share(market, 10, 14) > 1.3 * share(station, 10, 14)
    assert (np.bincount(kind, minlength=4) > 0.05 * len(xy)).all()


def test_lives_are_within_the_declared_period_and_the_same_for_the_same_seed() -> None:
    xy = people(city(), count=2_000)
    when, kind = lives_of(xy)

    again, _ = lives_of(xy)

    assert np.array_equal(when, again)
    assert (when >= np.datetime64("2026-06-01")).all()
    assert (when < np.datetime64("2026-06-29")).all()
    assert not np.array_equal(when, lives_of(xy, seed=3)[0])
    assert kind.max() < len(KINDS)
