"""What records say stays in the rooms, as records do: no value and no code of one is handed to any other function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from tests.privacy.test_rooms import LARGE, RECORDS, Guard, code_of, records_in, source_of

import pointveil as pv
from pointveil.cells import CodedCells, Everywhere
from pointveil.columns import Column
from pointveil.releases import draw, survey
from pointveil.vault import Share, Vault
from pointveil.world import World

pytestmark = pytest.mark.usefixtures("rough_margins")

TAG = "¤"  # in every value that no public list has
KEEP: tuple[Column, ...] = (
    pv.Time("at", "2024-03-04/2024-03-11", resolution="hour-of-day"),
    pv.Category("kind", ["bus", "tram"]),
    pv.Number("fare", 0, 2000),
    pv.Id("who"),
)


def moments_of(count: int) -> NDArray[np.int64]:
    """Return when each record was made, in seconds since 1970: no two at the same time."""
    return 1_709_510_400 + np.arange(count) * 577 + 13


def fares_of(count: int) -> NDArray[np.float64]:
    """Return a number for each record: no two have the same."""
    return np.arange(count, dtype=np.float64) * 1.7 + 0.31


class TaggedGuard(Guard):
    """Recognises what records say, too: texts by a sign in them, times and numbers, and codes by how many they are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._values += [moments_of(RECORDS).astype(np.float64), fares_of(RECORDS)]

    def knows(self, thing: Any, depth: int = 0) -> bool:
        """Return whether a thing is, or holds, a record or what one says."""
        if isinstance(thing, str | bytes):
            return TAG in thing if isinstance(thing, str) else TAG.encode() in thing
        if isinstance(thing, pa.Array | pa.ChunkedArray) and len(thing) < LARGE and _has_text(thing.type):
            return super().knows(thing, depth) or any(self.knows(each) for each in thing.to_pylist())
        if isinstance(thing, np.ndarray) and thing.dtype.kind == "O":
            return any(self.knows(each) for each in thing.ravel()[:LARGE].tolist())
        return super().knows(thing, depth)


def _has_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def table_of(lonlat: NDArray[np.float64]) -> pa.Table:
    """Return records with values by which each would be known: half of the kinds are not listed."""
    count = len(lonlat)
    kinds = [("bus", "tram", f"{TAG}{number}", None)[number % 4] for number in range(count)]
    return pa.table(
        {
            "lon": lonlat[:, 0],
            "lat": lonlat[:, 1],
            "who": np.arange(count) // 3,
            "at": np.datetime_as_string(moments_of(count).astype("M8[s]")).tolist(),
            "kind": pa.array(kinds, pa.string()),
            "fare": fares_of(count),
        }
    )


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("kind", [".csv", ".parquet", ".geojson", ".gpkg", ".shp", ".fgb", "pandas", "arrow"])
def test_what_records_say_stays_in_the_rooms(kind: str, person: str | None, plain_world: World, tmp_path: Path) -> None:
    lonlat = records_in(plain_world)
    table = table_of(lonlat)
    guard, source = TaggedGuard(lonlat, plain_world), table if kind == "arrow" else source_of(kind, table, tmp_path)

    with guard.watching():
        vault = Vault.rehearse(source, plain_world, epsilon=1, seed=5, keep=KEEP, person=person, max_points=4)
        found = survey(vault, "ugrid-uni", small=True)
        points = draw(found, count=RECORDS + 1, seed=1)
    guard.sweep(found, vars(found), points)

    assert guard.caught == set()


@pytest.mark.parametrize("name", ["veil", "agrid-uni", "road"])
def test_no_method_takes_what_records_say_out_of_the_rooms(name: str, world: World) -> None:
    lonlat = records_in(world)
    guard = TaggedGuard(lonlat, world)

    with guard.watching():
        survey(Vault.rehearse(table_of(lonlat), world, epsilon=1, seed=5, keep=KEEP), name)

    assert guard.caught == set()


SAID: dict[str, Callable[[Any, Any], Any]] = {
    "all codes": lambda codes, _: codes,
    "the codes of one column": lambda codes, _: codes[0],
    "codes in a container": lambda codes, _: {"deep": [codes[0]]},
    "one value": lambda _, values: values[2],
    "a few values": lambda _, values: values[:9],
    "values in Arrow": lambda _, values: pa.array(values[:9]),
    "values in an array": lambda _, values: np.array(values[:9], dtype=object),
    "times": lambda *_: moments_of(RECORDS)[40:50],
    "numbers": lambda *_: fares_of(RECORDS)[40:50],
}


@pytest.mark.parametrize("room", ["columns", "keeping", "estimate", "statement"])
@pytest.mark.parametrize("handed", SAID)
def test_a_part_that_is_handed_what_records_say_is_caught(
    handed: str, room: str, plain_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = code_of(room, "def look(thing): return None")
    lonlat = records_in(plain_world)
    table = table_of(lonlat)
    honest = CodedCells.locate

    def locate(self: CodedCells, xy: NDArray[np.float64], codes: Any = ()) -> NDArray[np.int64]:
        if len(xy) == RECORDS:
            helper.look(SAID[handed](codes, table["kind"].to_pylist()))
        return honest(self, xy, codes)

    monkeypatch.setattr(CodedCells, "locate", locate)
    guard = TaggedGuard(lonlat, plain_world)
    with guard.watching():
        vault = Vault.rehearse(table, plain_world, epsilon=1, seed=5, keep=KEEP[1:2])
        vault.count(CodedCells(Everywhere(), ((0, KEEP[1].parts()[0].bins),)), Share("table", vault.left))

    assert guard.caught == {f"pointveil.{room}.leaky.look is handed records"}
