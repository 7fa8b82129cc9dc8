"""Plans: what they stand for, and what is wrong with a bad one."""

import tomllib
from pathlib import Path

import pytest

from pointveil.errors import InputError
from pointveil.lab.as_published import AS_PUBLISHED
from pointveil.lab.experiments import Plan
from pointveil.lab.experiments.plan import parse_measure
from pointveil.methods import METHODS

FOLDER = Path(__file__).parents[3] / "experiments"
PLANS = sorted(FOLDER.glob("*.toml"))
GOOD = {"name": "a", "title": "A", "cities": ["porto"], "methods": ["ugrid-uni"], "measures": ["nce_100"]}


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_every_plan_in_the_repository_is_good_and_named_as_its_file(path: Path) -> None:
    plan = Plan.read(path)

    assert plan.name == path.stem
    assert plan.all_methods() or plan.variants


def test_there_is_a_plan_for_every_experiment_of_the_paper() -> None:
    assert {path.stem for path in PLANS} >= {
        "main", "epsilon", "budget-splits", "clusters", "on-roads", "larger-area",
        "range-queries", "hotspots", "facilities", "visual", "quick",
    }  # fmt: skip


def test_the_papers_methods_are_all_in_the_main_plan() -> None:
    methods = set(Plan.read(FOLDER / "main.toml").all_methods())

    assert methods == {*METHODS, *AS_PUBLISHED}


def test_a_star_stands_for_rows_of_one_table_only() -> None:
    plan = Plan.model_validate({**GOOD, "methods": ["*-kde"]})

    assert plan.all_methods() == ("ugrid-kde", "agrid-kde", "clust-kde")


def test_the_papers_split_of_every_method_is_allowed() -> None:
    for variant in Plan.read(FOLDER / "budget-splits.toml").variants:
        METHODS[variant.method].with_split(variant.split)


def test_a_measure_may_have_an_option() -> None:
    assert parse_measure("most_influential(choose=5)") == ("most_influential", {"choose": 5})
    assert parse_measure("medd") == ("medd", {})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": ["nonsense"]}, "no method 'nonsense'"),
        ({"cities": ["atlantis"]}, "no city 'atlantis'"),
        ({"measures": ["beauty"]}, "no measure 'beauty'"),
        ({"epsilons": ["0"]}, "more than 0"),
        ({"seeds": 0}, "seeds"),
        ({"colour": "red"}, "colour"),
        ({"cities": []}, "cities"),
    ],
)
def test_a_bad_plan_is_refused_with_the_reason(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("\n".join(f"{key} = {_toml(value)}" for key, value in {**GOOD, **change}.items()))

    with pytest.raises(InputError, match=words) as caught:
        Plan.read(path)

    assert "plan.toml" in str(caught.value)


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("not toml at all")

    with pytest.raises(InputError, match="not a plan in TOML"):
        Plan.read(tmp_path / "plan.toml")
    with pytest.raises(InputError, match="There is no plan"):
        Plan.read(tmp_path / "none.toml")


def _toml(value: object) -> str:
    text = str(value).replace("'", '"') if not isinstance(value, str) else f'"{value}"'
    tomllib.loads(f"x = {text}")
    return text
