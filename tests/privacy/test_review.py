"""Ways in which one record, one thread or one failure could have told something: each was tried, and none does."""

import dataclasses
import os
import sys
import threading
import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointveil.cells import Everywhere, Grid
from pointveil.cli import main
from pointveil.engines import local, spark
from pointveil.errors import BudgetError, InputError
from pointveil.formats import PointSource
from pointveil.ledger import Ledger
from pointveil.partition import UniformGrid
from pointveil.releases import survey
from pointveil.surveys import Recorder, Survey
from pointveil.vault import Share, Vault
from pointveil.vault import vault as vault_module
from pointveil.vault.account import Account
from pointveil.vault.kernel import below
from pointveil.vault.noise import NOISES, SeededWords, secure_words
from pointveil.vault.protection import Protection
from pointveil.vault.vault import make_engine
from pointveil.world import World

WHOLE = Share("total", Fraction(1))


def table(count: int = 50, **columns: object) -> pa.Table:
    return pa.table({"lon": [10.001] * count, "lat": [50.001] * count, **columns})


def test_rejected_words_of_the_operating_system_are_drawn_again() -> None:
    """A limit just above 2**63 rejects half of all words."""
    limits = np.full(2000, 2**63 + 1, dtype=np.uint64)

    assert (below(limits, secure_words) < limits).all()


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_people_without_a_name_are_not_one_person(blank: str, plain_world: World) -> None:
    names = ["a"] * 5 + [blank] * 45

    vault = Vault.rehearse(table(who=names), plain_world, epsilon=1, seed=1, person="who", max_points=2)

    assert vault.exact_count(Everywhere()).tolist() == [2]


@pytest.mark.parametrize("kind", [pa.binary(2), pa.binary_view(), pa.large_binary(), pa.binary()])
def test_any_bytes_can_name_a_person(kind: pa.DataType, plain_world: World) -> None:
    names = pa.array([b"\xff\xfe", b"ab", b"\xff\xfe"], kind)

    vault = Vault.rehearse(table(3, who=names), plain_world, epsilon=1, seed=1, person="who", max_points=1)

    assert vault.exact_count(Everywhere()).tolist() == [2]


def test_one_new_record_that_makes_pandas_read_a_chunk_as_text_splits_nobody(plain_world: World) -> None:
    """`pd.read_csv` types each chunk by itself: numbers in one, texts in the next, because of one record there."""
    pd = pytest.importorskip("pandas")
    numbers = [number % 100 for number in range(2000)]
    kept = []
    for who in (numbers, [*numbers[:1000], *map(str, numbers[1000:]), "x"]):
        frame = pd.DataFrame({"lon": 10.001, "lat": 50.001, "who": pd.Series(who, dtype=object)})
        vault = Vault.rehearse(frame, plain_world, epsilon=1, seed=1, person="who", max_points=8)
        kept.append(int(vault.exact_count(Everywhere())[0]))

    assert kept == [800, 801]


def test_one_odd_value_does_not_change_how_others_are_read(plain_world: World) -> None:
    pd = pytest.importorskip("pandas")
    kept = []
    for extra in ([], ["x"], [3.5], [None], [("a", 1)]):
        who = pd.Series([1, 2, 1, 2, None, 1, *extra], dtype=object)
        frame = pd.DataFrame({"lon": [10.001] * len(who), "lat": [50.001] * len(who), "who": who})
        vault = Vault.rehearse(frame, plain_world, epsilon=1, seed=1, person="who", max_points=2)
        kept.append(int(vault.exact_count(Everywhere())[0]))

    assert max(kept) - min(kept) <= 1
    assert kept[0] == 4


def test_threads_cannot_spend_the_same_budget_twice(plain_world: World) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(30):
            vault = Vault.open(table(), plain_world, epsilon=1, ledger=None)
            answers: list[object] = []

            def ask(vault: Vault = vault, answers: list[object] = answers) -> None:
                try:
                    answers.append(vault.count(Everywhere(), WHOLE))
                except BudgetError:
                    return

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 1
            assert vault.left == 0
    finally:
        sys.setswitchinterval(interval)


class TooMuch:
    """Cells that ask for more memory than there is, and would say how many points there are."""

    def __len__(self) -> int:
        return 1

    def locate(self, xy: np.ndarray) -> np.ndarray:
        raise MemoryError(f"cannot hold {len(xy)} points")


class Broken:
    """Cells that fail, with points at hand."""

    def __len__(self) -> int:
        return 1

    def locate(self, xy: np.ndarray) -> np.ndarray:
        raise KeyError(str(xy))


@pytest.mark.parametrize("cells", [TooMuch(), Broken()])
def test_a_failure_carries_nothing_of_the_points(cells: TooMuch | Broken, plain_world: World) -> None:
    vault = Vault.open(table(), plain_world, epsilon=1)

    with pytest.raises((MemoryError, RuntimeError)) as caught:
        vault.count(cells, WHOLE)

    assert "50" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@dataclasses.dataclass
class Failing:
    """Cells that fail in a way of their own."""

    fault: Exception

    def __len__(self) -> int:
        return 1

    def locate(self, xy: np.ndarray) -> np.ndarray:
        del xy
        raise self.fault


def test_no_failure_says_of_which_kind_it_is(plain_world: World) -> None:
    """A record may decide what goes wrong, so the words are the same."""
    said = set()
    for fault in (
        KeyError("x"),
        ValueError(),
        OSError(5, "disk"),
        ZeroDivisionError(),
        UnicodeError(),
        StopIteration(),
    ):
        with pytest.raises(RuntimeError) as caught:
            Vault.open(table(), plain_world, epsilon=1, ledger=None).count(Failing(fault), WHOLE)
        said.add(str(caught.value))

    assert len(said) == 1


class TooLong(np.ndarray):
    """An array of which no part can be taken for want of memory, which tells how long the part would be."""

    def __getitem__(self, rows: Any) -> NoReturn:
        raise MemoryError(f"Unable to allocate an array with shape {np.asarray(rows).shape}")


class Halves(Everywhere):
    """Cells that are made of others, which cannot be added up."""

    base = Grid((0.0, 0.0, 5000.0, 5000.0), 4, 4)
    of_base = np.zeros(16, dtype=np.int64).view(TooLong)


def test_adding_up_finer_cells_tells_no_number_if_memory_is_short(plain_world: World) -> None:
    vault = Vault.open(table(), plain_world, epsilon=1)

    with pytest.raises(MemoryError) as caught:
        vault.count(Halves(), WHOLE)

    assert "shape" not in str(caught.value)
    assert caught.value.__context__ is None


def test_data_that_cannot_be_read_are_charged_all_the_same(
    plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    vault = Vault.open(table(), plain_world, epsilon=1, ledger=ledger, dataset="trips")
    monkeypatch.setattr(local, "fingerprint", lambda _: 1 / 0)

    with pytest.raises(RuntimeError, match="price stays paid"):
        vault.count(Everywhere(), WHOLE)

    assert [account.spent for account in ledger.accounts()] == [1]


def test_what_was_charged_by_name_alone_is_not_read_later(plain_world: World, tmp_path: Path) -> None:
    """A file that could not be read at first would not be known again by its content under another name."""
    ledger = Ledger(tmp_path / "ledger.db")
    vault = Vault.open(table(), plain_world, epsilon=2, ledger=ledger, dataset="trips")
    with pytest.raises(MemoryError):
        vault.count(TooMuch(), WHOLE)

    with pytest.raises(BudgetError, match="closed"):
        vault.count(Everywhere(), WHOLE)


def test_a_file_that_changes_between_questions_is_refused(
    plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "KEEP_AT_MOST", 0)
    path = tmp_path / "live.parquet"
    pq.write_table(table(100, who=["a"] * 100), path)
    vault = Vault.open(path, plain_world, epsilon=1, person="who", max_points=8)
    vault.count(Everywhere(), Share("first", Fraction(1, 2)))

    pq.write_table(table(5000, who=["a"] * 5000), path)
    os.utime(path, ns=(1, 1))

    with pytest.raises(RuntimeError, match="changed while it was read"):
        vault.count(Everywhere(), Share("second", Fraction(1, 2)))


@pytest.mark.parametrize("person", [None, "who"])
def test_a_file_that_changes_while_its_only_question_is_answered_is_refused(
    plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, person: str | None
) -> None:
    path = tmp_path / "live.parquet"
    pq.write_table(table(100, who=["a"] * 100), path)
    vault = Vault.open(path, plain_world, epsilon=1, person=person, max_points=8, ledger=None)
    honest = PointSource.batches

    def batches(self: PointSource) -> Any:
        yield from honest(self)
        os.utime(path, ns=(1, 1))

    monkeypatch.setattr(PointSource, "batches", batches)

    with pytest.raises(RuntimeError, match="changed while it was read"):
        vault.count(Everywhere(), WHOLE)


def test_only_a_rehearsal_takes_other_randomness(plain_world: World) -> None:
    from pointveil.formats import open_points

    engine = make_engine(open_points(table()), plain_world, Protection())

    with pytest.raises(InputError, match="Only a rehearsal"):
        Vault(engine, plain_world, Account(Fraction(1)), Protection(), words=SeededWords(1))


@pytest.mark.parametrize("points", [Fraction(3, 2), 1.5, float("nan"), True, "3", 0, -1])
def test_persons_count_for_whole_points_and_crowds_have_whole_points(points: Any, plain_world: World) -> None:
    """With 3/2, two points of a person were kept, and a crowd had two: noise was for one and a half."""
    source = table(who=["one"] * 50)
    with pytest.raises(ValueError, match="whole number"):
        Vault.open(source, plain_world, epsilon=2, person="who", max_points=points)
    vault = Vault.open(source, plain_world, epsilon=2, person="who")

    with pytest.raises(ValueError, match="whole number"):
        vault.use_at_most(points)
    vault.use_at_most(1)
    with pytest.raises(ValueError, match="whole number"):
        vault.crowding(Everywhere(), points, WHOLE)
    assert vault.left == 2


def test_a_survey_does_not_carry_the_names_of_other_columns(plain_world: World, tmp_path: Path) -> None:
    survey(Vault.open(table(secret_diagnosis=["x"] * 50), plain_world, epsilon=1), "ugrid-uni", small=True).write(
        tmp_path / "s"
    )

    assert b"secret_diagnosis" not in (tmp_path / "s").read_bytes()
    assert Survey.read(tmp_path / "s").layout.left_out == ()


def test_a_statement_of_a_rehearsal_guarantees_nothing(plain_world: World) -> None:
    vault = Vault.rehearse(table(), plain_world, epsilon=1, seed=1)
    vault.count(Grid(plain_world.bounds, 2, 2), WHOLE)

    assert vault.statement.guarantee.definition == "none: a rehearsal"


class Neighbours:
    """Cells and sites that look at the points beside."""

    def __len__(self) -> int:
        return 100

    def site_counts(self) -> np.ndarray:
        return np.full(100, 100)

    def locate(self, xy: np.ndarray) -> np.ndarray:
        return np.full(len(xy), min(len(xy), 99))

    def locate_sites(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(xy), dtype=int), self.locate(xy)


class Fractions(Neighbours):
    """Cells that are no whole numbers."""

    def locate(self, xy: np.ndarray) -> np.ndarray:
        return np.full(len(xy), 0.5)


@pytest.mark.parametrize("cells", [Neighbours(), Fractions()])
@pytest.mark.parametrize("question", ["count", "scatter"])
def test_cells_that_look_at_neighbours_are_refused_before_noise_is_drawn(
    cells: Neighbours, question: str, plain_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault.open(table(50), plain_world, epsilon=1)
    drawn: list[object] = []
    monkeypatch.setattr(NOISES["exact"], "draw", lambda *_: drawn.append(1))
    monkeypatch.setattr(vault_module, "scatter_tokens", lambda *_, **__: drawn.append(1))

    asked: dict[str, Callable[[], object]] = {
        "count": lambda: vault.count(cells, WHOLE),
        "scatter": lambda: vault.scatter(cells, np.ones(100, dtype=np.int64), WHOLE),
    }
    with pytest.raises(TypeError, match=r"^locate must .* Epsilon 1 stays paid\.$") as caught:
        asked[question]()

    assert not drawn
    assert "50" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_damaged_file_is_called_damaged_and_what_was_charged_is_said(plain_world: World, tmp_path: Path) -> None:
    path = tmp_path / "people.geojson"
    feature = '{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[10.001,50.001]}}'
    path.write_text('{"type":"FeatureCollection","features":[' + ",".join([feature] * 5)[:-20])
    ledger = Ledger(tmp_path / "ledger.db")

    with pytest.raises(
        InputError, match=r"people\.geojson is not whole .* damaged.* Epsilon 1/2 stays paid\.$"
    ) as caught:
        Vault.open(path, plain_world, epsilon="1/2", ledger=ledger).count(Everywhere(), Share("a", Fraction(1, 4)))

    assert caught.value.__context__ is None
    assert [account.spent for account in ledger.accounts()] == [Fraction(1, 2)]


def test_the_command_line_ends_with_2_for_a_damaged_file(
    world_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"lon": np.linspace(10, 10.01, 5000), "lat": np.linspace(50, 50.01, 5000)}), path)
    content = bytearray(path.read_bytes())
    content[100:30000] = bytes(29900)
    path.write_bytes(content)

    with pytest.raises(SystemExit, match="2"):
        main(["synthesize", str(path), str(tmp_path / "o.parquet"), "--world", str(world_file), "--epsilon", "1/2"])

    said = " ".join(capsys.readouterr().err.split())
    assert "people.parquet is damaged: not all of it can be read. Epsilon 1/2 stays paid." in said


def test_the_log_of_a_cluster_shows_nothing_of_what_failed_in_a_task() -> None:
    class Failing:
        def count(self, batches: object) -> NoReturn:
            raise ValueError(f"a record of alice: {batches}")

    with pytest.raises(RuntimeError, match="a task failed") as caught:
        list(spark._run(SimpleNamespace(value=Failing()), "count", iter(())))

    assert "alice" not in "".join(traceback.format_exception(caught.value))


def requested(world: World, ledger: Ledger, **options: Any) -> Vault:
    """Open a vault for a request that is charged once, however often it is asked."""
    given: dict[str, Any] = {"epsilon": 1, "dataset": "trips", "request": "monday", "seed": 4, "ledger": ledger}
    return Vault.open(table(), world, **given | options)


@pytest.mark.parametrize("other", [{"epsilon": 2}, {"epsilon": "1/2"}, {"dataset": "others"}])
def test_a_request_goes_on_at_its_own_price_and_under_its_own_name(
    other: dict[str, Any], plain_world: World, tmp_path: Path
) -> None:
    """A charge of 1 paid for answers that cost 2, or for those about a dataset that was not charged."""
    ledger = Ledger(tmp_path / "ledger.db")
    requested(plain_world, ledger).pay()

    with pytest.raises(InputError, match="another dataset, or at another price"):
        survey(requested(plain_world, ledger, **other), "ugrid-uni", ledger=ledger, small=True)

    assert len(survey(requested(plain_world, ledger), "ugrid-uni", ledger=ledger, small=True).answers) == 2
    assert [account.spent for account in ledger.accounts()] == [1]


def test_an_answer_that_is_not_kept_cannot_follow_one_that_was(
    plain_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest would be asked here without the ledger, and by the same request again with it: twice for one price."""
    ledger = Ledger(tmp_path / "ledger.db")
    vault = requested(plain_world, ledger)
    monkeypatch.setattr(UniformGrid, "divide", Mock(side_effect=KeyError))
    with pytest.raises(KeyError):
        survey(vault, "ugrid-uni", ledger=ledger, small=True)

    with pytest.raises(InputError, match="must be kept in the ledger"):
        vault.count(Everywhere(), Share("rest", vault.left))


def test_an_answer_that_was_kept_is_not_taken_for_one_at_a_lower_price(plain_world: World, tmp_path: Path) -> None:
    """It would leave the rest of the price to be spent once more."""
    ledger = Ledger(tmp_path / "ledger.db")
    Recorder(requested(plain_world, ledger), ledger=ledger).count(Everywhere(), Share("total", Fraction(9, 10)))

    with pytest.raises(InputError, match="to other questions"):
        Recorder(requested(plain_world, ledger), ledger=ledger).count(Everywhere(), Share("total", Fraction(1, 10)))


def test_answers_are_kept_in_the_ledger_of_the_vault_and_in_no_other(plain_world: World, tmp_path: Path) -> None:
    """Kept elsewhere, they would be drawn anew by the next vault of the same request."""
    ledger, other = (Ledger(tmp_path / name) for name in ("ledger.db", "other.db"))
    other.charge(dataset="trips", content=None, epsilon=1, purpose={})

    for options in ({}, {"request": None, "seed": None}):
        with pytest.raises(InputError, match="in no other"):
            survey(requested(plain_world, ledger, **options), "ugrid-uni", ledger=other, small=True)

    assert ledger.accounts() == []


def test_what_is_being_paid_while_another_thread_stops_is_not_given_back(plain_world: World, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    vault = Vault.open(table(), plain_world, epsilon=1, ledger=ledger)
    vault.count(Everywhere(), Share("first", Fraction(1, 4)))
    other, write_down = threading.Thread(target=vault.stop), list[Any].append

    class Slow(list[Any]):
        def append(self, spend: Any) -> None:
            other.start()
            other.join(0.5)  # it has to wait
            write_down(self, spend)

    account = vault._Vault__account  # type: ignore[attr-defined]
    account.spends = Slow(account.spends)
    vault.count(Everywhere(), Share("second", Fraction(1, 2)))
    other.join()

    assert [account.spent for account in ledger.accounts()] == [Fraction(3, 4)]
