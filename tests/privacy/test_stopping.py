"""A release whose noisy total is hardly more than noise costs one share; the ledger sums up just what was lost."""

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import pointveil as pv
from pointveil.errors import StoppedError
from pointveil.ledger import Ledger, book
from pointveil.releases import NOISE_DEVIATIONS, is_noise
from pointveil.vault import NoisyCounts
from pointveil.world import World

ELSEWHERE = np.full((5000, 2), 3.0)
HUNDREDTH = Fraction(1, 100)


def ask(world: World, folder: Path, **options: Any) -> Any:
    given = {"epsilon": 1, "ledger": folder / "ledger.db", "dataset": "trips", "key": None, **options}
    return pv.release(ELSEWHERE, world, output=folder / "out.csv", **given)


def kinds(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "ledger.db")) as database:
        return [kind for (kind,) in database.execute("SELECT kind FROM event ORDER BY id")]


@pytest.fixture(autouse=True)
def never_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of nobody exceeds three deviations in seven of a thousand releases: not in a test."""
    monkeypatch.setattr("pointveil.releases.is_noise", is_noise)  # as it is, and not as all other tests have it
    monkeypatch.setattr("pointveil.releases.NOISE_DEVIATIONS", 12)


@pytest.mark.parametrize("method", list(pv.METHODS))
def test_every_method_asks_the_total_first_and_stops_for_its_share_alone(
    method: str, world: World, tmp_path: Path
) -> None:
    share = pv.METHODS[method].shares()["total"]

    with pytest.raises(StoppedError, match=f"Epsilon {float(share):g} stays charged to 'trips'"):
        ask(world, tmp_path, method=method)

    (account,) = Ledger(tmp_path / "ledger.db").accounts()
    assert (account.spent, account.charges) == (share, 1)
    assert account.units == (("point", share),)
    assert kinds(tmp_path)[-3:] == ["charge", "answer", "stop"]
    assert Ledger(tmp_path / "ledger.db").verify() == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


@pytest.mark.parametrize(
    ("crs", "says"),
    [
        (None, r"read as degrees EPSG:4326, with x = 'x' and y = 'y'\. If they are metres or feet, .* --crs"),
        ("EPSG:25832", r"read in EPSG:25832, with x = 'x' and y = 'y'\. If they are degrees, .* --crs"),
    ],
)
def test_a_stop_names_how_the_points_were_read_and_what_may_be_wrong(
    crs: str | None, says: str, world: World, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"x": ELSEWHERE[:, 0] * 1e5, "y": ELSEWHERE[:, 1] * 1e6}), tmp_path / "metres.parquet")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PointveilWarning)
        with pytest.raises(StoppedError, match=says):
            pv.release(tmp_path / "metres.parquet", world, epsilon=1, output=tmp_path / "out.csv", crs=crs)

    assert [account.spent for account in Ledger().accounts()] == [HUNDREDTH]


def test_a_stop_says_where_the_world_is_and_which_columns_may_have_dropped_records(
    world: World, tmp_path: Path
) -> None:
    table = pa.table({"lon": ELSEWHERE[:, 0], "lat": ELSEWHERE[:, 1], "day": ["soon"] * len(ELSEWHERE)})
    keep = "day=time:2024-01-01/2024-02-01;other=drop"

    says = f"Records whose 'day' cannot be read as declared were dropped.* around {world.place}, "
    with pytest.raises(StoppedError, match=says):
        pv.release(table, world, epsilon=1, output=tmp_path / "out.csv", keep=keep, dataset="trips")
    with pytest.raises(StoppedError) as without:
        pv.release(table.drop_columns("day"), world, epsilon=1, output=tmp_path / "out.csv", dataset="trips")

    assert "dropped" not in str(without.value)


def test_the_same_request_stops_again_at_no_cost_and_small_is_another_request(world: World, tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(StoppedError):
            ask(world, tmp_path, request="monday")
    with pytest.raises(pv.InputError, match="other settings"):
        ask(world, tmp_path, request="monday", small=True)
    assert [account.spent for account in Ledger(tmp_path / "ledger.db").accounts()] == [HUNDREDTH]

    with pytest.warns(pv.PointveilWarning):
        made = ask(world, tmp_path, request="tuesday", small=True, method="ugrid-uni")

    assert [account.spent for account in Ledger(tmp_path / "ledger.db").accounts()] == [1 + HUNDREDTH]
    assert "the operator said so beforehand" in made.statement.post_processing[-1]


def test_what_is_given_back_can_be_spent_and_what_is_reserved_cannot(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_cap("trips", 1)
    refused: list[str] = []

    def meanwhile(self: Ledger, *question: Any) -> bytes:
        try:
            self.charge(dataset="trips", content=b"other", epsilon="1/2", purpose={})
        except pv.BudgetError as fault:
            refused.append(str(fault))
        return keep(self, *question)

    keep = Ledger.keep
    monkeypatch.setattr(Ledger, "keep", meanwhile)
    with pytest.raises(StoppedError):
        ask(world, tmp_path)
    monkeypatch.setattr(Ledger, "keep", keep)

    assert len(refused) == 1  # the whole epsilon was reserved while the total was asked
    ledger.charge(dataset="trips", content=b"other", epsilon="0.99", purpose={})
    with pytest.raises(pv.BudgetError):
        ledger.charge(dataset="trips", content=b"other", epsilon="0.000001", purpose={})
    assert ledger.verify() == []


def test_what_stays_charged_is_never_less_than_what_was_asked(tmp_path: Path) -> None:
    """A third is no whole number of millionths: it is rounded up, as a charge is."""
    ledger = Ledger(tmp_path / "ledger.db")
    charge = ledger.charge(dataset="trips", content=b"x", epsilon=1, purpose={}, request="may", seed=1)

    ledger.stop(charge.entry, Fraction(1, 3), 1)

    (account,) = ledger.accounts()
    assert Fraction(1, 3) <= account.spent < Fraction(1, 3) + Fraction(1, 10**6)
    assert ledger.verify() == []


def test_a_renamed_copy_is_given_back_to_the_one_account(world: World, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_cap("copy", 5)
    for name in ("trips", "copy"):
        with pytest.raises(StoppedError):
            ask(world, tmp_path, dataset=name)

    assert [(account.name, account.spent) for account in ledger.accounts()] == [("copy", 2 * HUNDREDTH)]
    assert ledger.verify() == []


def test_a_crash_before_the_rest_is_given_back_keeps_all_of_it_spent_until_the_request_goes_on(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(book.Ledger, "stop", crash)
        with pytest.raises(KeyboardInterrupt):
            ask(world, tmp_path, request="monday")
    assert [account.spent for account in Ledger(tmp_path / "ledger.db").accounts()] == [1]

    with pytest.warns(pv.PointveilWarning, match="goes on"), pytest.raises(StoppedError, match=r"0\.01 stays"):
        ask(world, tmp_path, request="monday")

    assert [account.spent for account in Ledger(tmp_path / "ledger.db").accounts()] == [HUNDREDTH]


def test_the_number_of_rows_that_is_asked_for_changes_nothing(world: World, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        ask(world, tmp_path, count=5000)

    assert not (tmp_path / "out.csv").exists()


def test_who_asks_step_by_step_is_stopped_too_and_a_rehearsal_is_not(world: World, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    vault = pv.Vault.open(ELSEWHERE, world, epsilon=1, ledger=ledger)

    with pytest.raises(StoppedError):
        pv.survey(vault)

    assert [account.spent for account in ledger.accounts()] == [HUNDREDTH]
    with pytest.raises(pv.BudgetError):
        pv.survey(vault)
    assert pv.survey(pv.Vault.rehearse(ELSEWHERE, world, epsilon=1, seed=1)).answers


def test_the_choice_of_the_number_of_rows_is_on_record(people_file: Path, world: World) -> None:
    surveyed = pv.survey(pv.Vault.rehearse(people_file, world, epsilon=1, seed=1), "ugrid-uni")

    chosen, not_chosen = (pv.draw(surveyed, count=count).statement.post_processing for count in (10, None))

    assert "rows chosen by the operator" in chosen[-1]
    assert "operator" not in " ".join(not_chosen)


def test_noise_is_told_from_people_by_three_deviations_of_all_cells_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pointveil.releases.NOISE_DEVIATIONS", NOISE_DEVIATIONS)  # as it is

    def total(*values: int) -> NoisyCounts:
        return NoisyCounts(np.array(values), "total", HUNDREDTH)

    assert is_noise(total(424))  # three deviations are 3 · √2 · 100
    assert not is_noise(total(425))
    assert is_noise(total(212, 212, 212, 212))  # of four cells, twice as much
    assert not is_noise(total(213, 212, 212, 212))


@pytest.mark.parametrize("noise", [10**6, -(10**6)])
def test_only_the_noisy_total_decides(
    noise: int, people: NDArray[np.float64], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody, and noise that says a million; many people, and noise that says fewer than none."""

    class Fixed:
        def __init__(self, epsilon: Fraction) -> None:
            self.epsilon = epsilon

        def draw(self, size: int, _: object) -> NDArray[np.int64]:
            return np.full(size, noise)

    monkeypatch.setattr("pointveil.vault.vault.NOISES", {"exact": Fixed})
    stops, stopped = noise < 0, False
    real = people if stops else ELSEWHERE

    try:
        pv.release(
            real, world, epsilon=1, output=tmp_path / "out.csv", ledger=tmp_path / "ledger.db", dataset="trips",
            method="ugrid-uni", count=10, key=None,
        )  # fmt: skip
    except StoppedError:
        stopped = True

    assert stopped == stops
    assert Ledger(tmp_path / "ledger.db").accounts()[0].spent == (HUNDREDTH if stops else 1)


def tampered() -> Iterator[tuple[str, str]]:
    """Yield changes to a stop, with triggers gone, that `verify` must see."""
    yield "UPDATE event SET micro = micro + 1, spent = spent - 1, named = named - 1 WHERE kind = 'stop'", "given back"
    yield "UPDATE event SET exact = '0' WHERE kind = 'stop'", "given back"
    yield "UPDATE event SET spent = spent - 1 WHERE kind = 'stop'", "sums"


@pytest.mark.parametrize(("change", "says"), list(tampered()))
def test_verify_sees_that_too_much_was_given_back(change: str, says: str, world: World, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        ask(world, tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as database:
        database.execute("DROP TRIGGER event_is_never_changed")
        database.execute(change)

    assert says in " ".join(Ledger(tmp_path / "ledger.db").verify())


GIVE_BACK = """
INSERT INTO event SELECT id + 1, time, 'stop', account, name, NULL, {0}, '0', entry, NULL, NULL, NULL, NULL, NULL, salt,
hash, spent - {0}, charges, named - {0}, NULL, hash FROM event ORDER BY id DESC LIMIT 1
"""


@pytest.mark.parametrize("micro", [1, 10**6])
def test_the_database_itself_refuses_to_give_back_twice_or_all(micro: int, world: World, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        ask(world, tmp_path)

    with (
        closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as database,
        pytest.raises(sqlite3.IntegrityError, match="given back, in part and once"),
    ):
        database.execute(GIVE_BACK.format(micro))


def test_what_somebody_else_asked_of_the_same_entry_is_not_given_back(
    plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One vault goes on, and its answers are seen; another, of the same request, stops."""
    ledger, source = Ledger(tmp_path / "ledger.db"), pa.table({"lon": [10.001], "lat": [50.001]})
    options: dict[str, Any] = {"epsilon": 1, "ledger": ledger, "dataset": "one", "request": "monday", "seed": 4}
    assert (
        len(pv.survey(pv.Vault.open(source, plain_world, **options), "ugrid-uni", ledger=ledger, small=True).answers)
        == 2
    )
    monkeypatch.setattr("pointveil.releases.is_noise", lambda _: True)

    with pytest.raises(StoppedError):
        pv.survey(pv.Vault.open(source, plain_world, **options), "ugrid-uni", ledger=ledger)

    assert ledger.accounts()[0].spent == 1
    assert ledger.verify() == []
