"""Dividing the world into road segments and far cells."""

import math
from fractions import Fraction

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.cells import EdgeOffsets, KindOffsets, NestedGrid, RoadBins
from pointveil.errors import InputError
from pointveil.network import Network, road_cells
from pointveil.partition import RoadSegments
from pointveil.partition.road_segments import believe, threshold
from pointveil.releases import survey
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, NoisyCounts, Share
from pointveil.world import World

METRES = "EPSG:32633"
COUNT = {"count": Share("count", Fraction(1, 2))}


@pytest.fixture(scope="module")
def town() -> World:
    """Two streets that meet, a park out of reach in the north, and a river in the east with a bridge."""
    lines = ["LINESTRING(0 100, 500 100)", "LINESTRING(500 100, 500 400)", "LINESTRING(500 100, 1000 100)"]
    roads = np.array([shapely.from_wkt(line) for line in lines])
    return World.make((0, 0, 1000, 1000), crs=METRES, roads=roads, out_of_bounds=shapely.box(900, 0, 1000, 1000))


def random_points(world: World, count: int = 5000) -> NDArray[np.float64]:
    xy = np.random.default_rng(5).random((count, 2)) * world.bounds[2:]
    return np.asarray(xy[world.on_land(xy)])


def test_every_point_is_in_exactly_one_cell(town: World) -> None:
    cells = road_cells(town, 25.0, 200.0)
    xy = random_points(town)

    found = cells.locate(xy)

    near = Network.of(town).nearest(xy)
    assert ((found >= 0) & (found < len(cells))).all()
    assert (found[near.offset <= 25] == near.edge[near.offset <= 25]).all()
    far = found[near.offset > 25] - len(Network.of(town))
    assert (far == cells.far.locate(xy[near.offset > 25])).all()


def test_a_point_out_of_reach_where_no_far_cell_is_open_belongs_to_its_edge(town: World) -> None:
    cells = road_cells(town, 25.0, 200.0)
    closed = type(cells)(cells.streets, cells.kind, 25.0, cells.far, np.zeros(len(cells.far), dtype=bool), cells.dry)

    park = np.array([[100.0, 900.0]])
    assert cells.locate(park)[0] >= len(cells.streets)
    assert closed.locate(park)[0] == cells.streets.nearest(park).edge[0]


def test_far_cells_in_water_or_within_reach_are_closed(town: World) -> None:
    cells = road_cells(town, 25.0, 40.0)

    middles = cells.far.lower_corners() + 20
    in_water = middles[:, 0] > 920
    on_street = (np.abs(middles[:, 1] - 100) < 4) & (middles[:, 0] < 480)
    in_park = (middles[:, 1] > 500) & (middles[:, 0] < 880)
    assert not cells.open_far[in_water].any()
    assert not cells.open_far[on_street].any()
    assert cells.open_far[in_park].all()


def test_bridges_over_water_can_have_people() -> None:
    import pyarrow as pa

    from pointveil.world import Layer

    lines = np.array([shapely.from_wkt(f"LINESTRING(0 {y}, 1000 {y})") for y in (100, 300)])
    long_bridge = shapely.from_wkt("LINESTRING(910 500, 990 500)")
    roads = Layer(np.append(lines, long_bridge), pa.table({"bridge": ["no", "yes", "yes"]}), METRES)
    world = World.make((0, 0, 1000, 1000), crs=METRES, roads=roads, out_of_bounds=shapely.box(900, 0, 1000, 1000))

    cells = road_cells(world, 25.0, 200.0)

    assert cells.dry[cells.streets.lengths == 80].tolist() == [True]
    assert cells.dry.sum() == 3


def test_parts_of_edges_and_of_far_cells_hold_each_point_once(town: World) -> None:
    cells = road_cells(town, 25.0, 200.0)
    bins = RoadBins(cells, np.array([5, 0, 7]), NestedGrid(cells.far, np.full(len(cells.far), 3)))
    xy = random_points(town)

    found, whole = bins.locate(xy), cells.locate(xy)

    left_out = whole == 1
    assert (found[left_out] == -1).all()
    assert (bins.owner[found[~left_out]] == whole[~left_out]).all()
    assert len(bins) == 12 + 9 * len(cells.far)
    first_street = whole == 0
    assert (found[first_street] == np.minimum(Network.of(town).nearest(xy[first_street]).along // 100, 4)).all()


def test_offsets_are_counted_by_class_and_far_points_by_themselves(town: World) -> None:
    bins = KindOffsets(road_cells(town, 25.0, 200.0))
    xy = np.array([[50.0, 100.0], [50.0, 100.05], [50.0, 104.5], [50.0, 124.9], [50.0, 128.0], [50.0, 900.0]])

    found = bins.locate(xy)

    assert bins.borders[[0, -1]].tolist() == [0, 25]
    assert found[:2].tolist() == [0, 0]
    assert bins.borders[found[2]] <= 4.5 < bins.borders[found[2] + 1]
    assert found[3:].tolist() == [bins.bins - 1, bins.bins, len(bins) - 1]
    assert bins.beyond[[0, -1]].tolist() == [25, 500]


def test_rare_classes_of_road_are_one_kind() -> None:
    import pyarrow as pa

    from pointveil.world import Layer

    lengths = {"primary": 400, "service": 20, "residential": 900, "trunk": 30}
    lines = [shapely.LineString([(0, 100 * row), (length, 100 * row)]) for row, length in enumerate(lengths.values())]
    roads = Layer(np.array(lines), pa.table({"highway": list(lengths)}), METRES)
    world = World.make((0, 0, 1000, 1000), crs=METRES, roads=roads)

    offsets = KindOffsets(road_cells(world, 25.0, 200.0))

    names = np.array(Network.of(world).edges.classes)[Network.of(world).edges.road_class]
    assert offsets.kinds == 3
    assert dict(zip(names, offsets.cells.kind.tolist(), strict=True)) == {
        "primary": 0,
        "residential": 1,
        "service": 2,
        "trunk": 2,
    }


def test_offsets_of_an_edge_are_counted_in_its_own_bins_up_to_the_reach(town: World) -> None:
    cells = road_cells(town, 25.0, 200.0)
    first, north, east = cells.locate(np.array([[50.0, 100.0], [500.0, 300.0], [700.0, 100.0]]))
    wide = np.zeros(3, dtype=np.int64)
    wide[[first, north, east]] = 2, 0, 3
    bins = EdgeOffsets(cells, wide)
    xy = np.array(
        [[50.0, 100.05], [50.0, 110.0], [50.0, 120.0], [500.0, 300.0], [700.0, 100.0], [700.0, 124.9], [50, 900]]
    )

    found = bins.locate(xy)

    assert len(bins) == 3 + 0 + 4 + 1
    assert (found[:3] - bins.first[first]).tolist() == [0, 1, 2]
    assert (found[4:6] - bins.first[east]).tolist() == [0, 3]
    assert found[[3, 6]].tolist() == [7, 7]
    assert bins.borders(first).tolist() == pytest.approx([0, 0.1, 12.55, 25])
    assert bins.borders(north).tolist() == [0, 0.1]


def test_every_point_has_one_bin_of_offsets_and_its_borders_hold_it(town: World) -> None:
    cells = road_cells(town, 25.0, 200.0)
    bins = EdgeOffsets(cells, np.array([7, 1, 4]))
    xy = random_points(town)

    found, (cell, near) = bins.locate(xy), cells.find(xy)

    far = cell >= len(cells.streets)
    assert far.any()
    assert (found[far] == len(bins) - 1).all()
    lower = np.concatenate([bins.borders(edge)[:-1] for edge in range(3)])
    upper = np.concatenate([bins.borders(edge)[1:] for edge in range(3)])
    inside = found[~far]
    assert (np.searchsorted(bins.first, inside, side="right") - 1 == cell[~far]).all()
    assert (lower[inside] <= near.offset[~far] + 1e-9).all()
    assert (near.offset[~far] <= upper[inside] + 1e-9).all()


def test_the_threshold_is_the_papers() -> None:
    def noisy(epsilon: Fraction, points: int = 1) -> NoisyCounts:
        return NoisyCounts(np.zeros(1, dtype=np.int64), "count", epsilon, points)

    assert threshold(noisy(Fraction(1, 3)), 0.9) == pytest.approx(-math.log(0.2) * 3)
    assert threshold(noisy(Fraction(1, 100)), 0.9) == 10
    assert threshold(noisy(Fraction(1, 100), 8), 0.9) == 80
    assert threshold(noisy(Fraction(1)), 0.5) == pytest.approx(0)


def test_small_counts_are_dropped_and_the_noisy_total_is_kept() -> None:
    counts = believe(np.array([100.0, 3.0, -5.0, 50.0, 2.0]), 4.0)

    assert counts.tolist() == [100.0, 0.0, 0.0, 50.0, 0.0]
    assert counts.sum() == 150.0


def test_if_all_counts_are_small_the_largest_share_the_total() -> None:
    assert believe(np.array([3.0, -1.0, 2.0]), 4.0).tolist() == [2.5, 0.0, 1.5]
    assert believe(np.array([3.0, -9.0, 2.0]), 4.0).tolist() == [0.0, 0.0, 0.0]


def test_one_question_counts_edges_and_far_cells(town: World) -> None:
    vault = ScriptedVault(town, everywhere=10)

    counted = RoadSegments().divide(vault, town, COUNT)

    assert [share.purpose for share in vault.asked] == ["count"]
    assert counted.total == 10 * counted.cells.habitable.sum()


def test_noise_in_far_cells_does_not_take_people_from_the_roads(town: World) -> None:
    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        del share
        noise = np.where(np.arange(len(cells)) % 2, 9, -9)
        return np.where(np.arange(len(cells)) < len(Network.of(town)), 1000, noise)

    counted = RoadSegments().divide(ScriptedVault(town, script=script), town, COUNT)

    assert counted.counts[: len(Network.of(town))].tolist() == [1000, 1000, 1000]


def test_a_world_without_roads_is_refused_before_anything_is_spent(plain_world: World) -> None:
    vault = ScriptedVault(plain_world)

    with pytest.raises(InputError, match="needs roads"):
        survey(vault, "road")  # type: ignore[arg-type]

    assert not vault.asked


@pytest.mark.parametrize("options", [{"reach": 0.5}, {"reach": math.inf}, {"far_side": -1}, {"noise_quantile": 1}])
def test_parameters_without_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        RoadSegments(**options)
