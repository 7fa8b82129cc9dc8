"""From vault to survey to points: the whole story, on a small city."""

import dataclasses
import json
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray

import pointveil as pv
from pointveil import releases
from pointveil.cells import Everywhere
from pointveil.errors import BudgetError, InputError
from pointveil.landing import to_lattice
from pointveil.releases import draw, survey, synthesize
from pointveil.statement import SigningKey
from pointveil.surveys import Recorder, Survey, pack, unpack
from pointveil.testing import ScriptedVault
from pointveil.vault import NoisyCounts, NoisyPoints, Share, Vault
from pointveil.world import World

RIVER = shapely.box(10.009, 49.99, 10.011, 50.02)


@pytest.fixture
def surveyed(people_file: Path, world: World) -> Survey:
    return survey(Vault.open(people_file, world, epsilon=1), "ugrid-uni")


def test_points_never_fall_in_water(world: World) -> None:
    synthetic = synthesize(ScriptedVault(world, everywhere=1000), "ugrid-uni", seed=1)  # type: ignore[arg-type]

    assert len(synthetic) > 1000
    assert not shapely.contains_xy(RIVER, *synthetic.coordinates.T).any()
    assert shapely.intersects_xy(world.boundary, *synthetic.coordinates.T).all()


def test_all_epsilon_is_spent_exactly(people_file: Path, world: World) -> None:
    vault = Vault.open(people_file, world, epsilon="8/7")

    synthetic = synthesize(vault, "ugrid-uni")

    assert vault.left == 0
    assert sum(Fraction(question.epsilon) for question in synthetic.statement.questions) == Fraction(8, 7)


def test_a_spent_vault_is_refused(people_file: Path, world: World) -> None:
    vault = Vault.open(people_file, world, epsilon=1)
    synthesize(vault, "ugrid-uni")

    with pytest.raises(BudgetError, match="Nothing is left"):
        synthesize(vault, "ugrid-uni")


def test_the_number_of_points_is_about_right(surveyed: Survey, people: NDArray[np.float64], world: World) -> None:
    real = int(world.on_land(world.projection.to_metres(people)).sum())

    assert abs(len(draw(surveyed)) - real) < 150  # 170 cells, noise of 1.4 each: eight standard deviations


def test_the_same_seed_gives_the_same_points_and_another_gives_others(surveyed: Survey) -> None:
    first, again, other = (draw(surveyed, seed=seed).coordinates for seed in (7, 7, 8))

    assert np.array_equal(first, again)
    assert not np.array_equal(first[:100], other[:100])


def test_without_a_seed_every_drawing_is_another(surveyed: Survey) -> None:
    assert not np.array_equal(draw(surveyed, count=50).coordinates, draw(surveyed, count=50).coordinates)


def test_a_saved_survey_draws_the_same_points_without_the_data(surveyed: Survey, tmp_path: Path) -> None:
    surveyed.write(tmp_path / "city.survey")

    read = Survey.read(tmp_path / "city.survey")

    assert np.array_equal(draw(read, seed=3).coordinates, draw(surveyed, seed=3).coordinates)
    assert read.statement == surveyed.statement
    assert read.world == surveyed.world


@pytest.mark.parametrize("count", [0, 1, 17, 50_000])
def test_any_number_of_points_may_be_drawn(count: int, surveyed: Survey) -> None:
    assert len(draw(surveyed, count=count, seed=1)) == count


@pytest.mark.parametrize("count", [-1, 2**40])
def test_a_number_of_points_that_makes_no_sense_is_refused(count: int, surveyed: Survey) -> None:
    with pytest.raises(InputError, match="number of points"):
        draw(surveyed, count=count)


def test_coordinates_lie_on_the_public_lattice(surveyed: Survey) -> None:
    coordinates = draw(surveyed, seed=1).coordinates

    assert np.array_equal(np.round(coordinates, 7), coordinates)


def test_points_at_the_waters_edge_are_snapped_onto_land(world: World) -> None:
    west_bank = world.projection.to_metres(np.array([[10.009, 50.005]]))[0, 0]
    xy = np.column_stack([np.full(1000, west_bank - 1e-4), np.linspace(10, 1000, 1000)])

    coordinates = to_lattice(xy, world, "EPSG:4326", np.random.default_rng(1))

    assert world.on_land(world.projection.to_metres(coordinates)).all()
    assert len(coordinates) == 1000


def test_a_file_that_is_no_survey_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.survey").write_text("hello")

    with pytest.raises(InputError, match=r"text\.survey is not a survey"):
        Survey.read(tmp_path / "text.survey")
    with pytest.raises(InputError, match="There is no file"):
        Survey.read(tmp_path / "missing.survey")


def test_an_unknown_method_is_refused_with_the_known_ones(people_file: Path, world: World) -> None:
    with pytest.raises(InputError, match="ugrid-uni"):
        survey(Vault.open(people_file, world, epsilon=1), "magic")


def test_public_names_are_there_and_no_others() -> None:
    for name in pv.__all__:
        assert getattr(pv, name) is not None
    with pytest.raises(AttributeError):
        _ = pv.secret  # type: ignore[attr-defined]


@pytest.fixture
def table(people: NDArray[np.float64]) -> pa.Table:
    return pa.table({"lon": people[:, 0], "lat": people[:, 1]})


def test_a_release_is_written_charged_finished_and_returned(table: pa.Table, world: World, tmp_path: Path) -> None:
    output = tmp_path / "synthetic.csv"

    made = pv.release(table, world, epsilon=1, output=output, method="ugrid-uni", dataset="trips")

    (account,) = pv.Ledger().accounts()
    assert (account.name, account.spent) == ("trips", Fraction(1))
    assert made.statement == pv.verify(output, ledger=pv.Ledger().path).statement
    assert len(output.read_text().splitlines()) == len(made) + 1
    with closing(sqlite3.connect(pv.Ledger().path)) as book:
        assert book.execute("SELECT count(*) FROM event WHERE kind = 'finish'").fetchone() == (1,)


@pytest.mark.parametrize("form", [str, Path, pv.Ledger])
def test_a_ledger_may_be_a_path_or_a_ledger(form: Any, world: World, table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    Vault.open(table, world, epsilon=1, ledger=form(path)).count(Everywhere(), Share("total", Fraction(1)))

    assert [account.spent for account in pv.Ledger(path).accounts()] == [1]
    assert not pv.Ledger().accounts()


def test_without_a_ledger_the_statement_says_that_nothing_was_charged(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    output = tmp_path / "synthetic.csv"

    made = pv.release(table, world, epsilon=1, output=output, method="ugrid-uni", ledger=None)

    assert not pv.Ledger().accounts()
    assert "nothing was charged to a ledger" in " ".join(made.statement.not_promised)
    assert "Nothing was charged to a ledger." in str(made.statement)
    assert "nothing was charged to a ledger" in " ".join(pv.verify(output).checks)
    charged = pv.release(table, world, epsilon=1, output=tmp_path / "b.csv", method="ugrid-uni")
    for text in (str(charged.statement), charged.statement.to_json(), *pv.verify(tmp_path / "b.csv").checks):
        assert "othing was charged" not in text


def test_a_request_needs_a_ledger(table: pa.Table, world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="repeated from the ledger"):
        pv.release(table, world, epsilon=1, output=tmp_path / "a.csv", ledger=None, request="monday")


def test_a_request_is_repeated_even_when_the_data_are_gone(table: pa.Table, world: World, tmp_path: Path) -> None:
    source = tmp_path / "trips.parquet"
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "request": "monday"}
    pq.write_table(table, source)
    pv.release(source, world, output=tmp_path / "a.csv", **options)
    source.unlink()

    with pytest.warns(pv.PointveilWarning, match="answered before"):
        pv.release(source, world, output=tmp_path / "b.csv", **options)

    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_of_one_request_in_two_processes_the_first_to_finish_is_the_release(
    people_file: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(name: str) -> Any:
        return pv.release(people_file, world, epsilon=1, output=tmp_path / name, method="ugrid-uni", request="monday")

    first: list[Any] = []
    asked = releases._asked

    def overtaken(*question: Any, **options: Any) -> Survey:
        monkeypatch.setattr(releases, "_asked", asked)
        ours = asked(*question, **options)
        first.append(ask("first.csv"))
        return ours

    monkeypatch.setattr(releases, "_asked", overtaken)
    second = ask("second.csv")

    assert second.statement.release == first[0].statement.release
    assert np.array_equal(second.coordinates, first[0].coordinates)
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_an_answer_is_in_the_ledger_before_the_method_sees_it(
    people_file: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    count = Recorder.count

    def look(self: Recorder, *question: Any) -> Any:
        answer = count(self, *question)
        with closing(sqlite3.connect(pv.Ledger().path)) as book:
            (kept,) = book.execute("SELECT survey FROM event WHERE kind = 'answer' ORDER BY id DESC").fetchone()
        assert np.array_equal(unpack(kept).values, answer.values)  # type: ignore[union-attr]
        seen.append(len(answer.values))
        return answer

    monkeypatch.setattr(Recorder, "count", look)
    with pytest.warns(pv.PointveilWarning, match="Left out"):
        pv.release(people_file, world, epsilon=1, output=tmp_path / "a.csv", method="agrid-uni")

    assert len(seen) == 3


def test_of_two_processes_at_once_the_first_to_keep_an_answer_gives_it_to_both(
    table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two answers with noise of their own would cost twice what was charged."""
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "request": "may", "dataset": "people"}
    keep, ours = pv.Ledger.keep, list[Any]()

    def second(self: pv.Ledger, charge: Any, number: int, question: str, answer: bytes) -> bytes:
        """Come second: the other process, which drew its own noise, is just done."""
        found = unpack(answer)
        assert isinstance(found, NoisyCounts)
        ours.append(found.values)
        keep(self, charge, number, question, pack(dataclasses.replace(found, values=found.values + 1000)))
        return keep(self, charge, number, question, answer)

    monkeypatch.setattr(pv.Ledger, "keep", second)
    made = pv.release_survey(table, world, output=tmp_path / "a.survey", **options)

    assert len(ours) == len(made.answers) == 2
    for drawn, answer in zip(ours, made.answers, strict=True):
        assert isinstance(answer, NoisyCounts)
        assert np.array_equal(answer.values, drawn + 1000)


@pytest.mark.parametrize("values", [[], [0], [-129, 127], [2**40, -(2**40)], list(range(-50, 50))])
def test_an_answer_is_unpacked_as_it_was_packed(values: list[int]) -> None:
    numbers = np.array(values, dtype=np.int64)

    counts = unpack(pack(NoisyCounts(numbers, "count", Fraction(1, 3), 8)))
    points = unpack(pack(NoisyPoints(numbers, numbers[::-1], "place", Fraction(2))))

    assert isinstance(counts, NoisyCounts)
    assert isinstance(points, NoisyPoints)
    assert counts.values.dtype == np.int64
    assert np.array_equal(counts.values, numbers)
    assert np.array_equal(points.site, numbers[::-1])
    assert (counts.purpose, counts.epsilon, counts.points_per_unit) == ("count", Fraction(1, 3), 8)


def test_a_request_keeps_no_copy_of_the_world(table: pa.Table, world: World, tmp_path: Path) -> None:
    sizes = []
    for number in range(21):
        options: dict[str, Any] = {"epsilon": "1/10", "method": "ugrid-uni", "request": str(number), "small": True}
        pv.release(table, world, output=tmp_path / f"{number}.csv", **options)
        sizes.append(pv.Ledger().path.stat().st_size)

    assert sizes[-1] - sizes[0] < 20 * 10_000


@pytest.mark.filterwarnings("ignore::pointveil.PointveilWarning")
def test_a_request_with_another_bound_on_a_persons_points_is_refused(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    whose = table.append_column("who", pa.array(range(len(table))))
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "request": "monday", "person": "who", "small": True}
    pv.release(whose, world, output=tmp_path / "a.csv", max_points=3, **options)

    with pytest.raises(InputError, match="'monday' was made before with other settings"):
        pv.release(whose, world, output=tmp_path / "b.csv", max_points=4, **options)


OTHER_SETTINGS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 2},
    "method": {"method": "ugrid-wud"},
    "parameters": {"method": pv.Method(pv.UniformGrid(granularity=5), pv.Uniform(), {"count": 1}, "ugrid-uni")},
    "split": {"split": {"total": "1/2", "count": "1/2"}},
    "columns": {"columns": ("lat", "lon")},
    "crs": {"crs": "EPSG:3857"},
    "person": {"person": "who"},
    "noise": {"noise": "opendp"},
    "count": {"count": 7},
    "seed": {"seed": 7},
    "small": {"small": True},
    "format": {"output": "b.parquet"},
    "source": {"source": "others.parquet"},
}


@pytest.mark.parametrize("setting", OTHER_SETTINGS)
def test_a_request_with_any_other_setting_is_refused(
    setting: str, table: pa.Table, world: World, tmp_path: Path
) -> None:
    whose = table.append_column("who", pa.array(range(len(table))))
    for name in ("trips.parquet", "others.parquet"):
        pq.write_table(whose, tmp_path / name)
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "request": "monday", "dataset": "trips"}
    with pytest.warns(pv.PointveilWarning, match="Left out"):
        pv.release(tmp_path / "trips.parquet", world, output=tmp_path / "a.csv", **options)

    other = {"source": "trips.parquet", "output": "b.csv", **options, **OTHER_SETTINGS[setting]}
    with pytest.raises(InputError, match="'monday' was made before with other settings"):
        pv.release(tmp_path / other.pop("source"), world, **{**other, "output": tmp_path / other["output"]})
    with pytest.warns(pv.PointveilWarning, match="answered before"):
        pv.release(tmp_path / "trips.parquet", world, output=tmp_path / "a.csv", **{**options, "epsilon": "2/2"})
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_a_request_in_another_world_is_refused(
    table: pa.Table, world: World, plain_world: World, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "request": "monday"}
    pv.release(table, world, output=tmp_path / "a.csv", **options)

    with pytest.raises(InputError, match="other settings"):
        pv.release(table, plain_world, output=tmp_path / "b.csv", **options)


def test_only_the_same_requests_own_file_is_written_again_without_force(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    output = tmp_path / "a.csv"
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "output": output}
    pv.release(table, world, request="monday", **options)
    written = output.read_bytes()

    others: tuple[dict[str, Any], ...] = ({}, {"request": "tuesday"})
    for other in others:
        with pytest.raises(InputError, match=r"a\.csv exists already.*force=True"):
            pv.release(table, world, **options, **other)
    with pytest.warns(pv.PointveilWarning, match="answered before"):
        pv.release(table, world, request="monday", **options)
    assert output.read_bytes() == written
    output.write_bytes(written + b"1,1\n")
    with pytest.raises(InputError, match="exists already"):
        pv.release(table, world, request="monday", **options)
    assert [account.spent for account in pv.Ledger().accounts()] == [1]
    pv.release(table, world, force=True, **options)
    assert pv.verify(output)


def test_no_statement_is_written_over_the_ledger_the_key_or_the_private_file(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    """Not even with force, which is about the output."""
    stays = tmp_path / "a.csv.statement.json"
    ledger = pv.Ledger(stays)
    ledger.set_cap("people", 1)
    before = stays.read_bytes()

    with pytest.raises(InputError, match="is the ledger"):
        pv.release(table, world, epsilon=1, output=tmp_path / "a.csv", ledger=ledger, dataset="people", force=True)

    assert stays.read_bytes() == before
    stays.unlink()
    points = [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [10.001, 50.001]}, "properties": {}}]
    stays.write_text(json.dumps({"type": "FeatureCollection", "features": points}))
    with pytest.raises(InputError, match="is the private file itself"):
        pv.release(stays, world, epsilon=1, output=tmp_path / "a.csv", force=True, small=True)
    assert not (tmp_path / "a.csv").exists()


def test_a_statement_left_alone_is_removed_and_a_strangers_file_is_not(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    output, beside = tmp_path / "a.csv", tmp_path / "a.csv.statement.json"
    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni", "output": output}
    pv.release(table, world, **options)
    output.unlink()

    pv.release(table, world, **options)
    output.unlink()
    beside.write_text("mine")
    with pytest.raises(InputError, match=r"a\.csv\.statement\.json exists already"):
        pv.release(table, world, **options)

    assert beside.read_text() == "mine"
    assert [account.spent for account in pv.Ledger().accounts()] == [2]


def spellings(path: Path, folder: Path) -> dict[str, Path]:
    """Return other paths to the same file."""
    (folder / "soft.csv").symlink_to(path)
    (folder / "hard.csv").hardlink_to(path)
    return {
        "itself": path,
        "a symbolic link": folder / "soft.csv",
        "a hard link": folder / "hard.csv",
        "a detour": path.parent / ".." / path.parent.name / path.name,
    }


@pytest.mark.parametrize("victim", ["data", "world", "ledger", "key"])
@pytest.mark.parametrize("spelling", ["itself", "a symbolic link", "a hard link", "a detour"])
def test_an_output_that_is_a_file_which_must_stay_is_refused_however_it_is_spelled(
    victim: str, spelling: str, people_file: Path, world_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("cryptography", reason="keys need the extra sign")
    (tmp_path / "links").mkdir()
    files = {name: tmp_path / f"{name}.csv" for name in ("data", "world", "ledger", "key")}
    files["data"] = tmp_path / "data.parquet"
    files["data"].write_bytes(people_file.read_bytes())
    files["world"] = tmp_path / "world.gpkg"
    files["world"].write_bytes(world_file.read_bytes())
    pv.Ledger(files["ledger"]).set_cap("trips", 3)
    SigningKey.new(files["key"])
    before = {name: path.read_bytes() for name, path in files.items()}
    output = spellings(files[victim], tmp_path / "links")[spelling]

    options: dict[str, Any] = {"ledger": files["ledger"], "key": files["key"], "force": True}
    with pytest.raises(InputError, match=r"is the (private file|file of the world|ledger|signing key)"):
        pv.release(files["data"], files["world"], epsilon=1, output=output, **options)

    assert {name: path.read_bytes() for name, path in files.items()} == before


def test_nothing_is_charged_when_the_disk_is_full_or_the_name_is_too_long(
    table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        pv.release(table, world, epsilon=1, output=tmp_path / f"{'a' * 245}.csv")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**6))
    with pytest.raises(InputError, match="too little room on the disk"):
        pv.release(table, world, epsilon=1, output=tmp_path / "a.csv")

    assert not pv.Ledger().accounts()
    assert not [path for path in tmp_path.iterdir() if path.name != "data-home"]


def test_stopped_from_the_keyboard_a_release_says_how_to_go_on(
    table: pa.Table, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pointveil.releases.to_lattice", stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            pv.release(table, world, epsilon=1, output=tmp_path / "a.csv", method="ugrid-uni", request="monday")
    assert "Epsilon 1 stays charged to 'frame'" in stopped.value.__notes__[0]

    with pytest.warns(pv.PointveilWarning, match="answered before"):
        pv.release(table, world, epsilon=1, output=tmp_path / "a.csv", method="ugrid-uni", request="monday")
    assert [account.spent for account in pv.Ledger().accounts()] == [1]


def test_two_files_that_cannot_be_read_stay_two_accounts_and_go_on_once_they_can(
    people_file: Path, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> bytes:
        raise OSError(5, "Input/output error")

    options: dict[str, Any] = {"epsilon": 1, "method": "ugrid-uni"}
    with monkeypatch.context() as patch:
        patch.setattr("pointveil.engines.LocalEngine.digest", fail)
        for number, source in enumerate((people_file, tmp_path / "copy.parquet")):
            (tmp_path / "copy.parquet").write_bytes(people_file.read_bytes())
            with pytest.raises(RuntimeError) as failure, pytest.warns(pv.PointveilWarning, match="Left out"):
                pv.release(source, world, output=tmp_path / f"{number}.csv", request=str(number), **options)
            assert f"--request {number} " in failure.value.__notes__[0]
    assert [(account.name, account.aliases) for account in pv.Ledger().accounts()] == [
        ("people.parquet", ()),
        ("copy.parquet", ()),
    ]

    with pytest.warns(pv.PointveilWarning, match="Left out"), pytest.warns(pv.PointveilWarning, match="charged before"):
        pv.release(people_file, world, output=tmp_path / "0.csv", request="0", **options)

    assert [account.spent for account in pv.Ledger().accounts()] == [1, 1]
    assert pv.Ledger().verify() == []


def test_a_warning_that_is_an_error_stops_before_the_charge_or_after_the_release(
    table: pa.Table, world: World, tmp_path: Path
) -> None:
    few = table.slice(0, 3)
    with pytest.raises(pv.PointveilWarning, match="Left out"):
        pv.release(few.append_column("name", [["a"] * 3]), world, epsilon=1, output=tmp_path / "a.csv")
    assert not pv.Ledger().accounts()

    with pytest.raises(pv.PointveilWarning, match="Hardly any point"):
        pv.release(few, world, epsilon=1, output=tmp_path / "a.csv", method="ugrid-uni", small=True)

    assert pv.verify(tmp_path / "a.csv", ledger=pv.Ledger().path)


def test_all_errors_have_one_base() -> None:
    for kind in (pv.InputError, pv.BudgetError, pv.StoppedError, pv.VerificationError, pv.MissingExtraError):
        assert issubclass(kind, pv.PointveilError)
    assert issubclass(pv.InputError, ValueError)
    assert issubclass(pv.MissingExtraError, ImportError)


def test_the_frames_have_the_inputs_columns(surveyed: Survey) -> None:
    pytest.importorskip("geopandas", reason="needs the extra frames")
    synthetic = draw(surveyed, count=10, seed=1)

    assert list(synthetic.to_pandas().columns) == ["lon", "lat"]
    assert synthetic.to_arrow().column_names == ["lon", "lat"]
    assert synthetic.to_geopandas().crs.to_epsg() == 4326
    assert "10 points" in repr(synthetic)


def test_a_custom_split_must_add_up() -> None:
    method = pv.METHODS["ugrid-uni"]

    assert method.with_split({"count": 1}).shares() == {"total": Fraction(1, 100), "count": Fraction(99, 100)}
    with pytest.raises(InputError, match="add up to 1"):
        method.with_split({"count": "1/2"})
    with pytest.raises(InputError, match="must name total, count"):
        method.with_split({"count": "1/2", "place": "1/2"})
