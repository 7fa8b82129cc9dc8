import numpy as np
import pytest
import shapely
from tests.evaluation.towns import crossroads, people, town

from pointveil.evaluation import Comparison, UnmeasuredError
from pointveil.evaluation.measures.mean_edge_distance_difference import mean_edge_distance_difference
from pointveil.evaluation.measures.totals import off_road_difference
from pointveil.world import World

STREET = [shapely.LineString([(0, 500), (1000, 500)]), shapely.LineString([(200, 0), (200, 500)])]


def test_each_point_gets_the_distance_to_the_nearest_of_all_roads() -> None:
    world = crossroads()
    assert world.roads is not None
    points = people(200)

    distances, of_nobody = Comparison(points, np.zeros((0, 2)), world).road_distances

    assert not len(of_nobody)
    slow = [min(line.distance(shapely.Point(point)) for line in world.roads.lines_m) for point in points]
    assert distances == pytest.approx(slow, abs=1e-9)


def test_many_points_get_the_distances_that_a_search_tree_finds(world: World) -> None:
    assert world.roads is not None
    points = np.random.default_rng(1).uniform(-500, 2000, (5000, 2))

    distances, _ = Comparison(points, points[:1], world).road_distances

    found, expected = shapely.STRtree(world.roads.lines_m).query_nearest(
        shapely.points(points), all_matches=False, return_distance=True
    )
    assert distances[found[0]] == pytest.approx(expected, abs=1e-9)


def test_the_difference_is_that_of_the_means() -> None:
    world, real, synthetic = town(roads=STREET), people(100), people(150, seed=1)

    value = mean_edge_distance_difference(Comparison(real, synthetic, world))

    means = [np.mean([min(line.distance(shapely.Point(p)) for line in STREET) for p in xy]) for xy in (real, synthetic)]
    assert value == pytest.approx(abs(means[0] - means[1]), abs=1e-6)


def test_the_share_off_the_road_is_larger_where_synthetic_points_stray() -> None:
    real, synthetic = np.array([[500.0, 500.0], [500.0, 560.0]]), np.array([[500.0, 560.0]])

    assert off_road_difference(Comparison(real, synthetic, town(roads=STREET))) == 0.5
    assert off_road_difference(Comparison(synthetic, real, town(roads=STREET))) == -0.5


def test_a_world_without_roads_is_named_as_the_reason() -> None:
    with pytest.raises(UnmeasuredError, match="MEDD needs roads in the world"):
        mean_edge_distance_difference(Comparison(people(3), people(3), town()))
