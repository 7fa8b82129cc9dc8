import numpy as np
import shapely
from tests.evaluation.towns import crossroads, people, town

from pointveil.evaluation import Comparison
from pointveil.evaluation.comparison import choose_centres, road_nodes
from pointveil.evaluation.measures.range_query_error import range_query_error

NOBODY = np.zeros((0, 2))


def test_counts_are_those_of_a_slow_loop_and_the_rim_belongs_to_the_circle() -> None:
    points, centres = people(500), people(20, seed=4)

    counts, none = Comparison(points, NOBODY, town()).counts_within(120.0, centres)

    slow = [sum(np.hypot(*(point - centre)) <= 120.0 for point in points) for centre in centres]
    assert counts.tolist() == slow
    assert none.tolist() == [0] * 20
    assert Comparison(np.array([[3.0, 4.0]]), NOBODY, town()).counts_within(5.0, np.zeros((1, 2)))[0].tolist() == [1]


def test_the_error_is_the_mean_over_the_centres_given() -> None:
    real, synthetic = np.array([[10.0, 10.0], [12.0, 10.0], [900.0, 900.0]]), np.array([[10.0, 10.0]])
    centres = np.array([[10.0, 10.0], [900.0, 900.0], [500.0, 500.0], [10.0, 11.0]])

    assert range_query_error(Comparison(real, synthetic, town()), radius=50.0, centres=centres) == 3 / 4


def test_roads_that_meet_share_a_node() -> None:
    roads = [shapely.LineString([(0, 0), (5, 5), (10, 0)]), shapely.MultiLineString([[(10, 0), (20, 0)]])]

    assert road_nodes(town(roads=roads)).tolist() == [[0, 0], [10, 0], [20, 0]]


def test_nodes_in_water_are_no_centres() -> None:
    roads = [shapely.LineString([(10, 10), (110, 10)])]

    assert road_nodes(town(roads=roads, water=shapely.box(100, 0, 200, 200))).tolist() == [[10, 10]]


def test_the_same_seed_asks_at_the_same_crossings_and_another_elsewhere() -> None:
    one, again, other = (choose_centres(crossroads(), seed) for seed in (1, 1, 2))

    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert len(np.unique(one, axis=0)) == 100


def test_without_roads_the_centres_are_on_land() -> None:
    world = town(water=shapely.box(0, 0, 900, 1000))

    centres = choose_centres(world, 0)

    assert len(centres) == 100
    assert world.on_land(centres).all()


def test_nobody_at_all_is_counted_as_nobody() -> None:
    assert range_query_error(Comparison(NOBODY, NOBODY, crossroads())) == 0.0
    assert range_query_error(Comparison(people(200), NOBODY, crossroads()), radius=5000.0) == 200.0
