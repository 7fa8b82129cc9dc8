"""Placing points along roads."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.as_published import rehearse
from pointveil.errors import InputError
from pointveil.evaluation.cell_error import shifted_cell_error
from pointveil.geography import Network, World
from pointveil.methods import METHODS, Method
from pointveil.partition import RoadSegments
from pointveil.placement import AlongRoads
from pointveil.placement.along_roads import offset_laws
from pointveil.synthesis import draw, survey, synthesize
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, NoisyCounts, Share, Vault

METRES = "EPSG:32633"
CITIES = {
    "beijing": (116.330, 39.862, 116.450, 39.954),
    "porto": (-8.635, 41.123, -8.576, 41.168),
    "manhattan": (-74.0185, 40.7008, -73.9127, 40.877),
}


@pytest.fixture(scope="module")
def town() -> World:
    """Streets every 200 m, and a lake."""
    lines = [shapely.from_wkt(f"LINESTRING({x} 0, {x} 1000)") for x in range(100, 1000, 200)]
    lines += [shapely.from_wkt(f"LINESTRING(0 {y}, 1000 {y})") for y in range(100, 1000, 200)]
    streets = shapely.get_parts(shapely.union_all(lines))
    return World.make((0, 0, 1000, 1000), crs=METRES, roads=streets, out_of_bounds=shapely.box(600, 600, 690, 690))


def synthetic(world: World, xy: NDArray[np.float64], epsilon: object = 1, seed: int = 0) -> NDArray[np.float64]:
    table = pa.table({"x": xy[:, 0], "y": xy[:, 1]})
    vault = Vault.rehearse(table, world, epsilon=epsilon, seed=seed, crs=METRES)
    points = synthesize(vault, "road", seed=seed)
    return world.projection.to_metres(points.coordinates)


def beside_streets(world: World, count: int, spread: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(8)
    network = Network.of(world)
    edge = rng.integers(0, len(network), count)
    place, direction = network.segments.places(edge, rng.random(count) * network.lengths[edge])
    normal = np.column_stack([-direction[:, 1], direction[:, 0]])
    xy = place + normal * rng.normal(0, spread, (count, 1))
    return np.asarray(xy[world.on_land(xy)])


def test_points_follow_the_streets_as_closely_as_the_real_ones(town: World) -> None:
    real = beside_streets(town, 20_000, spread=5)

    drawn = synthetic(town, real)

    distances = Network.of(town).distances
    assert abs(distances(drawn).mean() - distances(real).mean()) < 0.3
    assert town.on_land(drawn).all()


def test_where_streets_are_close_together_points_keep_the_distances_of_the_real_ones() -> None:
    close = [shapely.LineString([(x, 0), (x, 1000)]) for x in range(10, 400, 15)]
    sparse = [shapely.LineString([(x, 0), (x, 1000)]) for x in range(500, 1000, 100)]
    world = World.make((0, 0, 1000, 1000), crs=METRES, roads=np.array([*close, *sparse]))
    real = np.random.default_rng(2).uniform((0, 0), (1000, 1000), (40_000, 2))
    real = real[Network.of(world).distances(real) < 24]

    drawn = synthetic(world, real)

    # An offset of 20 m fits beside a lonely street only: drawn for all streets alike, most would be lost.
    distances = Network.of(world).distances
    assert abs(distances(drawn).mean() - distances(real).mean()) < 0.3


def test_people_around_the_end_of_a_street_are_not_squeezed_beside_it() -> None:
    stub = shapely.LineString([(500, 500), (503, 500)])
    world = World.make((0, 0, 1000, 1000), crs=METRES, roads=np.array([stub]))
    rng = np.random.default_rng(2)
    angle, away = rng.uniform(0, 2 * np.pi, 5000), rng.uniform(5, 20, 5000)
    real = np.column_stack([501.5 + away * np.cos(angle), 500 + away * np.sin(angle)])

    drawn = synthetic(world, real)

    beyond = np.abs(drawn[:, 0] - 501.5) > 3
    assert beyond.mean() > 0.6


def test_people_on_one_part_of_a_street_stay_there(town: World) -> None:
    real = np.column_stack([np.random.default_rng(1).uniform(410, 430, 5000), np.full(5000, 502.0)])

    drawn = synthetic(town, real)

    near = (np.abs(drawn - (420, 502)) < 30).all(axis=1)
    assert near.mean() > 0.9


def test_matched_points_stay_on_the_road(town: World) -> None:
    real = beside_streets(town, 20_000, spread=0)

    drawn = synthetic(town, real)

    # Coordinates are rounded to a centimetre; a few points come from the noise of far cells.
    assert (Network.of(town).distances(drawn) < 0.011).mean() > 0.98


def test_people_in_a_park_are_neither_lost_nor_moved_to_the_street(town: World) -> None:
    rng = np.random.default_rng(3)
    park = rng.uniform((230, 230), (270, 270), (3000, 2))

    drawn = synthetic(town, np.concatenate([park, beside_streets(town, 3000, 3)]))

    in_park = (np.abs(drawn - 250) < 35).all(axis=1)
    assert 2500 < in_park.sum() < 3300


def test_the_lake_stays_empty(town: World) -> None:
    shore = np.random.default_rng(4).uniform((580, 580), (710, 710), (4000, 2))

    drawn = synthetic(town, shore)

    assert len(drawn) > 1000
    assert not ((drawn > 600) & (drawn < 690)).all(axis=1).any()


def test_both_sides_of_a_street_are_used(town: World) -> None:
    drawn = synthetic(town, beside_streets(town, 10_000, spread=5))

    side = Network.of(town).nearest(drawn).side
    assert 0.4 < (side > 0).mean() < 0.6


def test_busy_and_empty_edges_are_asked_about_in_the_same_way(town: World) -> None:
    sizes: list[tuple[str, int]] = []

    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        sizes.append((share.purpose, len(cells)))
        return np.full(len(cells), 100)

    survey(ScriptedVault(town, script=script), "road")  # type: ignore[arg-type]

    edges = len(Network.of(town))
    assert [purpose for purpose, _ in sizes] == ["count", "along", "offset"]
    # Ten parts for each edge with a noisy 100, whoever is really there; four for each far cell.
    assert sizes[1][1] >= 10 * edges


def test_offsets_come_from_the_law_of_their_class() -> None:
    noisy = NoisyCounts(np.array([10_000, 0, 0, 0, 0, 10_000]), "offset", Fraction(1))

    laws = offset_laws(noisy, np.ones(3))

    assert laws[0, 0] > 0.99
    assert laws[1, 2] > 0.99
    assert laws.sum(axis=1) == pytest.approx([1, 1])


def test_a_class_with_nobody_borrows_the_law_of_all() -> None:
    noisy = NoisyCounts(np.array([5000, 1, -1, 1, -2, 1]), "offset", Fraction(1))

    laws = offset_laws(noisy, np.ones(3))

    assert laws[1].tolist() == pytest.approx([1, 0, 0])


def test_if_nothing_stands_out_of_the_noise_every_offset_is_as_likely() -> None:
    laws = offset_laws(NoisyCounts(np.array([-3, 2, 0]), "offset", Fraction(1, 100)), np.array([1.0, 2.0, 7.0]))

    assert laws[0].tolist() == pytest.approx([0.1, 0.2, 0.7])


def test_points_per_person_make_more_noise_and_no_more_cells(town: World) -> None:
    one, eight = (ScriptedVault(town, everywhere=50, points_per_unit=points) for points in (1, 8))

    surveys = [survey(vault, "road") for vault in (one, eight)]  # type: ignore[arg-type]

    finer, coarser = (len(found.answers[1].values) for found in surveys)  # type: ignore[union-attr]
    assert finer > coarser


def test_other_partitioners_are_refused(town: World) -> None:
    from pointveil.partition import UniformGrid

    method = Method(UniformGrid(), AlongRoads(), {"count": "1/2", "along": "1/4", "offset": "1/4"})

    with pytest.raises(InputError, match="divides the world into"):
        survey(ScriptedVault(town), method)  # type: ignore[arg-type]


def test_a_thousand_points_or_a_single_one_can_be_drawn_from_any_survey(town: World) -> None:
    found = survey(ScriptedVault(town, everywhere=3), METHODS["road"])  # type: ignore[arg-type]

    for count in (1, 1000):
        points = draw(found, count=count, seed=1)
        assert len(points) == count


def test_the_papers_split_and_reach_are_options(town: World) -> None:
    third = Fraction(1, 3)
    paper = Method(RoadSegments(reach=50.0), AlongRoads(), dict.fromkeys(("count", "along", "offset"), third))

    drawn = synthesize(ScriptedVault(town, everywhere=20), paper, seed=1)  # type: ignore[arg-type]

    assert len(drawn) > 100


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("city", CITIES)
def test_road_is_no_worse_than_road_as_published_on_real_cities(city: str, data_folder: Path) -> None:
    folder = data_folder / city
    water = folder / "water.geojson" if (folder / "water.geojson").exists() else None
    world = World.make(CITIES[city], roads=folder / "roads.parquet", out_of_bounds=water)
    errors = {}

    for name in ("road", "road-as-published"):
        vault = Vault.rehearse(folder / "points.parquet", world, epsilon=1, seed=1)
        points = synthesize(vault, name, seed=1) if name in METHODS else rehearse(vault, name, 1)
        real, drawn = vault.exact_points(), world.projection.to_metres(points.coordinates)
        distances = Network.of(world).distances
        errors[name] = (
            shifted_cell_error(real, drawn, world, shifts=5),
            abs(distances(real).mean() - distances(drawn).mean()),
        )

    assert errors["road"][0] < 0.8 * errors["road-as-published"][0]
    assert errors["road"][1] < errors["road-as-published"][1]
