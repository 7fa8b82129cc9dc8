"""No forged declaration of a kept column verifies: not other bins, nor another share, nor a list that was exchanged."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.statement.test_forgeries import NASTY, SECONDS, changed, forge, original, places, seconds_until_refused

import pointveil as pv
from pointveil.cli import main
from pointveil.columns import Column
from pointveil.columns.declared import LONGEST_NAME, MOST_SIGNS
from pointveil.errors import InputError, VerificationError
from pointveil.statement import Statement, digest_of
from pointveil.surveys import Survey
from pointveil.synthetic import statement_path
from pointveil.verification import verify
from pointveil.world import World

KEEP: tuple[Column, ...] = (
    pv.Time("at", "2024-03-04/2024-04-08"),
    pv.Category("kind", ["bus", "tram"], other="none", share="1/10"),
    pv.Number("fare", 0, 40, bins=8, other="drop"),
    pv.Id("who"),
)
Content = dict[str, Any]


def people(count: int = 40) -> pa.Table:
    """Return records with all kinds of values."""
    return pa.table(
        {
            "lon": [10.003 + number * 1e-5 for number in range(count)],
            "at": [f"2024-03-{5 + number % 20:02d}T{number % 24:02d}:30:00" for number in range(count)],
            "lat": [50.002 + number * 1e-5 for number in range(count)],
            "kind": [("bus", "tram", "zeppelin", None)[number % 4] for number in range(count)],
            "fare": [float(number) for number in range(count)],
            "who": [f"p{number}" for number in range(count)],
        }
    )


@pytest.fixture(scope="module")
def surveyed(world: World) -> Survey:
    return pv.survey(pv.Vault.open(people(), world, epsilon=1, ledger=None, keep=KEEP), "ugrid-uni", small=True)


@pytest.fixture
def release(surveyed: Survey, tmp_path: Path) -> Path:
    path = tmp_path / "synthetic.csv"
    pv.draw(surveyed, count=5, seed=1).write(path, key=None)
    return path


def forge_columns(release: Path, content: Content) -> None:
    """Write a forged statement in which the hash of the declarations is right, too."""
    survey = {**content["survey"], "columns_sha256": digest_of({"columns": content["columns"]})}
    forge(release, {**content, "survey": survey})


def test_a_release_with_kept_columns_verifies_and_says_what_was_declared(release: Path) -> None:
    statement = verify(release).statement

    assert [column["name"] for column in statement.columns] == ["at", "kind", "fare", "who"]
    assert statement.columns[1]["values"] == ["bus", "tram"]
    assert statement.output is not None
    assert statement.output.columns == ("lon", "at", "lat", "kind", "fare", "who")
    assert any("link nothing" in step for step in statement.post_processing)
    assert any("copied" in limit for limit in statement.not_promised)
    forge_columns(release, original(release))
    verify(release)


def test_every_field_of_a_declaration_is_judged(release: Path) -> None:
    content = original(release)
    slowest, tried = 0.0, 0
    for place in places({"columns": content["columns"]}):
        for value in NASTY:
            try:
                forge_columns(release, changed(content, place, value))
            except (ValueError, TypeError):  # what no digest can fit
                continue
            if not may_stand(place, value):
                slowest, tried = max(slowest, seconds_until_refused(release)), tried + 1

    assert tried > 1000
    assert slowest < SECONDS


def may_stand(place: tuple[Any, ...], value: Any) -> bool:
    """Whether somebody may have declared this, so that only what is in the file tells."""
    if place[-1] == "decimals":
        return type(value) is int and value == 0
    if isinstance(value, str):
        is_value = len(place) == 4 and value == value.strip() != ""
        free = is_value or place[1:] == (1, "other")
        return free and value.isprintable() and len(value) < MOST_SIGNS - 1000
    return (
        isinstance(value, float) and place[-1] in ("low", "high") and (value < 40 if place[-1] == "low" else value > 0)
    )


def other_list(content: Content) -> None:
    content["columns"][1]["values"] = ["bus", "tram", "ferry"]


def shorter_list(content: Content) -> None:
    content["columns"][1]["values"] = ["bus"]


def other_names(content: Content) -> None:
    """The bins stay as they are, and mean something else."""
    content["columns"][1]["values"] = ["tram", "bus"]


def longer_period(content: Content) -> None:
    content["columns"][0]["period"] = "2024-03-04/2024-05-08"


def shifted_period(content: Content) -> None:
    content["columns"][0]["period"] = "2025-03-03/2025-04-07"


def finer_hours(content: Content) -> None:
    content["columns"][0]["resolution"] = "15min"


def other_bins(content: Content) -> None:
    content["columns"][2]["bins"] = 7


def others_not_dropped(content: Content) -> None:
    content["columns"][2]["other"] = "none"


def other_share(content: Content) -> None:
    content["columns"][1]["share"] = "1/20"


def no_share(content: Content) -> None:
    del content["columns"][1]["share"]


def share_moved(content: Content) -> None:
    """The sum stays, but one column says that it cost what another did."""
    first, second = content["columns"][1], content["columns"][2]
    first["share"], second["share"] = second["share"], first["share"]


def questions_renamed(content: Content) -> None:
    for question in content["questions"]:
        question["purpose"] = question["purpose"].replace("kind: ", "fare: ")


def exchanged_columns(content: Content) -> None:
    content["columns"][1], content["columns"][2] = content["columns"][2], content["columns"][1]


def column_left_out(content: Content) -> None:
    del content["columns"][1]


def all_left_out(content: Content) -> None:
    del content["columns"], content["survey"]["columns_sha256"]


def column_added(content: Content) -> None:
    content["columns"].append({"kind": "id", "name": "phone"})


def output_without_a_column(content: Content) -> None:
    content["output"]["columns"].remove("kind")


def output_with_a_column_twice(content: Content) -> None:
    content["output"]["columns"].append("kind")


# Whoever makes no hash of the declarations anew is always found out; these even if they do.
FORGERIES: dict[Callable[[Content], None], bool] = {
    other_list: True,
    shorter_list: True,
    other_names: False,
    longer_period: True,
    shifted_period: False,
    finer_hours: True,
    other_bins: True,
    others_not_dropped: True,
    other_share: True,
    no_share: True,
    share_moved: True,
    questions_renamed: True,
    exchanged_columns: False,
    column_left_out: True,
    all_left_out: True,
    column_added: True,
    output_without_a_column: True,
    output_with_a_column_twice: True,
}


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda each: str(each.__name__))
def test_a_forged_declaration_is_refused(
    forgery: Callable[[Content], None], release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = original(release)
    forgery(content)

    for write in (forge, forge_columns)[: 2 if FORGERIES[forgery] and "columns" in content else 1]:
        write(release, content)
        with pytest.raises(SystemExit) as stopped:
            main(["verify", str(release)])
        assert stopped.value.code == 4
        assert "does not hold" in capsys.readouterr().err


def test_answers_about_one_column_cannot_be_passed_off_as_those_about_another(surveyed: Survey, tmp_path: Path) -> None:
    """A table of codes that was exchanged, in a survey whose statement is left as it is."""
    numbers = [number for number, answer in enumerate(surveyed.answers) if "in all" in answer.purpose]
    answers: list[Any] = list(surveyed.answers)
    first, second = answers[numbers[0]], answers[numbers[-1]]
    answers[numbers[0]] = dataclasses.replace(first, values=second.values)
    answers[numbers[-1]] = dataclasses.replace(second, values=first.values)
    path = tmp_path / "people.survey"
    path.write_bytes(dataclasses.replace(surveyed, answers=tuple(answers)).to_bytes())

    with pytest.raises(VerificationError, match="not those to the questions"):
        verify(path)
    with pytest.raises(VerificationError):
        Survey.read(path)


def test_other_names_for_the_same_bins_are_no_survey_that_can_be_drawn_from(surveyed: Survey, tmp_path: Path) -> None:
    columns = [dict(column) for column in surveyed.statement.columns]
    columns[1]["values"] = ["tram", "bus"]
    forged = surveyed.statement.model_copy(update={"columns": tuple(columns)})
    path = tmp_path / "people.survey"
    path.write_bytes(dataclasses.replace(surveyed, statement=forged).to_bytes())

    with pytest.raises(VerificationError, match="kept columns"):
        Survey.read(path)


def test_a_kept_value_that_was_changed_is_noticed_if_the_statement_lies_beside(
    surveyed: Survey, tmp_path: Path
) -> None:
    path = tmp_path / "synthetic.csv"
    pv.draw(surveyed, count=200, seed=1).write(path, key=None)
    path.write_text(path.read_text().replace("bus", "tram", 1))

    with pytest.raises(VerificationError, match="bytes"):
        verify(path)


def test_a_kept_value_that_was_changed_is_noticed_by_the_statement_inside_the_file(
    surveyed: Survey, tmp_path: Path
) -> None:
    path = tmp_path / "synthetic.parquet"
    pv.draw(surveyed, count=50, seed=1).write(path, key=None)
    statement_path(path).unlink()
    assert any("kept columns, bin by bin" in check for check in verify(path).checks)
    table = pq.read_table(path)
    kinds = ["bus" if kind == "tram" else "tram" for kind in table["kind"].to_pylist()]

    pq.write_table(table.set_column(3, table.schema.field("kind"), pa.array(kinds)), path)

    with pytest.raises(VerificationError, match="kept columns"):
        verify(path)


@pytest.mark.parametrize(
    "keep",
    [
        pv.Category("kind", ["bus", "tram\x1b[2J"]),
        pv.Category("kind", ["bus"], other="\u202enone"),
        pv.Category("kind", [f"{number} {'x' * 100}" for number in range(MOST_SIGNS // 100)]),
        pv.Id("x" * (LONGEST_NAME + 1)),
    ],
    ids=["escape", "turned round", "too long a list", "too long a name"],
)
def test_what_no_statement_could_hold_is_refused_before_anything_is_charged(
    keep: Column, world: World, tmp_path: Path
) -> None:
    with pytest.raises(InputError):
        pv.Vault.open(people(), world, epsilon=1, ledger=tmp_path / "ledger.db", keep=keep)

    assert not (tmp_path / "ledger.db").exists()


def test_the_longest_declarations_that_are_taken_make_a_statement_that_verifies(world: World, tmp_path: Path) -> None:
    values = [f"{number:04d} {'ä' * 40}" for number in range(1000)]
    table = people().set_column(3, "kind", pa.array([values[number] for number in range(40)]))
    vault = pv.Vault.open(table, world, epsilon=1, ledger=None, keep=pv.Category("kind", values))

    pv.synthesize(vault, "ugrid-uni", count=5, small=True).write(tmp_path / "synthetic.csv", key=None)

    assert verify(tmp_path / "synthetic.csv")


def test_a_statement_without_kept_columns_says_nothing_of_them(world: World) -> None:
    statement = pv.survey(pv.Vault.open(people(), world, epsilon=1, ledger=None), "ugrid-uni", small=True).statement

    content = json.loads(statement.to_json())
    assert "columns" not in content
    assert "columns_sha256" not in content["survey"]
    assert Statement.model_validate({name: value for name, value in content.items() if name != "digest"}) == statement
