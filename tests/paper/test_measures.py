"""The paper's equations for utility, range, hotspot and facility queries, each with a number worked by hand."""

import numpy as np
import pytest
import shapely
from tests.evaluation.towns import town

from pointveil.evaluation import Comparison
from pointveil.evaluation.facilities import Customers, least_distance, most_influential
from pointveil.evaluation.measures.cell_error import normalized_cell_error
from pointveil.evaluation.measures.facility_agreement import least_distance_agreement, most_influential_agreement
from pointveil.evaluation.measures.hotspot_agreement import density, dice, find_hotspots, hotspot_agreement
from pointveil.evaluation.measures.mean_edge_distance_difference import mean_edge_distance_difference
from pointveil.evaluation.measures.range_query_error import range_query_error


def at(*places: tuple[float, float]) -> np.ndarray:
    return np.array(places, dtype=np.float64)


def test_nce_is_the_sum_of_differences_over_the_number_of_real_points() -> None:
    # Cells of 100 m, real 3, 1, 0 and synthetic 1, 1, 2: (2 + 0 + 2) / 4 = 1.
    real = at((10, 10), (20, 20), (99, 99), (150, 50))
    synthetic = at((50, 50), (199, 0), (250, 950), (299.9, 900))

    assert normalized_cell_error(Comparison(real, synthetic, town())) == 1.0


def test_nce_is_normalized_by_the_real_total_and_not_by_the_synthetic_one() -> None:
    # Real 2, synthetic 5, all in one cell: 3 / 2.
    assert normalized_cell_error(Comparison(np.full((2, 2), 5.0), np.full((5, 2), 5.0), town())) == 1.5


def test_medd_is_the_difference_of_mean_distances_to_the_nearest_edge() -> None:
    # Edges y = 100 and x = 500 (up to y = 50). Real: 3 m and 5 m, mean 4. Synthetic: 10, 0 and 20 m, mean 10.
    edges = [shapely.LineString([(0, 100), (1000, 100)]), shapely.LineString([(500, 0), (500, 50)])]
    real = at((50, 103), (505, 20))
    synthetic = at((50, 110), (700, 100), (480, 30))

    assert mean_edge_distance_difference(Comparison(real, synthetic, town(roads=edges))) == pytest.approx(6.0, abs=1e-6)


def test_medd_beyond_the_end_of_an_edge_is_the_distance_to_its_end() -> None:
    # The edge ends at (100, 100); (103, 104) is 5 m away from there, and (50, 100) lies on it.
    edge = [shapely.LineString([(0, 100), (100, 100)])]

    value = mean_edge_distance_difference(Comparison(at((103, 104)), at((50, 100)), town(roads=edge)))

    assert value == pytest.approx(5.0, abs=1e-6)


def test_range_mae_is_the_mean_over_locations_of_the_difference_of_counts() -> None:
    # Within 50 m of the first location 2 and 1, of the second 0 and 3: (1 + 3) / 2 = 2.
    locations = at((100, 100), (800, 800))
    real = at((100, 100), (130, 140), (500, 500))
    synthetic = at((100, 60), (800, 801), (790, 800), (800, 850))

    assert range_query_error(Comparison(real, synthetic, town()), radius=50.0, centres=locations) == 2.0


def test_the_kernel_is_gaussian() -> None:
    # One point in the cell (8, 8) of 16 × 16. A kernel one cell wide falls by exp(−1/2) a cell away, by exp(−2) two.
    grid = density(at((510, 510)), town(), granularity=16, bandwidth=np.array([62.5, 62.5]))

    assert grid[8, 9] / grid[8, 8] == pytest.approx(np.exp(-0.5))
    assert grid[8, 10] / grid[8, 8] == pytest.approx(np.exp(-2.0))
    assert grid[9, 9] / grid[8, 8] == pytest.approx(np.exp(-1.0))


def test_hotspots_are_the_cells_above_the_95th_percentile() -> None:
    # 100 cells hold 1 … 100: the percentile lies at 95.05, between 95 and 96, so five cells are hotspots.
    assert np.flatnonzero(find_hotspots(np.arange(1.0, 101.0).reshape(10, 10))).tolist() == [95, 96, 97, 98, 99]


def test_sdc_is_twice_the_common_part_over_the_sum_of_sizes() -> None:
    # {1, 2, 3} and {2, 3, 4, 5}: 2 · 2 / (3 + 4) = 4/7.
    one = np.array([False, True, True, True, False, False])
    other = np.array([False, False, True, True, True, True])

    assert dice(one, other) == pytest.approx(4 / 7)


def test_hotspot_sdc_counts_the_common_hotspots() -> None:
    # A hair-thin kernel leaves the counts as they are. 10 × 10 cells, so five hotspots if five cells are busy:
    # cells 0 … 4 of the bottom row are, then 2 … 6; the cells 2, 3 and 4 are common: 2 · 3 / (5 + 5) = 0.6.
    real = at(*((100.0 * cell + 50, 50.0) for cell in range(5)))
    synthetic = at(*((100.0 * cell + 50, 50.0) for cell in range(2, 7)))

    assert hotspot_agreement(Comparison(real, synthetic, town()), granularity=10, bandwidth=1.0) == pytest.approx(0.6)


CANDIDATES = at((0, 0), (100, 0), (200, 0), (300, 0))
REAL = at((0, 0), (10, 0), (100, 10), (190, 0), (200, 0), (200, 10))
SYNTHETIC = at((0, 10), (20, 0), (290, 0), (300, 0), (300, 10))


def customers(xy: np.ndarray, candidates: np.ndarray = CANDIDATES, existing: np.ndarray | None = None) -> Customers:
    return Customers.of(xy, np.ones(len(xy)), candidates, existing)


def test_max_inf_chooses_the_candidates_that_attract_most_customers() -> None:
    # Within 30 m the candidates attract 2, 1, 3 and 0 real customers, and 2, 0, 0 and 3 synthetic ones.
    for solver in ("exact", "greedy"):
        assert most_influential(customers(REAL), choose=2, reach=30.0, solver=solver).tolist() == [0, 2]
        assert most_influential(customers(SYNTHETIC), choose=2, reach=30.0, solver=solver).tolist() == [0, 3]


def test_a_customer_counts_once_however_many_facilities_attract_them() -> None:
    # The first two stand together and attract the same three customers; the third attracts one other.
    candidates = at((0, 0), (1, 0), (500, 0))
    people = customers(at((0, 1), (0, 2), (0, 3), (500, 1)), candidates)

    for solver in ("exact", "greedy"):
        chosen = most_influential(people, choose=2, reach=30.0, solver=solver).tolist()
        assert chosen in ([0, 2], [1, 2])


def test_customers_stay_with_an_existing_facility_unless_a_new_one_is_nearer() -> None:
    # A facility that stands where the third candidate would open keeps its three customers.
    chosen = most_influential(customers(REAL, existing=at((200, 0))), choose=2, reach=30.0)

    assert chosen.tolist() == [0, 1]


def test_min_dist_chooses_the_candidates_with_the_least_total_distance() -> None:
    # One facility, real: from (100, 0) it is 100 + 90 + 10 + 90 + 100 + √10100 ≈ 490.5 in all; from (0, 0) it is
    # 0 + 10 + √10100 + 190 + 200 + √40100 ≈ 700.7; from (200, 0) 200 + 190 + √10100 + 10 + 0 + 10 ≈ 510.5.
    # Two: with (0, 0) and (200, 0) only the third is far: 0 + 10 + √10100 + 10 + 0 + 10 ≈ 130.5.
    for solver in ("swaps", "greedy"):
        assert least_distance(customers(REAL), choose=1, solver=solver).tolist() == [1]
    assert least_distance(customers(REAL), choose=2).tolist() == [0, 2]
    assert least_distance(customers(REAL, existing=at((0, 0))), choose=1).tolist() == [2]


def test_facility_sdc_is_the_share_of_facilities_in_common() -> None:
    # {0, 2} from real and {0, 3} from synthetic customers, both ways of asking: 2 · 1 / (2 + 2) = 0.5.
    compared = Comparison(REAL, SYNTHETIC, town())

    assert most_influential_agreement(compared, reach=30.0, choose=2, candidates=CANDIDATES) == 0.5
    assert least_distance_agreement(compared, choose=2, candidates=CANDIDATES) == 0.5
