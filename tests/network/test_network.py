"""The clean network, and the nearest edge of a point."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pointveil.cells import nearest_segment
from pointveil.cells.segments import Segments
from pointveil.errors import InputError
from pointveil.network import Network, candidates
from pointveil.network import network as network_module
from pointveil.network.candidates import search_over
from pointveil.network.lines import places_along, segments_of
from pointveil.world import Layer, World

METRES = "EPSG:32633"
BOX = (0.0, 0.0, 1000.0, 800.0)
Lines = Sequence[Any]


def make(lines: Lines, attributes: dict[str, list[Any]] | None = None, **options: Any) -> Network:
    layer = Layer(np.array([shapely.from_wkt(line) for line in lines]), pa.table(attributes or {}), METRES)
    return Network.of(World.make(BOX, crs=METRES, roads=layer, **options))


def brute_force(segments: Segments, xy: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest segment by asking every one, the first of equals."""
    every = np.arange(len(segments))
    squared = np.array(
        [segments.squared_distances(np.full(len(every), x), np.full(len(every), y), every) for x, y in xy]
    )
    return squared.argmin(axis=1), np.sqrt(squared.min(axis=1))


def random_lines(rng: np.random.Generator, count: int, vertices: int = 6) -> NDArray[Any]:
    starts = rng.random((count, 1, 2)) * (1000, 800)
    return np.asarray(shapely.linestrings(starts + np.cumsum(rng.normal(0, 40, (count, vertices, 2)), axis=1)))


def test_nearest_edges_are_those_that_a_search_of_all_finds() -> None:
    rng = np.random.default_rng(1)
    segments = segments_of(random_lines(rng, 300))
    xy = rng.random((4000, 2)) * (1000, 800)

    found, distance = search_over(segments, BOX).nearest(xy)
    nearest, shortest = brute_force(segments, xy)

    assert (found == nearest).all()
    assert (distance == shortest).all()


@pytest.mark.parametrize("step", [0.0, 25.0])
def test_what_is_not_measured_is_found_all_the_same(step: float) -> None:
    """On a lattice, too, where many segments and edges are as near as others."""
    rng = np.random.default_rng(3)
    lines = random_lines(rng, 200)
    lines = shapely.set_precision(lines, step) if step else lines
    segments = segments_of(lines[shapely.length(lines) > 0])
    xy = np.concatenate([rng.random((4000, 2)) * (1200, 900) - 50, np.full((1, 2), np.nan)])
    xy = np.rint(xy / step) * step if step else xy
    search = search_over(segments, BOX)

    found = search.segment(xy)

    assert (found[:-1] == brute_force(segments, xy[:-1])[0]).all()
    assert found[-1] == -1
    assert (search.squares >= 0).mean() > 0.1  # of which nothing is measured


def test_however_large_the_table_of_squares_may_be_all_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    segments = segments_of(random_lines(rng, 400))
    xy = rng.random((4000, 2)) * (1100, 900) - 20
    nearest = brute_force(segments, xy)[0]

    for most in (2**24, 2**10, 1):
        monkeypatch.setattr(nearest_segment, "MOST_SQUARES", most)
        assert (search_over(segments, BOX).segment(xy) == nearest).all()


def test_distances_are_those_of_shapely() -> None:
    rng = np.random.default_rng(2)
    lines = random_lines(rng, 200, vertices=30)
    xy = rng.random((3000, 2)) * (1000, 800)

    found, distance = search_over(segments_of(lines), BOX).nearest(xy)
    by_tree = shapely.STRtree(lines).query_nearest(shapely.points(xy), all_matches=False, return_distance=True)[1]

    assert np.abs(distance - by_tree).max() < 1e-9
    assert (found >= 0).all()


@settings(max_examples=60)
@given(st.integers(1, 40), st.integers(0, 10**6))
@example(6, 798)  # outside the grid, where the tree's own sums do not find the equals
def test_points_on_a_coarse_lattice_with_many_ties_get_the_lowest_edge(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 9, (count, 2, 2)).astype(float) * 100
    ends[(ends[:, 0] == ends[:, 1]).all(axis=1), 1] += 50
    segments = segments_of(shapely.linestrings(ends))
    xy = rng.integers(0, 16, (500, 2)).astype(np.float64) * 50.0

    found, _ = search_over(segments, (0, 0, 1000, 800)).nearest(xy)

    assert (found == brute_force(segments, xy)[0]).all()


def test_at_a_junction_the_lowest_of_all_edges_there_is_nearest() -> None:
    star = ["LINESTRING(0.1 0.3, 333.3 444.4)", "LINESTRING(777.7 0.7, 333.3 444.4)", "LINESTRING(333.3 444.4, 3 700)"]
    network = make(star)
    beyond = np.array([[333.3, 444.4]])

    assert len(network) == 3
    assert network.nearest(beyond).edge[0] == 0
    assert network.nearest(beyond).offset[0] == 0


def test_foot_along_offset_and_side_describe_the_point() -> None:
    network = make(["LINESTRING(100 100, 300 100, 300 400)"])
    xy = np.array([[150.0, 130.0], [150.0, 80.0], [310.0, 200.0], [300.0, 250.0], [90.0, 100.0]])

    near = network.nearest(xy)

    assert near.edge.tolist() == [0] * 5
    assert near.foot.tolist() == [[150, 100], [150, 100], [300, 200], [300, 250], [100, 100]]
    assert near.along.tolist() == [50, 50, 300, 350, 0]
    assert near.offset.tolist() == [30, 20, 10, 0, 10]
    assert near.side[:4].tolist() == [1, -1, -1, 0]


def test_a_place_along_an_edge_is_found_again() -> None:
    rng = np.random.default_rng(3)
    segments = segments_of(random_lines(rng, 50))
    edge = rng.integers(0, 50, 2000)
    along = rng.random(2000) * segments.edge_lengths[edge]

    place, direction = places_along(segments, edge, along)

    lines = random_lines(np.random.default_rng(3), 50)
    expected = shapely.get_coordinates(shapely.line_interpolate_point(lines[edge], along))
    assert np.abs(place - expected).max() < 1e-9
    assert np.abs(np.hypot(*direction.T) - 1).max() < 1e-12


def test_points_outside_the_box_and_points_that_are_none_are_answered_too() -> None:
    network = make(["LINESTRING(100 100, 300 100)", "LINESTRING(500 700, 900 700)"])

    near = network.nearest(np.array([[100.0, -50.0], [2000.0, 700.0], [np.nan, 3.0], [np.inf, 3.0]]))

    assert near.edge.tolist() == [0, 1, -1, -1]
    assert near.offset[:2].tolist() == [150, 1100]


def test_no_points_are_no_trouble() -> None:
    assert len(make(["LINESTRING(100 100, 300 100)"]).nearest(np.empty((0, 2))).edge) == 0


def test_duplicates_and_reversed_twins_are_one_edge() -> None:
    there, back = "LINESTRING(0 10, 50 60, 100 10)", "LINESTRING(100 10, 50 60, 0 10)"

    network = make([there, back, there, "LINESTRING(100 10, 200 10)", "LINESTRING(100 10, 100 90)"])

    assert len(network) == 3
    assert network.edges.cleaning["merged_or_without_length"] == 2


def test_a_street_given_whole_and_in_pieces_is_there_once() -> None:
    pieces = ["LINESTRING(0 10, 100 10)", "LINESTRING(100 10, 200 10)"]

    network = make(["LINESTRING(200 10, 100 10, 0 10)", *pieces])

    assert network.lengths.sum() == 200


def test_of_twins_the_one_with_a_class_is_kept() -> None:
    line = "LINESTRING(0 10, 100 10)"

    network = make([line, line], {"highway": [None, "primary"]})

    assert network.edges.classes == ("primary",)


def test_lines_are_cut_where_their_vertices_meet_and_not_where_they_merely_cross() -> None:
    street, meeting = "LINESTRING(0 100, 100 100, 200 100)", "LINESTRING(100 0, 100 100)"
    bridge_above = "LINESTRING(50 0, 50 200)"

    network = make([street, meeting, bridge_above])

    assert len(network) == 4
    assert sorted(network.lengths) == [100, 100, 100, 200]


def test_streets_that_follow_each_other_are_joined_if_their_class_is_the_same() -> None:
    lines = ["LINESTRING(0 10, 100 10)", "LINESTRING(100 10, 200 10)", "LINESTRING(200 10, 300 10)"]

    network = make(lines, {"highway": ["primary", "primary", "residential"]})

    assert sorted(network.lengths) == [100, 200]


def test_loops_stay_whole_and_can_be_searched() -> None:
    network = make(["LINESTRING(100 100, 200 100, 200 200, 100 200, 100 100)"])

    near = network.nearest(np.array([[150.0, 90.0], [100.0, 100.0]]))

    assert len(network) == 1
    assert near.offset.tolist() == [10, 0]


def test_one_edge_is_a_network() -> None:
    network = make(["LINESTRING(100 100, 101 100)"])

    assert len(network) == 1
    assert network.nearest(np.array([[900.0, 700.0]])).edge.tolist() == [0]


def test_multilinestrings_and_heights_are_taken_apart() -> None:
    network = make(["MULTILINESTRING Z((0 0 5, 100 0 7), (0 50 1, 100 50 2))"])

    assert len(network) == 2
    assert not shapely.has_z(network.edges.lines).any()


def test_lines_of_no_length_are_dropped() -> None:
    network = make(["LINESTRING(5 5, 5 5)", "LINESTRING(7 7, 7.0001 7)", "LINESTRING(0 0, 100 0)"])

    assert len(network) == 1
    assert network.edges.cleaning == {"lines": 3, "outside": 0, "in_water": 0, "merged_or_without_length": 2}


def test_a_line_that_crosses_the_border_many_times_is_cut_to_its_parts_inside() -> None:
    zigzag = ", ".join(f"{x} {-50 if x % 20 else 50}" for x in range(0, 1000, 10))

    network = make([f"LINESTRING({zigzag})"])

    assert len(network) > 40
    assert shapely.covered_by(network.edges.lines, shapely.box(*BOX).buffer(0.002)).all()


def test_roads_in_water_are_removed_unless_they_are_bridges() -> None:
    river = shapely.box(400, 0, 500, 800)
    lines = ["LINESTRING(0 100, 1000 100)", "LINESTRING(0 300, 1000 300)", "LINESTRING(450 500, 450 600)"]

    network = make(lines, {"bridge": [None, "yes", "no"]}, out_of_bounds=river)

    assert sorted(network.lengths) == [400, 500, 1000]
    assert network.edges.bridge.sum() == 1
    assert network.edges.cleaning["in_water"] == 1


def test_a_network_all_in_water_is_refused() -> None:
    with pytest.raises(InputError, match="No road lies inside"):
        make(["LINESTRING(450 500, 450 600)"], out_of_bounds=shapely.box(400, 0, 500, 800))


def test_roads_outside_the_boundary_are_refused() -> None:
    with pytest.raises(InputError, match="no line inside the boundary"):
        make(["LINESTRING(2000 2000, 3000 3000)"])


def test_points_given_as_roads_are_refused() -> None:
    with pytest.raises(InputError, match="Point; it should contain only LineString"):
        World.make(BOX, crs=METRES, roads=shapely.points([[1, 2], [3, 4]]))


def test_a_world_without_roads_has_no_network() -> None:
    with pytest.raises(InputError, match="no roads"):
        Network.of(World.make(BOX, crs=METRES))


def test_a_network_in_feet_has_lengths_in_metres() -> None:
    roads = np.array([shapely.from_wkt("LINESTRING(980000 190000, 981000 190000)")])
    world = World.make((979000, 189000, 989000, 199000), crs="EPSG:2263", roads=roads)

    assert Network.of(world).lengths == pytest.approx([304.8006])


def test_classes_are_single_words_and_links_belong_to_their_road() -> None:
    names = ["primary_link", "['residential', 'tertiary']", "trunk|primary", "nan", None, "Primary"]
    lines = [f"LINESTRING(0 {row}, 100 {row})" for row in range(10, 70, 10)]

    network = make(lines, {"highway": names})

    assert network.edges.classes == ("primary", "residential", "road", "trunk")
    assert np.bincount(network.edges.road_class).tolist() == [2, 1, 2, 1]


def test_without_a_class_all_roads_are_alike() -> None:
    assert make(["LINESTRING(0 0, 100 0)"], {"surface": ["mud"]}).edges.classes == ("road",)


def test_a_column_of_many_values_does_not_make_many_classes() -> None:
    lines = [f"LINESTRING(0 {row}, {row} {row})" for row in range(10, 700, 10)]

    network = make(lines, {"class": [f"kind{row}" for row in range(len(lines))]})

    assert len(network.edges.classes) == 16
    assert "road" in network.edges.classes


def test_a_network_is_made_once_for_equal_worlds_and_forgotten_with_them() -> None:
    roads = np.array([shapely.from_wkt("LINESTRING(1 2, 300 4)")])
    world, same = (World.make(BOX, crs=METRES, roads=roads) for _ in range(2))
    before = len(network_module._NETWORKS)

    assert Network.of(world) is Network.of(same)
    assert len(network_module._NETWORKS) == before + 1

    del world, same
    gc.collect()
    assert len(network_module._NETWORKS) <= before


NETWORKS: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "a knot in a corner": lambda rng: rng.random((2000, 2, 2)) * 100,
    "two towns far apart": lambda rng: rng.random((2000, 2, 2)) * 200 + rng.integers(0, 2, (2000, 1, 1)) * 9000,
    "a star": lambda rng: np.stack([np.full((2000, 2), 5000.0), rng.random((2000, 2)) * 10_000], axis=1),
    "copies of one line": lambda _: np.tile([[[10.0, 10.0], [9000.0, 9000.0]]], (2000, 1, 1)),
    "one short line": lambda _: np.array([[[5000.0, 5000.0], [5000.0, 5000.5]]]),
}


@pytest.mark.parametrize("shape", NETWORKS)
def test_odd_networks_are_searched_exactly_in_little_memory(shape: str) -> None:
    rng = np.random.default_rng(4)
    segments = segments_of(shapely.linestrings(NETWORKS[shape](rng)))
    ends = segments.start[rng.integers(0, len(segments), 300)] + rng.normal(0, 30, (300, 2))
    xy = np.clip(np.concatenate([rng.random((300, 2)) * 10_000, ends]), 0, 9999)

    grid = search_over(segments, (0.0, 0.0, 10_000.0, 10_000.0))
    found, _ = grid.nearest(xy)

    assert (found == brute_force(segments, xy)[0]).all()
    assert grid.candidates.nbytes + grid.children.nbytes + grid.first.nbytes < 20_000_000


def test_points_far_from_all_roads_are_answered_exactly_by_cells_or_by_the_tree() -> None:
    rng = np.random.default_rng(5)
    town = rng.random((3000, 1, 2)) * 800
    segments = segments_of(shapely.linestrings(town + rng.normal(0, 20, (3000, 2, 2)) + (100, 5000)))
    xy = rng.random((2000, 2)) * 10_000

    grid = search_over(segments, (0.0, 0.0, 10_000.0, 10_000.0))
    found, distance = grid.nearest(xy)

    nearest, shortest = brute_force(segments, xy)
    assert (grid._search(xy) == -1).any()
    assert (found == nearest).all()
    assert (distance == shortest).all()


def test_far_cells_inside_the_grid_are_answered_exactly_whether_or_not_they_have_candidates() -> None:
    rng = np.random.default_rng(6)
    town, hamlet = rng.random((6000, 1, 2)) * 700, rng.random((20, 1, 2)) * 700 + 9000
    segments = segments_of(shapely.linestrings(np.concatenate([town, hamlet]) + rng.normal(0, 20, (6020, 2, 2))))
    xy = rng.random((2000, 2)) * 9000

    grid = search_over(segments, (0.0, 0.0, 10_000.0, 10_000.0))
    found, _ = grid.nearest(xy)

    has_candidates = grid._search(xy) >= 0
    nearest, shortest = brute_force(segments, xy)
    far = shortest > 1000
    assert (grid.grid.locate(xy) >= 0).all()
    assert (has_candidates & far).any()
    assert (~has_candidates).any()
    assert (found == nearest).all()


def test_however_the_work_is_cut_up_the_cells_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = segments_of(random_lines(np.random.default_rng(7), 400))

    whole = search_over(segments, BOX)
    monkeypatch.setattr(candidates, "PAIRS", 50)
    cut_up = search_over(segments, BOX)

    for name in ("children", "strides", "first", "candidates"):
        assert (getattr(whole, name) == getattr(cut_up, name)).all()


def test_most_cells_have_few_candidates() -> None:
    rng = np.random.default_rng(8)
    segments = segments_of(random_lines(rng, 2000, vertices=2))
    grid = search_over(segments, BOX)

    xy = rng.random((20_000, 2)) * (1000, 800)
    column, row = (grid._place(xy, axis).astype(int) for axis in (0, 1))
    said = grid.squares[row, column]
    counts = np.diff(grid.first)[-2 - said[said < -1]]

    assert (said >= 0).mean() > 0.3
    assert counts.mean() < 5


def test_public_facts_tell_length_and_classes() -> None:
    network = make(["LINESTRING(0 0, 1000 0)", "LINESTRING(0 500, 500 500)"], {"highway": ["primary", "service"]})

    facts = network.describe()

    assert facts["edges"] == 2
    assert facts["length_km"] == 1.5
    assert facts["class_km"] == {"primary": 1.0, "service": 0.5}
    assert facts["cleaning"]["lines"] == 2
