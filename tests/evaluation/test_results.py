import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyproj
import pytest
import shapely
from numpy.typing import NDArray
from tests.evaluation.towns import CORNER, crossroads, people, town

from pointveil.errors import InputError
from pointveil.evaluation import BANNER, MEASURES, Comparison, Evaluation, evaluate, measure_all
from pointveil.world import World

Points = NDArray[np.float64]
NOBODY = np.zeros((0, 2))


def measured(real: Points, synthetic: Points, world: World, **options: Any) -> Evaluation:
    """Evaluate points that are given in metres."""
    return evaluate(real + CORNER, synthetic + CORNER, world, crs="EPSG:32633", **options)


def test_every_measure_of_a_file_with_itself_is_as_good_as_can_be() -> None:
    points = people(500)

    result = measure_all(Comparison(points, points, crossroads()))

    values = {name: value for name, value in result.values.items() if name != "copied"}
    assert not result.reasons
    assert values == pytest.approx({name: MEASURES[name].best for name in values}, abs=1e-9)
    assert result.values["copied"] == pytest.approx(1.0)


@pytest.mark.parametrize("world", [town(), crossroads()], ids=["no roads", "roads"])
@pytest.mark.parametrize(
    ("real", "synthetic"),
    [
        (people(50), NOBODY),
        (NOBODY, people(50)),
        (NOBODY, NOBODY),
        (people(1), people(1)),
        (people(1), people(1, seed=3)),
        (people(40) / 5, people(40) / 5 + 800),
        (people(40), people(40) + 1e7),
        (np.full((30, 2), 500.0), np.full((20, 2), 500.0)),
    ],
    ids=["no synthetic", "no real", "nobody", "the same one", "one each", "apart", "outside", "one spot"],
)
def test_every_measure_has_a_number_or_a_reason(real: Points, synthetic: Points, world: World) -> None:
    result = measure_all(Comparison(real, synthetic, world))

    assert set(result.values) | set(result.reasons) == {name for name, row in MEASURES.items() if row.always}
    assert not set(result.values) & set(result.reasons)
    assert all(math.isfinite(value) for value in result.values.values())


def test_a_world_without_roads_says_what_it_lacks() -> None:
    result = measured(people(20), people(20), town())

    lacking = {name for name, reason in result.reasons.items() if "needs roads in the world" in reason}
    assert lacking == {"medd", "off_road"}
    assert result.reasons["medd"] == "MEDD needs roads in the world"


def test_real_points_in_water_or_without_coordinates_are_left_out() -> None:
    world = town(water=shapely.box(0, 0, 100, 100))
    real = np.array([[50.0, 50.0], [500.0, 500.0], [np.nan, 3.0], [5000.0, 1.0]])

    result = measured(real, np.array([[500.0, 500.0], [50.0, 50.0], [np.inf, 0.0]]), world, measures=["nce_100"])

    assert (result.real_points, result.real_left_out) == (1, 3)
    assert (result.synthetic_points, result.synthetic_left_out) == (2, 1)
    assert result.values["nce_100"] == 1.0


def test_only_the_measures_asked_for_are_worked_out() -> None:
    assert list(measured(people(5), people(5), town(), measures=["total_count"]).values) == ["total_count"]
    sizes = ["nce_25", "nce_50", "nce_100", "nce_200", "nce_500"]
    assert list(measured(people(5), people(5), town(), measures=["nce"]).values) == sizes
    assert list(measured(people(5), people(5), town(), measures="total_count").values) == ["total_count"]
    with pytest.raises(InputError, match=r"There is no measure speed\. Choose from: nce, nce_shifted, medd, "):
        measured(people(5), people(5), town(), measures=["speed"])


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, again, other = (measured(people(300), people(300, seed=1), crossroads(), seed=seed) for seed in (1, 1, 2))

    assert one == again
    assert one.values != other.values


def test_the_json_has_the_banner_and_says_how_to_read_each_number() -> None:
    result = measured(people(50), people(40, seed=1), town())

    told = json.loads(result.to_json())

    assert told["banner"] == BANNER == "contains real points: do not share"
    assert told["real_points"] == 50
    assert told["measures"]["nce_100"]["value"] == result.values["nce_100"]
    assert set(told["measures"]["range_500"]) == {"value", "unit", "better", "best", "reading"}
    assert told["not_measured"]["medd"] == "MEDD needs roads in the world"


def test_a_result_can_travel_between_processes_without_the_points(tmp_path: Path) -> None:
    result = measured(people(5), people(5), town(), measures=["total_count"])

    copy = pickle.loads(pickle.dumps(result))

    assert copy == result
    with pytest.raises(InputError, match="Evaluate again"):
        copy.report(tmp_path / "report.html")


def test_files_and_frames_in_another_crs_are_compared_in_metres(tmp_path: Path) -> None:
    real, synthetic, world = people(300), people(300, seed=1), crossroads()
    to_degrees = pyproj.Transformer.from_crs("EPSG:32633", "EPSG:4326", always_xy=True)
    tables = []
    for xy in (real, synthetic):
        longitude, latitude = to_degrees.transform(*(xy + np.array(CORNER)).T)
        tables.append(pa.table({"lon": longitude, "lat": latitude}))
    path = tmp_path / "synthetic.parquet"
    pa.parquet.write_table(tables[1], path)

    result = evaluate(tables[0], path, world)

    assert result.values == pytest.approx(measured(real, synthetic, world).values, abs=1e-6)


def test_an_array_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"has the shape \(4, 3\)"):
        evaluate(people(5), np.zeros((4, 3)), town())


def test_arrays_are_longitude_and_latitude_unless_another_crs_is_named(world: World, people: Points) -> None:
    in_utm = np.column_stack(pyproj.Transformer.from_crs(4326, 32632, always_xy=True).transform(*people.T))

    degrees = evaluate(people, people, world, measures=["nce_100", "copied"])
    metres = evaluate(in_utm, in_utm, world, crs="EPSG:32632", measures=["nce_100", "copied"])

    assert degrees.real_points > 1000
    assert metres.values == pytest.approx(degrees.values, abs=1e-3)


def test_real_points_of_another_place_are_refused(world: World, people: Points) -> None:
    with pytest.raises(InputError, match="No point of the real points is on land in this world"):
        evaluate(people + 5, people, world)


def test_a_result_shows_a_short_table() -> None:
    result = measured(people(50), people(40, seed=1), town(), measures=["nce_25", "nce_500", "medd", "total_count"])

    first, *rows = repr(result).splitlines()

    assert first == "<Evaluation of 50 real and 40 synthetic points: contains real points: do not share>"
    assert [row.split()[0] for row in rows] == ["nce", "medd", "total_count"]
    assert f"25 m: {result.values['nce_25']:.3f}  500 m" in rows[0]
    assert rows[1].endswith("Not measured: MEDD needs roads in the world.")


def test_progress_is_told_before_each_measure_and_says_nothing_of_the_points() -> None:
    told: list[tuple[int, int, str]] = []

    measured(people(5), people(5), town(), measures=["total_count", "nce_25"], progress=lambda *now: told.append(now))

    assert told == [(0, 2, "Total"), (1, 2, "NCE")]


def test_every_measure_says_how_to_read_it() -> None:
    for measure in MEASURES.values():
        assert measure.better in {"lower", "higher", "nearer"}
        assert measure.reading.endswith(".")
        assert "{" not in measure.reading + measure.family_reading
