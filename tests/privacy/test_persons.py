"""People with very uneven numbers of points, as in traces of phones: each is protected with all of them."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from pointveil.cells import Everywhere, Grid
from pointveil.cli import main
from pointveil.engines import at_most, local
from pointveil.formats import base, open_points
from pointveil.methods import METHODS
from pointveil.releases import synthesize
from pointveil.vault import VOTES, Share, Vault
from pointveil.vault.noise import DiscreteLaplace
from pointveil.vault.protection import Protection
from pointveil.vault.vault import make_engine
from pointveil.verification import verify
from pointveil.world import World

PEOPLE = 140


@pytest.fixture(scope="module")
def traces() -> pa.Table:
    """140 people: the median has a few hundred points, the busiest tens of thousands."""
    rng = np.random.default_rng(11)
    counts = np.clip(rng.lognormal(5.5, 1.8, PEOPLE).astype(int), 1, 60_000)
    person = rng.permutation(np.repeat(np.arange(PEOPLE), counts))
    home = rng.uniform((10.001, 50.001), (10.008, 50.011), (PEOPLE, 2))
    places = home[person] + rng.normal(0, 0.0003, (len(person), 2))
    return pa.table({"lon": places[:, 0], "lat": places[:, 1], "taxi_id": [f"taxi {number}" for number in person]})


def test_everybody_counts_as_far_as_allowed_and_no_further(traces: pa.Table, plain_world: World) -> None:
    vault = Vault.rehearse(traces, plain_world, epsilon=1, seed=1, person="taxi_id", max_points=8)

    kept = int(vault.exact_count(Everywhere())[0])

    counts = np.unique(traces["taxi_id"].to_numpy(), return_counts=True)[1]
    assert 0.99 * np.minimum(counts, 8).sum() <= kept <= np.minimum(counts, 8).sum()  # some fell outside the world


@pytest.mark.parametrize("held", [0, local.KEEP_AT_MOST])
@pytest.mark.parametrize("order", [("count", "crowding"), ("crowding", "count")])
@pytest.mark.parametrize("points", [3, 50])
def test_without_noise_a_busy_person_changes_each_answer_by_no_more_than_it_says(
    points: int, order: tuple[str, ...], held: int, plain_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was asked before about the same cells; three points in cells of one make three crowds of two."""
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda _, count, __: np.zeros(count, dtype=np.int64))
    monkeypatch.setattr(local, "KEEP_AT_MOST", held)
    cells, share, answers = Grid(plain_world.bounds, 3, 2), Share("any", Fraction(1)), []
    middles = np.array([(lon, lat) for lat in (50.003, 50.009) for lon in (10.003, 10.01, 10.017)])
    for names in (range(6), [*range(6), *["busy"] * points]):
        lon, lat = np.resize(middles, (len(names), 2)).T
        table = pa.table({"lon": lon, "lat": lat, "who": list(map(str, names))})
        vault = Vault.open(table, plain_world, epsilon=9, person="who", ledger=None)
        found = {"persons": vault.persons((1, 2), share)}
        vault.use_at_most(3)
        for question in order:
            found[question] = vault.count(cells, share) if question == "count" else vault.crowding(cells, 2, share)
        answers.append(found)

    changed = {name: int(np.abs(after.values - answers[0][name].values).sum()) for name, after in answers[1].items()}
    said = {name: after.points_per_unit for name, after in answers[1].items()}
    assert said == {"persons": 1, "count": 3 * VOTES, "crowding": 6}
    assert changed == said if points == 3 else changed["crowding"] <= 6
    assert changed["count"] == 3 * VOTES


@pytest.mark.parametrize("method", METHODS)
def test_every_method_protects_persons_and_pays_exactly(method: str, traces: pa.Table, world: World) -> None:
    vault = Vault.open(traces, world, epsilon=2, person="taxi_id", max_points=8)

    statement = synthesize(vault, method, small=True).statement

    assert statement.guarantee.epsilon == "2"
    assert statement.guarantee.points_per_unit == 8
    allowed = {"persons": {1}, "count": {8 * VOTES}, "scatter": {8}, "crowding": {8 * 64}}
    assert all(question.sensitivity in allowed[question.question] for question in statement.questions)
    assert statement.questions[0].purpose == "persons"
    assert "any one person with all their points" in statement.in_plain_words


def test_the_statement_says_who_is_protected(traces: pa.Table, world_file: Path, tmp_path: Path) -> None:
    source = tmp_path / "traces.parquet"
    pq.write_table(traces, source)
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("people", "points")}
    options = ["--world", str(world_file), "--epsilon", "1", "--quiet", "--method", "ugrid-uni", "--small"]

    for name, person in {"people": ["--person", "taxi_id", "--max-points", "8"], "points": []}.items():
        with pytest.raises(SystemExit, match="0"):
            main(["synthesize", str(source), str(outputs[name]), *options, *person])

    people, points = (verify(output).statement for output in outputs.values())
    assert "any one person with all their points (counted as at most 8 of them)" in people.guarantee.unit
    assert points.guarantee.unit == "one point"
    assert any("k points together are protected only with k times epsilon" in limit for limit in points.not_promised)
    assert "taxi 1" not in json.dumps(people.model_dump(mode="json"))
    assert pq.read_table(outputs["people"]).column_names == ["lon", "lat"]


@pytest.fixture(scope="module")
def coarse() -> pa.Table:
    """30 people whose places were rounded, so that many records of one person are equal."""
    rng = np.random.default_rng(5)
    places = rng.uniform((10.001, 50.001), (10.008, 50.011), (2000, 2)).round(3)
    return pa.table({"lon": places[:, 0], "lat": places[:, 1], "who": rng.integers(0, 30, 2000)})


def kept(source: object, world: World) -> list[tuple[float, ...]]:
    points = Vault.rehearse(source, world, epsilon=1, seed=3, person="who", max_points=5).exact_points()
    return sorted(map(tuple, points.tolist()))


@pytest.mark.parametrize(
    "how", ["shuffled", "small batches", "read again", "csv", "parquet", "geojson", "gpkg", "text"]
)
def test_the_same_records_are_kept_however_they_are_read(
    how: str, coarse: pa.Table, plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = kept(coarse, plain_world)
    source: object = coarse
    path = tmp_path / f"people.{how}"
    if how == "shuffled":
        source = coarse.take(np.random.default_rng(1).permutation(len(coarse)))
    elif how == "small batches":
        monkeypatch.setattr(base, "BATCH_ROWS", 37)
        monkeypatch.setattr(at_most, "MERGE_AT_LEAST", 100)
    elif how == "read again":
        monkeypatch.setattr(local, "KEEP_AT_MOST", 0)
    elif how == "csv":
        source = path
        csv.write_csv(coarse, path)
    elif how == "parquet":
        source = path
        pq.write_table(coarse, path, row_group_size=100)
    elif how in ("geojson", "gpkg"):
        geopandas = pytest.importorskip("geopandas")
        source, frame = path, coarse.to_pandas()
        shapes = geopandas.points_from_xy(frame["lon"], frame["lat"])
        geopandas.GeoDataFrame(frame[["who"]], geometry=shapes, crs="EPSG:4326").to_file(path)
    elif how == "text":
        source = coarse.set_column(2, "who", pc.binary_join_element_wise(coarse["who"].cast(pa.string()), " ", ""))

    assert len(expected) == 150
    assert kept(source, plain_world) == expected


def test_a_real_vault_chooses_afresh(coarse: pa.Table, plain_world: World) -> None:
    first, second = (
        make_engine(open_points(coarse, person="who"), plain_world, Protection(5, "who")) for _ in range(2)
    )

    assert sorted(map(tuple, np.concatenate([*first.points()]))) == sorted(
        map(tuple, np.concatenate([*first.points()]))
    )
    assert sorted(map(tuple, np.concatenate([*first.points()]))) != sorted(
        map(tuple, np.concatenate([*second.points()]))
    )
