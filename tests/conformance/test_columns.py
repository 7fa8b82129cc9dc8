"""Every method can keep columns: paid for to the last part, saved, read again, and written as they came."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.columns import Column
from pointveil.errors import InputError
from pointveil.methods import METHODS
from pointveil.statement import Statement
from pointveil.world import World

KEEP: tuple[Column, ...] = (
    pv.Id("user"),
    pv.Time("ts", "2024-01-01/2024-03-01", tz="Europe/Lisbon"),
    pv.Category("kind", ["bus", "tram"], other="drop"),
    pv.Number("fare", 0, 10, bins=5, decimals=2),
)
# What is not kept is named in a warning, as is a request that was answered before.
pytestmark = [
    pytest.mark.usefixtures("rough_margins"),
    *(
        pytest.mark.filterwarnings(f"ignore:{text}:pointveil.errors.PointveilWarning")
        for text in ("Left out", "This request")
    ),
]
every_row = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def trips(people: NDArray[np.float64]) -> pa.Table:
    """Trips of which a tenth have no fare, and some have a kind that is not listed, or a time outside the period."""
    rng = np.random.default_rng(3)
    count = len(people)
    seconds = rng.integers(1704067200, 1709251200 + 86_400, count)
    return pa.table(
        {
            "user": pa.array([f"user {number}" for number in range(count)]),
            "lon": people[:, 0],
            "ts": pa.array(seconds * 1000, pa.timestamp("ms", "UTC")),
            "note": pa.array(["private"] * count),
            "lat": people[:, 1],
            "kind": pa.array(rng.choice(["bus", "tram", "boat"], count, p=[0.6, 0.3, 0.1])).dictionary_encode(),
            "fare": pa.array(rng.uniform(0, 12, count), mask=rng.random(count) < 0.1),
        }
    )


def rehearse(trips: pa.Table, world: World, keep: tuple[Column, ...] = KEEP, seed: int = 1) -> pv.Vault:
    return pv.Vault.rehearse(trips, world, epsilon=20, seed=seed, keep=keep)


@every_row
def test_columns_are_paid_for_and_come_out_as_they_came(name: str, trips: pa.Table, world: World) -> None:
    vault = rehearse(trips, world)

    found = pv.survey(vault, name, small=True)
    made = pv.draw(found, seed=5).to_arrow()

    assert vault.left == 0
    spent = {column.name: Fraction(0) for column in KEEP}
    for question in found.statement.questions:
        if ": " in question.purpose:
            spent[question.purpose.split(": ")[0]] += Fraction(question.epsilon)
    assert spent == {column.name: 20 * column.part_of_epsilon for column in KEEP}
    assert made.schema.remove_metadata() == trips.schema.remove(3)
    assert set(made["kind"].to_pylist()) <= {"bus", "tram"}
    assert len(set(made["user"].to_pylist())) == len(made)
    fares = made["fare"].drop_null().to_numpy()
    assert ((fares >= 0) & (fares <= 10)).all()


@every_row
def test_a_saved_survey_gives_the_same_rows(name: str, trips: pa.Table, world: World, tmp_path: Path) -> None:
    found = pv.survey(rehearse(trips, world), name)
    found.write(tmp_path / "trips.survey", key=None)

    first, again = pv.draw(found, seed=5), pv.draw(tmp_path / "trips.survey", seed=5)

    assert first.to_arrow().equals(again.to_arrow())
    assert not first.to_arrow().equals(pv.draw(found, seed=6).to_arrow())


def test_dropped_records_are_in_no_question(trips: pa.Table, world: World) -> None:
    kept = pa.compute.is_in(trips["kind"].cast(pa.string()), pa.array(["bus", "tram"]))

    whole, part = (pv.survey(rehearse(table, world), "ugrid-uni") for table in (trips, trips.filter(kept)))

    assert whole.statement.survey == part.statement.survey


def test_the_statement_tells_the_declarations_and_verifies(trips: pa.Table, world: World, tmp_path: Path) -> None:
    pq.write_table(trips, tmp_path / "trips.parquet")

    made = pv.release(
        tmp_path / "trips.parquet", world, epsilon=1, output=tmp_path / "out.parquet", keep=KEEP, key=None
    )

    assert made.statement.columns == tuple(column.to_dict() for column in KEEP)
    assert pv.verify(tmp_path / "out.parquet").statement == made.statement
    assert pv.read(tmp_path / "out.parquet").statement == made.statement


def test_columns_change_neither_the_points_nor_the_statement_of_who_keeps_none(trips: pa.Table, world: World) -> None:
    bare = pv.survey(rehearse(trips, world, ()), "ugrid-uni")

    assert "columns" not in bare.statement.to_json()
    assert isinstance(bare.statement, Statement)
    assert bare.prepared.laws is None


@pytest.mark.parametrize(
    ("keep", "complaint"),
    [
        (["when=time:2024-01-01/2024-03-01"], "no column 'when'"),
        (["lon=number:0..1"], "says where a record is"),
        (["ts=category:1,2"], "cannot be kept"),
        (["kind=category:bus", "kind=id"], "kept twice"),
    ],
)
def test_a_wrong_column_is_refused_before_anything_is_charged(
    keep: list[str], complaint: str, trips: pa.Table, world: World, tmp_path: Path
) -> None:
    ledger = pv.Ledger(tmp_path / "ledger.sqlite")

    with pytest.raises(InputError, match=complaint):
        pv.release(trips, world, epsilon=1, output=tmp_path / "out.parquet", keep=keep, ledger=ledger)

    assert not ledger.accounts()


def test_a_request_repeated_with_other_columns_is_refused(trips: pa.Table, world: World, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "epsilon": 1,
        "output": tmp_path / "out.parquet",
        "request": "mine",
        "method": "ugrid-uni",
        "unit": "point",
    }
    first = pv.release(trips, world, keep=["fare=number:0..10"], **options)

    again = pv.release(trips, world, keep=[pv.Number("fare", 0, 10)], **options)

    assert first.to_arrow().equals(again.to_arrow())
    with pytest.raises(InputError):
        pv.release(trips, world, keep=["fare=number:0..11"], **options)


def test_any_share_may_be_said(trips: pa.Table, world: World) -> None:
    keep = (pv.Number("fare", 0, 10, bins=5, share="1/3"),)

    found = pv.survey(rehearse(trips, world, keep), "ugrid-uni")

    assert sum(Fraction(q.epsilon) for q in found.statement.questions if q.purpose.startswith("fare: ")) == Fraction(
        20, 3
    )
