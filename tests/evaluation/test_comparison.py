import json
import math
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyproj
import pytest
import shapely
from numpy.typing import NDArray
from tests.evaluation.towns import CORNER, crossroads, people, town

from pointveil.errors import InputError
from pointveil.evaluation import BANNER, MEASURES, evaluate
from pointveil.world import World

Points = NDArray[np.float64]
NOBODY = np.zeros((0, 2))


def test_every_measure_of_a_file_with_itself_is_as_good_as_can_be() -> None:
    points = people(500)

    result = evaluate(points, points, crossroads())

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
    result = evaluate(real, synthetic, world)

    assert set(result.values) | set(result.reasons) == set(MEASURES)
    assert not set(result.values) & set(result.reasons)
    assert all(math.isfinite(value) for value in result.values.values())


def test_a_world_without_roads_says_what_it_lacks() -> None:
    result = evaluate(people(20), people(20), town())

    lacking = {name for name, reason in result.reasons.items() if "needs roads in the world" in reason}
    assert lacking == {name for name, measure in MEASURES.items() if measure.needs_roads}
    assert result.reasons["medd"] == "MEDD needs roads in the world"


def test_real_points_in_water_or_without_coordinates_are_left_out() -> None:
    world = town(water=shapely.box(0, 0, 100, 100))
    real = np.array([[50.0, 50.0], [500.0, 500.0], [np.nan, 3.0], [5000.0, 1.0]])

    result = evaluate(real, np.array([[500.0, 500.0], [50.0, 50.0], [np.inf, 0.0]]), world, measures=["nce_100"])

    assert (result.real_points, result.real_left_out) == (1, 3)
    assert (result.synthetic_points, result.synthetic_left_out) == (2, 1)
    assert result.values["nce_100"] == 1.0


def test_only_the_measures_asked_for_are_worked_out() -> None:
    assert list(evaluate(people(5), people(5), town(), measures=["total_count"]).values) == ["total_count"]
    with pytest.raises(InputError, match="there is no measure speed"):
        evaluate(people(5), people(5), town(), measures=["speed"])


def test_the_same_seed_gives_the_same_numbers() -> None:
    one, again, other = (evaluate(people(300), people(300, seed=1), crossroads(), seed=seed) for seed in (1, 1, 2))

    assert one == again
    assert one.values != other.values


def test_the_json_has_the_banner_and_says_how_to_read_each_number() -> None:
    result = evaluate(people(50), people(40, seed=1), town())

    told = json.loads(result.to_json())

    assert told["banner"] == BANNER == "contains real points: do not share"
    assert told["real_points"] == 50
    assert told["measures"]["nce_100"]["value"] == result.values["nce_100"]
    assert set(told["measures"]["range_500"]) == {"value", "unit", "better", "best", "reading"}
    assert told["not_measured"]["medd"] == "MEDD needs roads in the world"


def test_a_result_can_travel_between_processes() -> None:
    result = evaluate(people(5), people(5), town(), measures=["total_count"])

    assert pickle.loads(pickle.dumps(result)) == result


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

    assert result.values == pytest.approx(evaluate(real, synthetic, world).values, abs=1e-6)


def test_an_array_of_another_shape_is_refused() -> None:
    with pytest.raises(InputError, match="the synthetic points have the shape"):
        evaluate(people(5), np.zeros((4, 3)), town())


def test_every_measure_says_how_to_read_it() -> None:
    for measure in MEASURES.values():
        assert measure.better in {"lower", "higher", "nearer"}
        assert measure.reading.endswith(".")
