"""What is already public guides a release: it is read, named, bound to the survey, and refused if it is private."""

import dataclasses
import json
import shutil
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pointveil as pv
from pointveil.asking import ask_all
from pointveil.cells import Floats, Ints
from pointveil.errors import InputError, VerificationError
from pointveil.estimate.guide import likeness, relative_density
from pointveil.evaluation import MEASURES, Comparison
from pointveil.ground import raster_of
from pointveil.ledger import OWN, Ledger, Own
from pointveil.methods import METHODS
from pointveil.partition import PlaceMasses
from pointveil.partition.veil import cell_weights
from pointveil.priors import with_prior
from pointveil.statement import certificate, digest_of, registry_entry
from pointveil.statement.wording import NOT_PUBLIC
from pointveil.surveys import Survey
from pointveil.testing import ScriptedVault
from pointveil.vault import NoisyCounts, Vault
from pointveil.world import Prior, World

pytestmark = pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
SOURCE = {"name": "prior", "kind": "public points", "file_sha256": "0" * 64}


@pytest.fixture
def public(people: Floats, tmp_path: Path) -> Path:
    """Points like the people, and none of them."""
    path = tmp_path / "public.parquet"
    other = people + np.random.default_rng(3).normal(0, 2e-5, people.shape)
    pq.write_table(pa.table({"lon": other[:, 0], "lat": other[:, 1]}), path)
    return path


def released(source: Any, world: World, output: Path, **options: Any) -> pv.SyntheticPoints:
    return pv.release(source, world, epsilon=5, output=output, **({"cap": 20} | options))


def test_a_release_names_its_prior_and_verifies(people_file: Path, world: World, public: Path, tmp_path: Path) -> None:
    made = released(people_file, world, tmp_path / "out.parquet", prior=public)

    used = made.statement.prior
    assert used is not None
    assert (used.name, used.kind, used.operator_states) == ("public.parquet", "public points", "that it is public")
    assert used.file_sha256 == with_prior(world, public).prior.source["file_sha256"]  # type: ignore[union-attr]
    verified = pv.verify(tmp_path / "out.parquet")
    assert any("operator's word" in caveat for caveat in verified.caveats)
    assert NOT_PUBLIC in made.statement.not_promised
    assert "public.parquet" in str(made.statement)
    for page in (json.dumps(registry_entry(made.statement)), certificate(made.statement, checks=())):
        assert used.file_sha256 in page
        assert "is public" in page


def test_a_statement_without_the_hash_of_its_prior_fails(
    people_file: Path, world: World, public: Path, tmp_path: Path
) -> None:
    released(people_file, world, tmp_path / "out.parquet", prior=public, key=None)
    beside = tmp_path / "out.parquet.statement.json"
    whole = json.loads(beside.read_text())

    def rewritten(**changes: Any) -> None:
        content = {name: value for name, value in (whole | changes).items() if name != "digest"}
        if content["prior"] is None:
            content["survey"] = {key: value for key, value in whole["survey"].items() if key != "prior_sha256"}
            del content["prior"]
        content["digest"] = digest_of(content)
        beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    rewritten()
    pv.verify(tmp_path / "out.parquet")
    for changes in (
        {"prior": None},
        {"prior": whole["prior"] | {"file_sha256": "0" * 64}},
        {"not_promised": [limit for limit in whole["not_promised"] if limit != NOT_PUBLIC]},
    ):
        rewritten(**changes)
        with pytest.raises(VerificationError, match="prior"):
            pv.verify(tmp_path / "out.parquet")


def test_a_saved_survey_draws_without_the_prior_and_is_bound_to_it(
    people_file: Path, world: World, public: Path, tmp_path: Path
) -> None:
    path = tmp_path / "people.survey"
    made = pv.release_survey(people_file, world, epsilon=5, cap=20, output=path, prior=public)
    public.unlink()

    assert np.array_equal(pv.draw(path, seed=1).coordinates, pv.draw(made, seed=1).coordinates)

    without = tmp_path / "without.survey"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(without, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "survey.json":
                content = json.dumps(
                    {key: value for key, value in json.loads(content).items() if key != "prior"}
                ).encode()
            if not name.startswith("prior/"):
                new.writestr(name, content)
    with pytest.raises(VerificationError, match="prior"):
        Survey.read(without)
    with pytest.raises(VerificationError, match="prior"):
        pv.verify(without)


@pytest.mark.parametrize("how", ["itself", "copied", "as csv", "released before"])
def test_the_private_points_are_refused_as_a_prior_before_any_charge(
    people_file: Path, world: World, public: Path, tmp_path: Path, how: str
) -> None:
    prior = {"itself": people_file}.get(how, tmp_path / "copy.parquet")
    source = people_file
    if how == "as csv":
        prior = tmp_path / "copy.csv"
        table = pq.read_table(people_file, columns=["lon", "lat"])
        pyarrow.csv.write_csv(table.take(np.arange(len(table))[::-1]), prior)
    elif how != "itself":
        shutil.copy(people_file, prior)
    if how == "released before":  # and now it is to guide a release of other data
        released(people_file, world, tmp_path / "before.parquet", dataset="before")
        source = public
    spent = sum(account.spent for account in Ledger().accounts())

    with pytest.raises(InputError, match=r"private"):
        released(source, world, tmp_path / "out.parquet", prior=prior)

    assert sum(account.spent for account in Ledger().accounts()) == spent
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("ledger", [OWN, None])
@pytest.mark.parametrize("how", ["copied", "with a row less"])
def test_a_vault_refuses_them_too(
    people_file: Path, world: World, tmp_path: Path, ledger: Own | None, how: str
) -> None:
    pq.write_table(pq.read_table(people_file)[how == "with a row less" :], tmp_path / "copy.parquet")
    guided = with_prior(world, tmp_path / "copy.parquet")
    # Whatever is written down with the charge, the prior is the one that guides.
    vault = Vault.open(people_file, guided, epsilon=1, ledger=ledger, purpose={"prior": {}})

    with pytest.raises(InputError, match="holds private data"):
        pv.survey(vault)


def test_earlier_releases_and_surveys_are_priors(people_file: Path, world: World, public: Path, tmp_path: Path) -> None:
    released(public, world, tmp_path / "earlier.parquet")
    pv.release_survey(public, world, epsilon=5, cap=20, output=tmp_path / "earlier.survey")

    for name, kind in (("earlier.parquet", "earlier release"), ("earlier.survey", "earlier survey")):
        made = released(people_file, world, tmp_path / f"{kind}.parquet", prior=tmp_path / name)
        assert made.statement.prior is not None
        assert made.statement.prior.kind == kind
        assert made.statement.prior.release == pv.verify(tmp_path / name).statement.release


def test_what_promises_nothing_is_refused(people_file: Path, world: World, public: Path, tmp_path: Path) -> None:
    vault = Vault.rehearse(public, world, epsilon=5, seed=1)
    pv.synthesize(vault).write(tmp_path / "rehearsed.parquet")
    released(public, world, tmp_path / "uncharged.parquet", ledger=None)
    released(public, world, tmp_path / "changed.parquet")
    pq.write_table(pq.read_table(tmp_path / "changed.parquet").slice(1), tmp_path / "changed.parquet")
    far = tmp_path / "far.csv"
    far.write_text("lon,lat\n0,0\n")

    for name, complaint in (
        ("rehearsed.parquet", "rehearsal"),
        ("uncharged.parquet", "charged to no ledger"),
        ("changed.parquet", "changed"),
        ("far.csv", "no point on the land"),
    ):
        with pytest.raises(pv.PointveilError, match=complaint):
            released(people_file, world, tmp_path / "out.parquet", prior=tmp_path / name)
    with pytest.raises(InputError, match="cannot use a prior"):
        released(people_file, world, tmp_path / "out.parquet", prior=public, method="agrid-uni")
    assert "people.parquet" not in {account.name for account in Ledger().accounts()}


def test_a_request_is_the_same_only_with_the_same_prior(
    people_file: Path, world: World, public: Path, tmp_path: Path
) -> None:
    first = released(people_file, world, tmp_path / "a.parquet", prior=public, request="r")
    again = released(people_file, world, tmp_path / "a.parquet", prior=public, request="r")
    assert np.array_equal(first.coordinates, again.coordinates)
    with pytest.raises(InputError, match="other settings"):
        released(people_file, world, tmp_path / "b.parquet", request="r")
    released(people_file, world, tmp_path / "b.parquet", request="s")
    with pytest.raises(InputError, match="other settings"):
        released(people_file, world, tmp_path / "c.parquet", prior=public, request="s")


def test_weights_count_by_their_ratios(world: World, tmp_path: Path) -> None:
    for scale in (1, 1000):
        rows = [f"10.004,50.003,{3 * scale}", f"10.014,50.009,{scale}", "10.015,50.009,", "10.016,50.009,many"]
        (tmp_path / f"{scale}.csv").write_text("\n".join(["lon,lat,weight", *rows, "10.017,50.009,-5"]) + "\n")

    one, other = (with_prior(world, tmp_path / f"{scale}.csv").prior for scale in (1, 1000))

    assert one is not None
    assert other is not None
    assert sorted(one.weight) == [400, 1200]  # as many points as would scatter alike: 16/10
    assert one.digest == other.digest


def test_a_prior_is_believed_as_far_as_counts_bear_it_out(world: World, people: Floats) -> None:
    raster = raster_of(world, 16.0, 8)
    weight = cell_weights(raster, np.ones(raster.bins))
    xy = world.projection.to_metres(people)
    xy = xy[world.on_land(xy)]

    def ratio(places: Floats) -> Floats:
        return relative_density(Prior.of(places, world.size, SOURCE), weight, raster, 3)

    cell = raster.index[raster.cell_of(xy)]
    noise = np.random.default_rng(1).laplace(0, 1, len(weight))
    counts = NoisyCounts(np.rint(10 * np.bincount(cell, minlength=len(weight)) + noise).astype(np.int64), "count", 1, 1)  # type: ignore[arg-type]
    everywhere = np.zeros(len(weight), dtype=np.int64)
    like = likeness(counts, everywhere, weight, weight * ratio(xy))
    mirrored = likeness(counts, everywhere, weight, weight * ratio(np.array(world.size) - xy))

    assert like.slope > 0.8
    assert like.explained > 0.5
    assert mirrored.slope < 0.1
    assert ratio(xy) @ weight == pytest.approx(weight.sum(), rel=0.1)


def test_a_prior_makes_a_release_closer_and_an_unrelated_one_no_other(world: World) -> None:
    rng = np.random.default_rng(5)
    squares = rng.uniform(0, world.size, (200, 2))
    xy = squares[rng.integers(0, 200, 40_000)] + rng.normal(0, 12, (40_000, 2))
    crowd = world.projection.from_metres(xy)
    measured = MEASURES["nce_shifted_100"]

    def error(prior: Floats | None, seed: int) -> float:
        seen = world if prior is None else dataclasses.replace(world, prior=Prior.of(prior, world.size, SOURCE))
        table = pa.table({"lon": crowd[::2, 0], "lat": crowd[::2, 1]})
        vault = Vault.rehearse(table, seen, epsilon=1, seed=seed)
        drawn = world.projection.to_metres(pv.synthesize(vault, seed=seed).coordinates)
        return measured(Comparison(vault.exact_points(), drawn, world))

    seeds = range(1, 4)
    plain = np.array([error(None, seed) for seed in seeds])
    guided = np.array([error(xy[1::2], seed) for seed in seeds])
    even = np.array([error(np.random.default_rng(9).uniform(0, world.size, xy.shape), seed) for seed in seeds])

    assert guided.mean() < 0.95 * plain.mean()
    assert abs(even.mean() / plain.mean() - 1) < 0.02


@pytest.mark.parametrize("value", [-(10**6), -1, 0, 1, 10**6])
def test_no_noisy_answer_is_an_error_with_a_prior(world: World, people: Floats, value: int) -> None:
    xy = world.projection.to_metres(people)
    guided = dataclasses.replace(world, prior=Prior.of(xy, world.size, SOURCE))

    def script(cells: Any, share: Any) -> Ints:
        several = np.full(len(cells), value, dtype=np.int64)
        if share.purpose == "total":
            several[0] = 100_000  # enough that leaves are cut
        several[1::2] = -value
        return several

    for everywhere in (script, lambda cells, _: np.full(len(cells), value, dtype=np.int64)):
        vault: Any = ScriptedVault(guided, script=everywhere)
        counted = ask_all(vault, guided, METHODS["veil"], Fraction(1), ()).counted
        assert isinstance(counted, PlaceMasses)
        assert np.isfinite(counted.mass).all()
        assert (counted.mass >= 0).all()
