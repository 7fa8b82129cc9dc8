"""The vault answers two questions, pays first, and gives nothing else away."""

import copy
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyproj
import pytest
from numpy.typing import NDArray

from pointveil.cells import Everywhere, Grid
from pointveil.errors import BudgetError, InputError
from pointveil.ledger import Ledger
from pointveil.releases import survey
from pointveil.vault import Share, Vault
from pointveil.world import World

Coordinates = NDArray[np.float64]
WHOLE = Share("total", Fraction(1))


def frame(people: Coordinates) -> pa.Table:
    return pa.table({"lon": people[:, 0], "lat": people[:, 1]})


def exact(source: object, world: World, **options: object) -> int:
    """The true number of clean points, through a rehearsal."""
    return int(Vault.rehearse(source, world, epsilon=1, seed=1, **options).exact_count(Everywhere())[0])


def test_every_kind_of_source_gives_the_same_points(people: Coordinates, people_file: Path, world: World) -> None:
    gpd, pl = (pytest.importorskip(name, reason="needs the extra frames") for name in ("geopandas", "polars"))
    table = frame(people)
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(*people.T), crs="EPSG:4326")

    sources = [people_file, str(people_file), table, table.to_pandas(), pl.from_arrow(table), points]

    assert len({exact(source, world) for source in sources}) == 1


def test_bad_records_are_dropped_one_by_one(people: Coordinates, world: World) -> None:
    good = people[world.on_land(world.projection.to_metres(people))]
    bad = np.array(
        [[np.nan, 50.001], [np.inf, 50.001], [10.001, -np.inf], [1e9, 50.0], [10.01, 50.005], [10.001, 51.0], [-170, 0]]
    )

    assert exact(frame(np.concatenate([bad, good, bad])), world) == len(good)


def test_text_in_a_coordinate_is_just_a_bad_record(world: World) -> None:
    pd = pytest.importorskip("pandas", reason="needs the extra frames")
    records = pd.DataFrame({"lon": ["10.001", "abc", None, ""], "lat": ["50.001", "50.001", "50.001", "50.001"]})

    assert exact(records, world) == 1


def test_a_point_on_a_border_is_in_exactly_one_cell(plain_world: World) -> None:
    corners = np.array([[x, y] for x in np.linspace(10, 10.02, 5) for y in np.linspace(50, 50.012, 5)])
    vault = Vault.rehearse(frame(corners), plain_world, epsilon=1, seed=1)

    tally = vault.exact_count(Grid(plain_world.bounds, 4, 4))

    assert tally.sum() == vault.exact_count(Everywhere())[0] >= 16


def test_cells_that_count_a_point_twice_are_refused(people: Coordinates, world: World) -> None:
    class Twice(Everywhere):
        def locate(self, xy: Coordinates) -> NDArray[np.int64]:
            return np.zeros(2 * len(xy), dtype=np.int64)

    vault = Vault.open(frame(people), world, epsilon=2)

    with pytest.raises(TypeError, match="exactly one cell"):
        vault.count(Twice(), WHOLE)
    assert vault.left == 1  # its price stays paid


def test_counts_are_noisy_around_the_truth(people: Coordinates, world: World) -> None:
    truth = exact(frame(people), world)
    answers = [
        int(Vault.open(frame(people), world, epsilon=1, ledger=None).count(Everywhere(), WHOLE).values[0])
        for _ in range(200)
    ]

    assert len(set(answers)) > 1
    assert abs(np.mean(answers) - truth) < 0.6  # six standard errors of sqrt(1.84 / 200)


def test_spending_more_than_there_is_raises_before_anything_is_asked(people: Coordinates, world: World) -> None:
    vault = Vault.open(frame(people), world, epsilon="1/3")
    vault.count(Everywhere(), Share("a", Fraction(1, 6)))
    vault.count(Everywhere(), Share("b", Fraction(1, 6)))

    with pytest.raises(BudgetError, match="only 0 of 1/3 is left"):
        vault.count(Everywhere(), Share("c", Fraction(1, 10**9)))
    assert [question.purpose for question in vault.statement.questions] == ["a", "b"]


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e-9", "1e6", "", "one", None, "1/0"])
def test_an_epsilon_that_makes_no_sense_is_refused(epsilon: object, people: Coordinates, world: World) -> None:
    with pytest.raises(InputError, match="epsilon must"):
        Vault.open(frame(people), world, epsilon=epsilon)


@pytest.mark.parametrize(("given", "meant"), [(0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3)), (2, Fraction(2))])
def test_epsilon_is_exact(given: object, meant: Fraction, people: Coordinates, world: World) -> None:
    assert Vault.open(frame(people), world, epsilon=given).epsilon == meant


def test_nothing_but_the_budget_can_be_seen(people: Coordinates, world: World) -> None:
    vault = Vault.open(frame(people), world, epsilon=1)

    assert repr(vault) == "<Vault: epsilon 1, 1 left, protects one point>"
    looks: list[Any] = [len, iter, list, vars, np.sum, pickle.dumps, copy.copy, copy.deepcopy, lambda it: it[0]]
    for look in looks:
        with pytest.raises(TypeError):
            look(vault)
    with pytest.raises(AttributeError):
        vault.points = 1  # type: ignore[attr-defined]


def test_public_attributes_hold_no_array(people: Coordinates, world: World) -> None:
    vault = Vault.open(frame(people), world, epsilon=1)
    vault.count(Everywhere(), Share("total", Fraction(1, 2)))

    for name in dir(vault):
        if not name.startswith("_"):
            assert not isinstance(getattr(vault, name), np.ndarray | pa.Table | list), name


class Clumsy:
    """Cells that fail, quoting a point."""

    def __len__(self) -> int:
        return 3

    def locate(self, xy: Coordinates) -> NDArray[np.int64]:
        raise ValueError(f"cannot place {xy[0]}")


class Astray:
    """Cells with numbers that are out of range."""

    def __len__(self) -> int:
        return 2

    def locate(self, xy: Coordinates) -> NDArray[np.int64]:
        return np.where(xy[:, 0] > np.pi, 99, -7)


def test_a_question_that_fails_quotes_nothing_and_stays_paid(people: Coordinates, world: World) -> None:
    vault = Vault.open(frame(people), world, epsilon=1)

    with pytest.raises(RuntimeError) as caught:
        vault.count(Clumsy(), WHOLE)

    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "[" not in str(caught.value)
    assert vault.left == 0


def test_points_without_a_cell_of_their_own_are_counted_nowhere(people: Coordinates, world: World) -> None:
    vault = Vault.rehearse(frame(people), world, epsilon=1, seed=1)

    assert vault.exact_count(Astray()).tolist() == [0, 0]


def test_a_rehearsal_repeats_itself_and_says_what_it_is(people: Coordinates, world: World) -> None:
    answers = {
        int(Vault.rehearse(frame(people), world, epsilon=1, seed=5).count(Everywhere(), WHOLE).values[0])
        for _ in range(3)
    }
    vault = Vault.rehearse(frame(people), world, epsilon=1, seed=5)

    assert len(answers) == 1
    assert vault.statement.rehearsal == "rehearsal: not private"
    assert "not private" in repr(vault)


def test_the_ledger_refuses_a_rehearsal(people: Coordinates, world: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="refused by the ledger"):
        Vault.rehearse(frame(people), world, epsilon=1, seed=1, ledger=Ledger(tmp_path / "ledger.db"))


def test_the_ledger_is_charged_before_the_first_answer_and_only_once(
    people: Coordinates, world: World, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    vault = Vault.open(frame(people), world, epsilon=1, ledger=ledger, dataset="trips")
    assert ledger.accounts() == []

    for purpose in ("a", "b"):
        vault.count(Everywhere(), Share(purpose, Fraction(1, 2)))

    assert [(account.name, account.spent) for account in ledger.accounts()] == [("trips", Fraction(1))]


class OneRegion:
    """All of the world is one region of ten sites, and everybody is at the first."""

    def site_counts(self) -> NDArray[np.int64]:
        return np.array([10])

    def locate_sites(self, xy: Coordinates) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.zeros(len(xy), dtype=np.int64), np.zeros(len(xy), dtype=np.int64)


def test_a_scatter_is_charged_like_a_count(people: Coordinates, world: World, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    vault = Vault.open(frame(people), world, epsilon=1, ledger=ledger, dataset="trips")

    vault.scatter(OneRegion(), np.array([5]), WHOLE)

    assert [account.spent for account in ledger.accounts()] == [1]
    ledger.set_cap("trips", 1)
    with pytest.raises(BudgetError, match="0 left"):
        Vault.open(frame(people), world, epsilon=1, ledger=ledger, dataset="trips").scatter(
            OneRegion(), np.array([5]), WHOLE
        )


@pytest.mark.parametrize("axis", [0, 1])
def test_data_that_differ_in_one_axis_alone_have_accounts_of_their_own(
    axis: int, people: Coordinates, world: World, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    others = people.copy()
    others[:, axis] = others[::-1, axis] + 1e-6

    for name, points in {"a": people, "b": others}.items():
        Vault.open(frame(points), world, epsilon=1, ledger=ledger, dataset=name).count(Everywhere(), WHOLE)

    accounts = ledger.accounts()
    assert [(account.name, account.charges, len(account.aliases)) for account in accounts] == [("a", 1, 0), ("b", 1, 0)]


def test_a_copy_in_another_order_and_format_spends_the_same_budget(
    people: Coordinates, people_file: Path, world: World, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    shuffled = frame(people[::-1])

    Vault.open(people_file, world, epsilon=1, ledger=ledger).count(Everywhere(), WHOLE)
    Vault.open(shuffled, world, epsilon=1, ledger=ledger, dataset="another").count(Everywhere(), WHOLE)

    assert [account.spent for account in ledger.accounts()] == [2]


def test_over_the_cap_nothing_is_answered(people: Coordinates, world: World, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.set_cap("trips", 1)
    vault = Vault.open(frame(people), world, epsilon=2, ledger=ledger, dataset="trips")

    with pytest.raises(BudgetError, match="1"):
        vault.count(Everywhere(), WHOLE)


def test_a_closed_vault_answers_no_more(people: Coordinates, world: World) -> None:
    vault = Vault.open(frame(people), world, epsilon=1)
    vault.close()

    with pytest.raises(BudgetError, match="closed"):
        vault.count(Everywhere(), WHOLE)


def test_the_opendp_noise_works(people: Coordinates, world: World) -> None:
    pytest.importorskip("opendp")
    vault = Vault.open(frame(people), world, epsilon=1, noise="opendp")

    answer = int(vault.count(Everywhere(), WHOLE).values[0])

    assert abs(answer - exact(frame(people), world)) < 40  # beyond that once in e^-40
    assert vault.statement.questions[0].sampler == "OpenDP discrete Laplace"


def test_an_unknown_noise_is_refused(people: Coordinates, world: World) -> None:
    with pytest.raises(InputError, match="exact, opendp"):
        Vault.open(frame(people), world, epsilon=1, noise="none")


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:32632", "EPSG:2056"])
def test_points_in_another_crs_are_brought_into_the_world(crs: str, people: Coordinates, world: World) -> None:
    gpd = pytest.importorskip("geopandas", reason="needs the extra frames")
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(*people.T), crs="EPSG:4326").to_crs(crs)

    assert abs(exact(points, world) - exact(frame(people), world)) <= 1


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:32632", "EPSG:2056"])
@pytest.mark.parametrize("odd", [1e30, -1e9, float("inf"), float("nan")])
def test_a_place_that_cannot_be_brought_into_the_world_is_just_a_bad_record(
    crs: str, odd: float, people: Coordinates, world: World
) -> None:
    there = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    x, y = there.transform(*people.T)
    good = pa.table({"x": x, "y": y})
    more = pa.table({"x": [*x, odd, x[0]], "y": [*y, odd, odd]})

    assert Vault.rehearse(more, world, epsilon=1, seed=1, crs=crs).exact_count(Everywhere()).tolist() == (
        Vault.rehearse(good, world, epsilon=1, seed=1, crs=crs).exact_count(Everywhere()).tolist()
    )


def test_a_request_that_is_charged_once_is_not_answered_twice(people: Coordinates, world: World) -> None:
    """Two answers with noise of their own would cost twice what was charged."""

    def asked(**options: Any) -> Vault:
        return Vault.open(frame(people), world, epsilon=1, dataset="monthly", request="may", **options)

    with pytest.raises(InputError, match="must be kept"):
        asked(seed=1).count(Everywhere(), WHOLE)
    with pytest.raises(InputError, match="must be kept"):
        survey(asked(seed=1), "ugrid-uni")
    assert Ledger().find("monthly") is None
    for _ in range(2):
        asked().count(Everywhere(), WHOLE)
    account = Ledger().find("monthly")
    assert account is not None
    assert account.spent == 2


def test_a_count_is_answered_though_another_thread_drops_what_was_counted(people: Coordinates, world: World) -> None:
    class Asked(Everywhere):
        def __getattr__(self, name: str) -> object:
            if name == "key":  # between the count and its use
                vault._Vault__held = {}  # type: ignore[attr-defined]
            raise AttributeError(name)

    vault = Vault.open(frame(people), world, epsilon=1, ledger=None)

    assert len(vault.count(Asked(), WHOLE).values) == 1
