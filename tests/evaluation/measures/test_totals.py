import numpy as np
import shapely
from tests.evaluation.towns import people, town

from pointveil.evaluation import Comparison
from pointveil.evaluation.measures.totals import off_land_share, total_count_error


def test_the_total_may_be_wrong_both_ways() -> None:
    assert total_count_error(Comparison(people(100), people(120), town())) == 0.2
    assert total_count_error(Comparison(people(100), people(90), town())) == 0.1
    assert total_count_error(Comparison(people(100), np.zeros((0, 2)), town())) == 1.0


def test_points_in_water_or_outside_are_off_land() -> None:
    synthetic = np.array([[50.0, 50.0], [500.0, 500.0], [2000.0, 50.0], [501.0, 500.0]])

    assert off_land_share(Comparison(people(1), synthetic, town(water=shapely.box(400, 400, 600, 600)))) == 0.75
