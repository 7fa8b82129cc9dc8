"""Counts of areas: the same people whatever form an area has, and of slices of time."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from pyproj import Transformer

import pointveil as pv
from pointveil.counting import bins_of
from pointveil.demo import city
from pointveil.demo.people import people
from pointveil.errors import InputError
from pointveil.vault import Vault

AREA = shapely.box(24.93, 60.165, 24.945, 60.172)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> pv.SyntheticPoints:
    world = city()
    lon, lat = world.projection.from_metres(people(world, count=10_000)).T
    hour = np.where(np.arange(len(lon)) % 4 == 0, 8, 20)
    ts = np.datetime64("2024-05-01T00:00", "s") + hour * np.timedelta64(3600, "s")
    table = pa.table({"lon": lon, "lat": lat, "ts": ts})
    keep = [pv.Time("ts", "2024-05-01/2024-05-02")]
    vault = Vault.open(table, world, epsilon=2, keep=keep, ledger=None)
    path = tmp_path_factory.mktemp("released") / "synthetic.parquet"
    pv.synthesize(vault, seed=1).write(path, key=None)
    return pv.read(path)


def test_a_count_prints_with_its_margin(released: pv.SyntheticPoints) -> None:
    found = released.count(AREA)

    inside = shapely.intersects_xy(AREA, *released.coordinates.T).sum()
    assert int(found) == inside > 0
    assert found.margin is not None
    assert str(found) == f"{inside:,} ± {found.margin:.0f}"
    assert found.low == inside - found.margin
    assert found.high == inside + found.margin


def test_an_area_may_have_any_form(released: pv.SyntheticPoints) -> None:
    gpd = pytest.importorskip("geopandas", reason="frames are an extra")
    halves = gpd.GeoSeries([shapely.box(24.93, 60.165, 24.94, 60.172), shapely.box(24.94, 60.165, 24.945, 60.172)])
    there = Transformer.from_crs(4326, 3067, always_xy=True).transform

    forms: tuple[tuple[Any, dict[str, Any]], ...] = (
        (AREA.bounds, {}),
        (halves, {}),
        (gpd.GeoDataFrame(geometry=halves, crs=4326).to_crs(3067), {}),
        (shapely.transform(AREA, lambda xy: np.column_stack(there(*xy.T))), {"crs": "EPSG:3067"}),
    )
    for form, options in forms:
        assert abs(int(released.count(form, **options)) - int(released.count(AREA))) <= 2


def test_a_circle_is_a_place_and_metres(released: pv.SyntheticPoints) -> None:
    metres = city().projection.to_metres(np.vstack([released.coordinates, [[24.94, 60.17]]]))

    assert int(released.count((24.94, 60.17, 300))) == pytest.approx(
        (np.hypot(*(metres[:-1] - metres[-1]).T) <= 300).sum(), abs=2
    )


def test_an_area_elsewhere_is_said_to_be_outside_and_not_to_be_empty(released: pv.SyntheticPoints) -> None:
    swapped = released.count((60.17, 24.94, 250))

    assert (swapped.value, swapped.margin) == (0, None)
    assert str(swapped).startswith("0 (no margin: the area is outside of the world of this release; x (longitude)")
    assert released.count((24.937, 60.14, 5000)).margin is not None  # one that reaches into the world is counted


def test_a_projected_release_takes_areas_in_degrees_and_in_its_own_crs() -> None:
    world = city()
    lon, lat = world.projection.from_metres(people(world, count=5_000)).T
    there = Transformer.from_crs(4326, 3067, always_xy=True).transform
    x, y = there(lon, lat)
    vault = Vault.open(pa.table({"x": x, "y": y}), world, epsilon=2, crs="EPSG:3067", ledger=None)
    made = pv.synthesize(vault, seed=1)
    own = shapely.transform(AREA, lambda xy: np.column_stack(there(*xy.T)))

    assert abs(int(made.count(AREA)) - int(made.count(own))) <= 2
    assert int(made.count(AREA)) > 0


def test_slices_of_time_are_counted_by_moment(released: pv.SyntheticPoints) -> None:
    six, noon = "2024-05-01T06:00", "2024-05-01T12:00"
    morning = released.count(AREA, time=(six, noon))

    assert str(morning) == str(released.count(AREA, time=slice(six, noon)))
    assert int(morning) + int(released.count(AREA, time=(noon, None))) + int(
        released.count(AREA, time=(None, six))
    ) == int(released.count(AREA))
    assert 0.15 < int(morning) / int(released.count(AREA)) < 0.35
    assert morning.margin is not None
    assert morning.margin > 0


def test_fewer_rows_stand_for_all_people_and_are_less_sure() -> None:
    world = city()
    places = world.projection.from_metres(people(world, count=10_000))
    survey = pv.survey(Vault.open(places, world, epsilon=2, ledger=None))
    many, few = (pv.draw(survey, count=count, seed=1).count(AREA) for count in (None, 2000))

    assert int(few) == pytest.approx(int(many), rel=0.2)
    assert few.margin is not None
    assert many.margin is not None
    assert few.margin > 1.2 * many.margin


@pytest.mark.parametrize("area", ["here", shapely.Point(24.94, 60.17), (24.94, 60.17), shapely.Polygon()])
def test_what_has_no_area_is_refused(area: Any, released: pv.SyntheticPoints) -> None:
    with pytest.raises(InputError, match="Give a polygon"):
        released.count(area)


@pytest.mark.parametrize(
    ("time", "complaint"), [("8", r"\(from, to\)"), (("soon", "later"), "write a moment"), ((1, 2, 3), "from, to")]
)
def test_a_slice_that_is_none_is_refused(time: Any, complaint: str, released: pv.SyntheticPoints) -> None:
    with pytest.raises(InputError, match=complaint):
        released.count(AREA, time=time)


@pytest.fixture(scope="module")
def with_kinds() -> pv.SyntheticPoints:
    world = city()
    lon, lat = world.projection.from_metres(people(world, count=5_000)).T
    kind = np.array(["bus", "tram", "boat"])[np.arange(len(lon)) % 3]
    table = pa.table({"lon": lon, "lat": lat, "kind": kind, "fare": np.arange(len(lon)) % 10 + 0.5})
    keep = [pv.Category("kind", ["bus", "tram"]), pv.Number("fare", 0, 10, bins=10)]
    return pv.synthesize(Vault.rehearse(table, world, epsilon=4, seed=1, keep=keep), seed=1)


def test_values_and_numbers_are_counted_with_where(with_kinds: pv.SyntheticPoints) -> None:
    bus, both = (with_kinds.count(AREA, where={"kind": value}) for value in ("bus", ["bus", "tram"]))
    cheap = with_kinds.count(AREA, where={"kind": ("bus", "tram"), "fare": (None, 5)})

    assert int(bus) / int(both) == pytest.approx(1 / 2, abs=0.1)
    assert int(both) / int(with_kinds.count(AREA)) == pytest.approx(2 / 3, abs=0.1)
    assert int(cheap) / int(both) == pytest.approx(1 / 2, abs=0.1)
    assert bus.margin is not None


@pytest.mark.parametrize(
    ("where", "complaint"),
    [({"line": "4"}, "No column 'line'"), ({"kind": "boat"}, "no value 'boat'"), ({"fare": 5}, "give .from, to.")],
)
def test_values_that_are_not_kept_are_refused(where: Any, complaint: str, with_kinds: pv.SyntheticPoints) -> None:
    with pytest.raises(InputError, match=complaint):
        with_kinds.count(AREA, where=where)


@pytest.mark.parametrize(
    "given",
    [
        {"time": ("2024-05-01T12:00", "2024-05-01T08:00")},
        {"time": ("2023-01-01", "2023-02-01")},
        {"where": {"fare": (5, 2)}},
        {"where": {"fare": (100, 200)}},
    ],
)
def test_a_slice_with_nothing_in_it_is_refused_and_not_counted_as_nobody(
    given: Any, released: pv.SyntheticPoints, with_kinds: pv.SyntheticPoints
) -> None:
    made = released if "time" in given else with_kinds

    with pytest.raises(InputError, match=r"Nothing of '(ts|fare)' is in"):
        made.count(AREA, **given)


def test_hours_of_a_pattern_go_on_past_midnight() -> None:
    hours = pv.Time("ts", "2024-05-01/2024-06-01", "hour-of-day")

    assert np.flatnonzero(bins_of((22, 4), hours)).tolist() == [0, 1, 2, 3, 22, 23]
    assert np.flatnonzero(bins_of((8, 10), hours)).tolist() == [8, 9]
    assert np.flatnonzero(bins_of((22, None), hours)).tolist() == [22, 23]


def test_hours_of_a_time_with_dates_are_refused(released: pv.SyntheticPoints) -> None:
    with pytest.raises(InputError, match="keeps moments"):
        released.count(AREA, time=(8, 10))


def test_without_a_kept_time_there_is_no_slice(people_file: Path, world: pv.World) -> None:
    made = pv.synthesize(Vault.open(people_file, world, epsilon=1, ledger=None), seed=1)

    with pytest.raises(InputError, match="No column with a time is kept"):
        made.count((10.004, 50.003, 100), time=(8, 10))
