"""What columns say is learned region by region, and agrees with the map and with itself."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pointveil.columns import Category, Column, Number, Time
from pointveil.keeping import draw_codes, learn_laws
from pointveil.keeping.drawing import code_table
from pointveil.testing import ScriptedVault
from pointveil.vault import Cells, Share
from pointveil.world import World

RNG = np.random.default_rng(8)
PLACES = RNG.uniform(0, 1000, (4096, 2))
KIND = Category("kind", ["bus", "tram", "ferry"], other="drop")
HOUR = Time("ts", "2024-01-01/2024-04-01", resolution="hour-of-day")
DATED = Time("ts", "2024-01-01/2024-04-01")
FEW_DAYS = Time("ts", "2024-01-01/2024-01-08")
KEEPS: dict[str, tuple[Column, ...]] = {
    "category": (KIND,),
    "hours": (HOUR,),
    "week": (Time("ts", "2024-01-01/2024-04-01", resolution="hour-of-week"),),
    "dates": (DATED,),
    "a few days": (FEW_DAYS,),
    "quarters": (Time("ts", "2024-01-01/2024-04-01", resolution="15min"),),
    "days": (Time("ts", "2024-01-01/2024-04-01", resolution="1d", other="drop"),),
    "part of a day": (Time("ts", "2024-01-01T06:00/2024-01-01T12:00"),),
    "odd ends": (Time("ts", "2024-01-01T06:00/2024-02-20T12:00"),),
    "number": (Number("fare", 0, 100),),
    "all": (KIND, DATED, Number("fare", 0, 100)),
    "two": (KIND, Category("operator", ["a", "b"])),
}
every_keep = pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)


def answers(records: Any, codes: tuple[Any, ...]) -> Callable[[Cells, Share], Any]:
    """Return a script that answers with exact counts of these invented records."""

    def script(cells: Any, share: Share) -> Any:
        del share
        found = cells.locate(records, codes)
        return np.bincount(found[found >= 0], minlength=len(cells))

    return script


def learned(world: World, keep: tuple[Column, ...], script: Any) -> tuple[Any, ScriptedVault]:
    vault = ScriptedVault(world, script=script, epsilon=Fraction(1))
    return learn_laws(vault, keep, Fraction(1), PLACES, 20_000), vault


@every_keep
def test_the_questions_cost_exactly_what_the_columns_may(keep: tuple[Column, ...], plain_world: World) -> None:
    _, vault = learned(plain_world, keep, lambda cells, _: np.zeros(len(cells), dtype=np.int64))

    assert sum(share.epsilon for share in vault.asked) == sum(column.part_of_epsilon for column in keep)
    assert all(any(share.purpose.startswith(f"{column.name}: ") for share in vault.asked) for column in keep)


@every_keep
@pytest.mark.parametrize("scale", [0, 3, 10**7])
def test_any_answers_give_codes_that_exist(keep: tuple[Column, ...], scale: int, plain_world: World) -> None:
    rng = np.random.default_rng(1)
    laws, _ = learned(plain_world, keep, lambda cells, _: rng.integers(-scale, scale + 1, len(cells)))

    drawn = draw_codes(laws, PLACES, np.random.default_rng(2))

    for column, (codes, place) in zip(keep, drawn, strict=True):
        assert codes.shape == place.shape == (len(PLACES),)
        assert codes.min() >= 0
        assert codes.max() < column.codes
        assert ((place >= 0) & (place < 1)).all()


@every_keep
def test_every_combination_that_a_column_has_is_its_own_code(keep: tuple[Column, ...]) -> None:
    for column in keep:
        parts = list(column.parts())
        if len(parts) == 3:
            del parts[1]
        codes = np.arange(column.codes)

        assert (code_table(parts)[tuple(part.bins[codes] for part in parts)] == codes).all()


def test_columns_that_follow_place_come_out_where_they_belong(plain_world: World) -> None:
    records = np.random.default_rng(3).uniform(0, 1000, (20_000, 2))
    kind = (records[:, 0] // 501).astype(np.int64)
    generous = Category("kind", KIND.values, other="drop", share="1/2")
    laws, _ = learned(plain_world, (generous,), answers(records, (kind,)))

    ((codes, _),) = draw_codes(laws, PLACES, np.random.default_rng(4))

    assert (codes == PLACES[:, 0] // 501).mean() > 0.9


def test_a_rhythm_is_learned_by_place_with_its_dates(plain_world: World) -> None:
    rng = np.random.default_rng(5)
    records = rng.uniform(0, 1000, (20_000, 2))
    hour = np.where(records[:, 1] > 500, 8, 20) + rng.integers(0, 3, len(records))
    date = rng.integers(0, 30, len(records))
    laws, _ = learned(plain_world, (DATED,), answers(records, (date * 24 + hour,)))

    ((codes, _),) = draw_codes(laws, PLACES, np.random.default_rng(6))

    assert ((codes % 24 < 12) == (PLACES[:, 1] > 500)).mean() > 0.95
    assert (codes // 24 < 31).mean() > 0.98


def test_other_values_of_one_column_are_others_in_all_its_parts(plain_world: World) -> None:
    rng = np.random.default_rng(7)
    records = rng.uniform(0, 1000, (20_000, 2))
    code = np.where(rng.random(len(records)) < 0.3, DATED.size, rng.integers(0, DATED.size, len(records)))
    laws, _ = learned(plain_world, (DATED,), answers(records, (code,)))

    ((codes, _),) = draw_codes(laws, PLACES, np.random.default_rng(8))

    assert abs((codes == DATED.size).mean() - 0.3) < 0.01


def test_two_columns_that_go_together_do_so_again(plain_world: World) -> None:
    rng = np.random.default_rng(9)
    records = rng.uniform(0, 1000, (20_000, 2))
    hour = rng.integers(0, 24, len(records))
    kind = np.where(hour < 12, 0, rng.integers(1, 3, len(records)))
    laws, _ = learned(plain_world, (KIND, HOUR), answers(records, (kind, hour)))

    (kinds, _), (hours, _) = draw_codes(laws, PLACES, np.random.default_rng(10))

    assert ((kinds == 0) == (hours < 12)).mean() > 0.95  # one half if they did not


def test_the_same_seed_gives_the_same_codes(plain_world: World) -> None:
    laws, _ = learned(plain_world, KEEPS["all"], lambda cells, _: np.full(len(cells), 5))

    first, again, other = (draw_codes(laws, PLACES, np.random.default_rng(seed)) for seed in (1, 1, 2))

    assert all((a == b).all() for a, b in zip(first[1], again[1], strict=True))
    assert (first[1][0] != other[1][0]).any()


def test_nobody_at_all_is_no_trouble(plain_world: World) -> None:
    vault = ScriptedVault(plain_world, everywhere=0)

    laws = learn_laws(vault, KEEPS["all"], Fraction(1), np.empty((0, 2)), 0)

    assert laws is not None
    assert [len(codes) for codes, _ in draw_codes(laws, np.empty((0, 2)), RNG)] == [0, 0, 0]
