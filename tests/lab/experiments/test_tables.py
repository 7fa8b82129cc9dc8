"""The tidy table, and the tables and figures made of it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointveil.cli import main
from pointveil.lab.experiments import work_through
from pointveil.lab.experiments.figures import draw_all
from pointveil.lab.experiments.tables import (
    SCHEMA,
    Results,
    Summary,
    epsilon_table,
    gather,
    main_table,
    markdown,
    printed,
    variants_table,
    write_table,
)
from pointveil.methods import METHODS

ROOT = Path(__file__).parents[3]


def made_up(**changes: Any) -> dict[str, Any]:
    row = {
        "experiment": "main", "city": "porto", "input": "as is", "method": "ugrid-uni", "label": "", "epsilon": 1.0,
        "seed": 0, "measure": "nce_100", "value": 0.1, "reason": None,
    }  # fmt: skip
    return {**row, **changes}


def results_of(*rows: dict[str, Any]) -> Results:
    return Results(pa.Table.from_pylist(list(rows), schema=SCHEMA))


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


def test_the_paper_prints_a_number_for_ten_methods_in_three_cities() -> None:
    paper = printed()

    assert set(paper["main"]) == {"beijing", "porto", "manhattan"}
    for rows in paper["main"].values():
        assert set(rows) == set(METHODS) - {"veil"}
        assert all(len(row) == 3 for row in rows.values())
    assert paper["main"]["beijing"]["agrid-kde"] == [0.285, 8.84, 63.82]
    assert paper["facilities"]["road"] == [0.95, 1.0]


def test_the_main_table_shows_paper_published_and_private_side_by_side() -> None:
    results = results_of(made_up(), made_up(method="ugrid-uni-as-published", value=0.2), made_up(method="veil"))

    text = main_table(results, "nce_100")

    assert "| `ugrid-uni` | 0.165 | 0.200 | 0.100 |" in text
    assert "| `veil` | – | – | 0.100 |" in text


def test_tables_by_variant_and_by_epsilon() -> None:
    results = results_of(
        made_up(experiment="splits", label="10–90"),
        made_up(experiment="epsilon", epsilon=0.5),
        made_up(experiment="epsilon", epsilon=2.0, value=0.05),
    )

    assert "| `ugrid-uni` | 10–90 | 0.100 |" in variants_table(results, "splits", "nce_100")
    assert "| `ugrid-uni` | 0.100 | 0.050 |" in epsilon_table(results, "epsilon", "porto", "nce_100")


def test_markdown_has_a_line_under_its_head() -> None:
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


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
