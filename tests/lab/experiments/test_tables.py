"""The tidy table, and the tables and figures made of it."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.lab.experiments.rows import made_up, results_of

from pointveil.cli import main
from pointveil.lab.experiments import work_through
from pointveil.lab.experiments.figures import draw_all
from pointveil.lab.experiments.tables import SCHEMA, Results, Summary, gather, write_table
from pointveil.methods import METHODS

ROOT = Path(__file__).parents[3]


def test_the_table_has_one_row_for_each_number_of_each_run(make_plan: Any, tiny_data: Path, tmp_path: Path) -> None:
    plan = make_plan(seeds=2, measures='["nce_100", "total_count"]')
    work_through([plan], tmp_path, data=tiny_data)

    table = gather([plan], tmp_path)
    write_table(table, tmp_path / "results.parquet")

    assert table.schema == SCHEMA
    assert len(table) == 2 * (2 + len(("cpu_seconds", "points")))
    assert pq.read_table(tmp_path / "results.parquet").equals(table)


def test_means_and_spreads_are_over_seeds() -> None:
    results = results_of(*(made_up(seed=seed, value=value) for seed, value in enumerate((0.1, 0.2, 0.3))))

    found = results.find("main", "porto", "ugrid-uni", "nce_100")

    assert found is not None
    assert found.mean == pytest.approx(0.2)
    assert found.spread == pytest.approx(0.1)
    assert found.seeds == 3
    assert results.find("main", "porto", "ugrid-uni", "medd") is None


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        (Summary(0.1234, 0.0041, 5), "0.123 ± 0.004"),
        (Summary(0.5, 0.0, 1), "0.500"),
        (Summary(1234.5, 20.0, 5), "1,234 ± 20"),
        (Summary(0.0, 0.0, 5), "0.000 ± 0.000"),
    ],
)
def test_numbers_are_written_with_their_spread(summary: Summary, text: str) -> None:
    assert summary.text() == text


def test_figures_are_drawn_for_what_was_run(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = results_of(
        made_up(measure="nce_shifted_100"),
        made_up(experiment="range-queries", measure="range_100"),
        made_up(experiment="range-queries", measure="range_500", value=3.0),
        made_up(experiment="epsilon", measure="nce_shifted_100"),
        made_up(experiment="epsilon", measure="cpu_seconds"),
    )

    written = draw_all(results, tmp_path)

    assert [path.name for path in written] == ["results-main.png", "results-epsilon.png", "results-range.png"]
    assert all(path.stat().st_size > 1000 for path in written)


@pytest.mark.slow
def test_the_quick_plan_runs_every_method_on_the_built_in_city(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    with pytest.raises(SystemExit) as stop:
        main(["experiment", str(ROOT / "experiments" / "quick.toml"), str(tmp_path), "--workers", "2", "--quiet"])

    assert stop.value.code == 0
    table = pq.read_table(tmp_path / "results.parquet")
    assert set(METHODS) <= set(table["method"].to_pylist())
    assert table["reason"].null_count == len(table)
    errors = Results(table).find("quick", "helsinki", "agrid-uni", "nce_shifted_100")
    assert errors is not None
    assert 0.01 < errors.mean < 0.2
    assert (tmp_path / "figures" / "results-quick.png").exists()
