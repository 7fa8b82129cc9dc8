"""Runs: repeatable, resumable, each one file."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pointveil.errors import InputError
from pointveil.evaluation import MEASURES, Comparison
from pointveil.lab.experiments import Plan, runs_of, work_through
from pointveil.lab.experiments.cities import check_city, find_data, load_city
from pointveil.lab.experiments.runs import Shelf, join_runs, make_points, measure, vary
from pointveil.methods import METHODS


def results(out: Path) -> dict[str, Any]:
    """Every result by file name, without the time it took."""
    found = {}
    for path in sorted((out / "runs").glob("[!.]*")):
        content = json.loads(path.read_text())
        content["values"].pop("cpu_seconds")
        found[path.name] = content
    return found


def test_every_run_is_one_file_that_says_it_is_not_private(make_plan: Any, tiny_data: Path, tmp_path: Path) -> None:
    plan = make_plan(methods='["ugrid-uni", "ugrid-uni-as-published"]', measures='["nce_100", "medd"]')

    failures = work_through([plan], tmp_path / "out", data=tiny_data)

    assert failures == []
    found = results(tmp_path / "out")
    assert len(found) == 4
    for content in found.values():
        assert "not private" in content["banner"]
        assert set(content["values"]) == {"points", "nce_100", "medd"}


def test_the_same_plan_gives_the_same_numbers_on_one_core_and_on_two(
    make_plan: Any, tiny_data: Path, tmp_path: Path
) -> None:
    plan = make_plan(seeds=3)

    work_through([plan], tmp_path / "one", data=tiny_data, workers=1)
    work_through([plan], tmp_path / "two", data=tiny_data, workers=2)

    assert results(tmp_path / "one") == results(tmp_path / "two")
    assert len({content["values"]["nce_100"] for content in results(tmp_path / "one").values()}) == 3


def test_what_is_there_is_not_run_again_and_new_measures_are_added(
    make_plan: Any, tiny_data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    work_through([make_plan()], out, data=tiny_data)
    before = {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    told: list[tuple[int, int]] = []

    work_through([make_plan()], out, data=tiny_data, tell=lambda done, of: told.append((done, of)))

    assert told == [(2, 2)]
    assert {path: path.stat().st_mtime_ns for path in (out / "runs").iterdir()} == before
    work_through([make_plan(measures='["nce_100", "total_count"]')], out, data=tiny_data)
    assert all(set(content["values"]) >= {"nce_100", "total_count"} for content in results(out).values())


def test_plans_that_share_runs_make_the_points_once(make_plan: Any) -> None:
    one, other = make_plan(measures='["nce_100"]'), make_plan(measures='["medd"]')

    joined = join_runs([*runs_of(one), *runs_of(other)])

    assert len(joined) == 2
    assert all(run.measures == {"nce_100", "medd"} for run in joined)


def test_killed_twice_it_loses_nothing_and_repeats_nothing(make_plan: Any, tiny_data: Path, tmp_path: Path) -> None:
    plan = make_plan(seeds=12, methods='["agrid-wud", "ugrid-uni"]')
    work_through([plan], tmp_path / "unbroken", data=tiny_data)
    out, kept = tmp_path / "broken", {}  # type: ignore[var-annotated]

    for enough in (2, 8):
        running = _start(tmp_path / "plan.toml", out, tiny_data)
        _wait_for(out, enough, running)
        running.kill()
        running.wait()
        time.sleep(0.5)  # the workers see that their parent is gone
        now = _times(out)
        assert all(now[path] == when for path, when in kept.items())
        kept = now
    assert _start(tmp_path / "plan.toml", out, tiny_data).wait() == 0

    assert all(_times(out)[path] == when for path, when in kept.items())
    assert results(out) == results(tmp_path / "unbroken")


def _start(plan: Path, out: Path, data: Path) -> subprocess.Popen[bytes]:
    code = "from pointveil.cli import main; main()"
    words = ["experiment", str(plan), str(out), "--data", str(data), "--workers", "2", "--no-figures", "--quiet"]
    return subprocess.Popen([sys.executable, "-c", code, *words], env={**os.environ, "OMP_NUM_THREADS": "1"})


def _times(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (out / "runs").glob("[!.]*")}


def _wait_for(out: Path, enough: int, running: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while len(_times(out)) < enough and running.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


def test_one_run_that_fails_does_not_end_the_others(
    make_plan: Any, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(seeds=3)

    def broken(run: Any, loaded: Any) -> Any:
        if run.seed == 1:
            raise ValueError("no such luck")
        return make_points(run, loaded)

    monkeypatch.setattr("pointveil.lab.experiments.runs.make_points", broken)
    failures = work_through([plan], tmp_path / "out", data=tiny_data)

    assert len(failures) == 1
    assert "no such luck" in failures[0]
    assert len(results(tmp_path / "out")) == 2


def test_variants_change_the_split_and_the_parameters(make_plan: Any) -> None:
    plan = make_plan(
        '[[variants]]\nmethod = "clust-uni"\nlabel = "few"\nparameters = { clusters = 50 }\n'
        '[[variants]]\nmethod = "ugrid-kde"\nlabel = "10–90"\nsplit = { count = "1/10", place = "9/10" }'
    )

    runs = {run.label: run for run in runs_of(plan) if run.seed == 0}

    assert set(runs) == {"", "few", "10–90"}
    few = vary(METHODS["clust-uni"], {}, dict(runs["few"].parameters))
    assert few.parameters["partitioner"]["clusters"] == 50
    with pytest.raises(InputError, match="no parameter 'colour'"):
        vary(METHODS["clust-uni"], {}, {"colour": 3})


def test_points_on_roads_are_on_roads(make_plan: Any, tiny_data: Path) -> None:
    city = make_plan().all_cities()["tiny"]

    loaded = load_city(city, tiny_data, "on roads")

    assert loaded.comparison.road_distances[0].mean() < 0.05
    assert load_city(city, tiny_data, "as is").comparison.road_distances[0].mean() > 10


def test_a_sample_is_the_same_every_time(make_plan: Any, tiny_data: Path) -> None:
    city = make_plan().all_cities()["tiny"].model_copy(update={"sample": 500})

    one = load_city(city, tiny_data, "as is").points
    load_city.cache_clear()

    assert len(one) == 500
    assert load_city(city, tiny_data, "as is").points.equals(one)


def test_what_is_kept_of_the_real_points_changes_no_measure(make_plan: Any, tiny_data: Path) -> None:
    run = runs_of(make_plan())[0]
    loaded = load_city(run.where, tiny_data, "as is")
    synthetic = make_points(run, loaded)
    xy = loaded.world.projection.to_metres(synthetic.coordinates)

    for _ in range(2):
        values, _ = measure(synthetic, loaded, ["medd", "range_500", "nce_shifted_100"])
        fresh = Comparison(loaded.real, xy, loaded.world)
        assert values == {name: MEASURES[name](fresh) for name in values}


def test_a_measure_without_an_answer_says_why(make_plan: Any, tiny_data: Path, tmp_path: Path) -> None:
    (tiny_data / "tiny" / "roads.geojson").rename(tmp_path / "roads.geojson")
    load_city.cache_clear()
    try:
        work_through([make_plan(seeds=1, measures='["medd"]')], tmp_path / "out", data=tiny_data)
    finally:
        (tmp_path / "roads.geojson").rename(tiny_data / "tiny" / "roads.geojson")
        load_city.cache_clear()

    (content,) = results(tmp_path / "out").values()
    assert "needs roads" in content["reasons"]["medd"]


def test_a_city_whose_files_are_missing_is_refused_before_anything_runs(make_plan: Any, tmp_path: Path) -> None:
    plan: Plan = make_plan()

    with pytest.raises(InputError, match="needs a data folder"):
        work_through([plan], tmp_path / "out", data=None)
    with pytest.raises(InputError, match=r"points\.parquet, which does not exist"):
        check_city("tiny", plan.all_cities()["tiny"], tmp_path)
    with pytest.raises(InputError, match=r"does not exist\. Name it with --data"):
        find_data(tmp_path / "nowhere")


def test_a_result_is_never_half_written(make_plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf, run = Shelf(tmp_path / "runs"), runs_of(make_plan())[0]
    shelf.put(run, {"values": {"nce_100": 1.0}, "reasons": {}})
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "disk full")))

    with pytest.raises(InputError, match="disk full"):
        shelf.put(run, {"values": {}, "reasons": {}})

    assert shelf.read(run) == {"values": {"nce_100": 1.0}, "reasons": {}}
