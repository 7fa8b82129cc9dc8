"""Placing points along roads."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely
from numpy.typing import NDArray

from pointveil.cells.street_offsets import offset_borders
from pointveil.errors import InputError
from pointveil.estimate.offset_laws import OffsetLaws
from pointveil.evaluation import MEASURES, Comparison
from pointveil.lab.as_published import rehearse
from pointveil.methods import METHODS, Method
from pointveil.network import Network, open_parts, places_along
from pointveil.partition import RoadCounts, RoadSegments
from pointveil.placement import AlongRoads, along_roads
from pointveil.placement.along_roads import far_total
from pointveil.placement.far_places import FarPlaces
from pointveil.releases import draw, survey, synthesize
from pointveil.surveys import Survey
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, NoisyCounts, Share, Vault
from pointveil.world import World

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


THIRDS = dict.fromkeys(("count", "along", "offset"), Fraction(1, 3))
PAPER = Method(RoadSegments(), AlongRoads(offsets="edge"), THIRDS)
VARIANTS = {"class": METHODS["road"], "edge": PAPER}
each_variant = pytest.mark.parametrize("variant", VARIANTS)


def rehearsed(world: World, xy: NDArray[np.float64], epsilon: object = 1, seed: int = 0) -> Vault:
    return Vault.rehearse(pa.table({"x": xy[:, 0], "y": xy[:, 1]}), world, epsilon=epsilon, seed=seed, crs=METRES)


def synthetic(
    world: World, xy: NDArray[np.float64], epsilon: object = 1, seed: int = 0, method: Method | str = "road"
) -> NDArray[np.float64]:
    points = synthesize(rehearsed(world, xy, epsilon, seed), method, seed=seed)
    return world.projection.to_metres(points.coordinates)


def beside_streets(world: World, count: int, spread: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(8)
    network = Network.of(world)
    edge = rng.integers(0, len(network), count)
    place, direction = places_along(network.streets.segments, edge, rng.random(count) * network.lengths[edge])
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


@pytest.mark.parametrize("many", [0, 10**9])
def test_people_around_the_end_of_a_street_are_not_squeezed_beside_it(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(along_roads, "MANY", many)
    stub = shapely.LineString([(500, 500), (503, 500)])
    world = World.make((0, 0, 1000, 1000), crs=METRES, roads=np.array([stub]))
    rng = np.random.default_rng(2)
    angle, away = rng.uniform(0, 2 * np.pi, 5000), rng.uniform(5, 20, 5000)
    real = np.column_stack([501.5 + away * np.cos(angle), 500 + away * np.sin(angle)])

    drawn = synthetic(world, real)

    beyond, really = (np.abs(xy[:, 0] - 501.5) > 3 for xy in (drawn, real))
    assert beyond.mean() == pytest.approx(really.mean(), abs=0.03)


def test_people_on_one_part_of_a_street_stay_there(town: World) -> None:
    real = np.column_stack([np.random.default_rng(1).uniform(410, 430, 5000), np.full(5000, 502.0)])

    drawn = synthetic(town, real)

    near = (np.abs(drawn - (420, 502)) < 30).all(axis=1)
    assert near.mean() > 0.9


@each_variant
def test_matched_points_stay_on_the_road(variant: str, town: World) -> None:
    real = beside_streets(town, 20_000, spread=0)

    drawn = synthetic(town, real, method=VARIANTS[variant])

    # Coordinates are rounded to a centimetre; a few points come from the noise of far cells, and of single edges.
    assert (Network.of(town).distances(drawn) < 0.011).mean() > {"class": 0.98, "edge": 0.95}[variant]


def test_people_in_a_park_are_neither_lost_nor_moved_to_the_street(town: World) -> None:
    rng = np.random.default_rng(3)
    park = rng.uniform((230, 230), (270, 270), (3000, 2))

    drawn = synthetic(town, np.concatenate([park, beside_streets(town, 3000, 3)]))

    in_park = (np.abs(drawn - 250) < 35).all(axis=1)
    assert 2500 < in_park.sum() < 3300


def test_people_out_of_reach_keep_their_distance_from_the_streets(town: World) -> None:
    rng = np.random.default_rng(3)
    real = rng.uniform((0, 0), (1000, 1000), (60_000, 2))
    distance = Network.of(town).distances(real)
    just_out = real[(distance > 25) & (distance < 32) & town.on_land(real)][:1500]
    found = survey(rehearsed(town, np.concatenate([just_out, beside_streets(town, 3000, 3)]), 2), "road")
    road_counts, answers, *_ = found.prepared
    assert isinstance(road_counts, RoadCounts)

    def mean_distance(laws: OffsetLaws) -> float:
        far = FarPlaces.of(town, answers.bins, answers.counts[answers.bins.first[-1] :], laws.far)
        drawn = AlongRoads().draw(town, road_counts, replace(answers, far=far), 5000, np.random.default_rng(1))
        away = Network.of(town).distances(drawn)
        return float(away[away > 25].mean())

    # Even placement in parts of cells is what it would be without asking.
    assert mean_distance(answers.laws) == pytest.approx(28.5, abs=3)
    assert mean_distance(replace(answers.laws, far=None)) > 35


def test_points_are_the_same_in_law_however_many_are_placed_at_a_time(
    town: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = np.random.default_rng(3).uniform((220, 220), (280, 280), (8000, 2))
    found = survey(rehearsed(town, np.concatenate([real, beside_streets(town, 8000, 12)])), "road")

    whole = town.projection.to_metres(draw(found, seed=1).coordinates)
    monkeypatch.setattr(along_roads, "AT_ONCE", 500)
    in_steps = town.projection.to_metres(draw(found, seed=1).coordinates)

    distances = Network.of(town).distances
    assert len(whole) == len(in_steps)
    assert distances(whole).mean() == pytest.approx(distances(in_steps).mean(), abs=0.5)
    assert town.on_land(in_steps).all()


@pytest.mark.parametrize("many", [0, 10**9])
def test_many_points_are_placed_as_few_are(many: int, town: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along_roads, "MANY", many)
    real = beside_streets(town, 20_000, spread=12)
    real = real[Network.of(town).distances(real) < 25]

    drawn = synthetic(town, real, 4)

    distances = Network.of(town).distances
    assert np.quantile(distances(drawn), [0.25, 0.5, 0.75]) == pytest.approx(
        np.quantile(distances(real), [0.25, 0.5, 0.75]), abs=0.3
    )
    assert town.on_land(drawn).all()


def test_the_lake_stays_empty(town: World) -> None:
    shore = np.random.default_rng(4).uniform((580, 580), (710, 710), (4000, 2))

    drawn = synthetic(town, shore)

    assert len(drawn) > 1000
    assert not ((drawn > 600) & (drawn < 690)).all(axis=1).any()


def test_both_sides_of_a_street_are_used(town: World) -> None:
    drawn = synthetic(town, beside_streets(town, 10_000, spread=5))

    side = Network.of(town).nearest(drawn).side
    assert 0.4 < (side > 0).mean() < 0.6


@each_variant
def test_busy_and_empty_edges_are_asked_about_in_the_same_way(variant: str, town: World) -> None:
    sizes: list[tuple[str, int]] = []

    def script(cells: Cells, share: Share) -> NDArray[np.int64]:
        sizes.append((share.purpose, len(cells)))
        return np.full(len(cells), 100)

    survey(ScriptedVault(town, script=script), VARIANTS[variant])  # type: ignore[arg-type]

    edges = len(Network.of(town))
    assert [purpose for purpose, _ in sizes] == ["total", "count", "along", "offset"]
    # Ten parts for each edge with a noisy 100, whoever is really there; four for each far cell.
    assert sizes[2][1] >= 10 * edges
    # The bins of the one class, and ten for people out of reach; or ten beside each edge, one on it, one for the rest.
    assert sizes[3][1] == {"class": len(offset_borders(25.0)) - 1 + 10, "edge": 11 * edges + 1}[variant]


def test_each_edge_can_have_offsets_of_its_own(town: World) -> None:
    network = Network.of(town)
    real = beside_streets(town, 40_000, spread=0)
    near = network.nearest(real)
    at_kerb = near.edge % 2 == 1
    real[at_kerb] += 20.0 * np.where(np.abs(near.foot[at_kerb] % 200 - 100) < 1e-6, 1.0, 0.0)
    real = real[town.on_land(real)]
    near = network.nearest(real)
    there = np.bincount(near.edge, weights=near.offset) / np.bincount(near.edge)

    errors = {}
    for variant, method in VARIANTS.items():
        drawn = network.nearest(synthetic(town, real, 2, method=method))
        mean = np.bincount(drawn.edge, drawn.offset, len(network)) / np.bincount(drawn.edge, minlength=len(network))
        errors[variant] = np.abs(mean - there).mean()

    assert errors["edge"] < 1.5
    assert errors["class"] > 5


ODD_DATA = {
    "nobody": np.empty((0, 2)),
    "one": np.array([[250.0, 103.0]]),
    "all in one place": np.full((3000, 2), (250.0, 103.0)),
    "on junctions": np.array([[x, y] for x in range(100, 1000, 200) for y in range(100, 1000, 200)], dtype=float),
    "nowhere": np.array([[np.nan, 1.0], [np.inf, -np.inf], [-5.0, 3.0], [1000.0, 1000.0]]),
    "in the lake and the park": np.array([[650.0, 650.0], [200.0, 200.0]]),
}


@pytest.mark.parametrize("data", ODD_DATA)
def test_with_offsets_for_each_edge_no_data_fails_and_all_are_on_land(data: str, town: World) -> None:
    for epsilon in ("1/100", 1, 20):
        drawn = synthetic(town, ODD_DATA[data], epsilon, method=PAPER)

        assert np.isfinite(drawn).all()
        assert town.on_land(drawn).all()


@pytest.mark.parametrize("everywhere", [-(10**6), 0, 1, 10**12])
def test_with_offsets_for_each_edge_no_answer_fails(everywhere: int, town: World) -> None:
    found = survey(ScriptedVault(town, everywhere=everywhere), PAPER)  # type: ignore[arg-type]

    drawn = town.projection.to_metres(draw(found, count=500, seed=1).coordinates)

    assert len(drawn) == (500 if everywhere > 0 else 0)
    assert town.on_land(drawn).all()


def test_people_far_from_roads_are_as_many_as_both_answers_say(town: World) -> None:
    counted = RoadSegments().divide(ScriptedVault(town, everywhere=10), town, {"count": Share("count", Fraction(1))})
    bins = AlongRoads()._cut(counted, 1.0)
    is_open = open_parts(bins, town)

    sure = NoisyCounts(np.full(len(bins), 7), "along", Fraction(100))
    unsure = NoisyCounts(np.full(len(bins), 7), "along", Fraction(1, 100))

    assert far_total(counted, bins, is_open, sure) == pytest.approx(7 * is_open[bins.first[-1] :].sum(), rel=1e-6)
    assert far_total(counted, bins, is_open, unsure) == pytest.approx(10 * counted.cells.open_far.sum(), rel=1e-3)
    assert far_total(counted, bins, is_open, NoisyCounts(np.full(len(bins), -99), "along", Fraction(9))) == 0


@each_variant
def test_a_recorded_survey_draws_the_same_points_again(variant: str, town: World, tmp_path: Path) -> None:
    vault = rehearsed(town, beside_streets(town, 5000, spread=5))
    found = survey(vault, VARIANTS[variant])

    found.write(tmp_path / "town.survey")
    read = Survey.read(tmp_path / "town.survey")

    assert vault.left == 0
    assert read.method.placement == VARIANTS[variant].placement
    assert (draw(read, seed=5).coordinates == draw(found, seed=5).coordinates).all()


def test_offsets_of_neither_class_nor_edge_are_refused() -> None:
    with pytest.raises(InputError, match="one of class, edge"):
        AlongRoads(offsets="street")  # type: ignore[arg-type]


def test_more_noise_makes_fewer_cells(town: World) -> None:
    one, eighth = (ScriptedVault(town, everywhere=50, epsilon=Fraction(1, part)) for part in (1, 8))

    surveys = [survey(vault, "road") for vault in (one, eighth)]  # type: ignore[arg-type]

    finer, coarser = (len(found.answers[2].values) for found in surveys)  # type: ignore[union-attr]
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
    paper = Method(RoadSegments(reach=50.0), AlongRoads(), THIRDS)

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
            MEASURES["nce_shifted_100"](Comparison(real, drawn, world), shifts=5),
            abs(distances(real).mean() - distances(drawn).mean()),
        )

    assert errors["road"][0] < 0.8 * errors["road-as-published"][0]
    assert errors["road"][1] < errors["road-as-published"][1]
