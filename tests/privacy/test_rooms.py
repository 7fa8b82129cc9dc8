"""Real records are handed to the vault, cells, engines and formats, and to no other function of the package."""

import dataclasses
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray
from pyarrow import csv
from tests.places import save

from pointveil import releases
from pointveil.cells import Grid
from pointveil.cells.plane import Plane
from pointveil.engines import LocalEngine
from pointveil.methods import METHODS, Method
from pointveil.placement import Uniform
from pointveil.releases import draw, survey
from pointveil.vault import Vault
from pointveil.vault.cleaning import Cleaner
from pointveil.world import World

pytestmark = pytest.mark.usefixtures("rough_margins")

ROOMS = {"vault", "cells", "engines", "formats"}
RECORDS = 1009  # a prime that no public table has by chance
LARGE = 20_000  # public tables of this size are looked at once, all others whenever they are handed over
DEEPEST = 5
each_method = pytest.mark.parametrize("name", METHODS)


def records_in(world: World) -> NDArray[np.float64]:
    """Return longitude and latitude of records on land, none of them on another's x or y."""
    rng = np.random.default_rng(11)
    crowd = rng.normal((10.004, 50.003), (0.0015, 0.001), (8 * RECORDS, 2))
    others = rng.uniform(world.boundary.bounds[:2], world.boundary.bounds[2:], (RECORDS, 2))
    lonlat = np.round(rng.permutation(np.concatenate([crowd, others])), 7)
    for axis in (0, 1):
        lonlat = lonlat[np.unique(lonlat[:, axis], return_index=True)[1]]
    return rng.permutation(lonlat[world.on_land(world.projection.to_metres(lonlat))])[:RECORDS]


@dataclass
class Guard:
    """Recognises records, as degrees, metres or lattice steps, and anything with one entry for each of them.

    Parameters
    ----------
    lonlat
        The records.
    world
        Whose metres and lattice they have in the vault.
    by_number
        Whether an array with as many rows as there are records counts as one of records.
    """

    lonlat: NDArray[np.float64]
    world: World
    by_number: bool = True
    caught: set[str] = field(default_factory=set)
    _seen: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cleaner = Cleaner.of(self.world, "EPSG:4326")
        steps, good = cleaner.clean(self.lonlat)
        assert good.all()
        assert len(good) == RECORDS
        moved = cleaner._transformed(self.lonlat)
        forms = (self.lonlat, moved, self.world.projection.to_metres(moved), cleaner.to_metres(steps), steps)
        self._pairs = {(float(x), float(y)) for form in forms for x, y in form}
        self._values = [form[:, axis].astype(np.float64) for form in forms for axis in (0, 1)]

    def knows(self, thing: Any, depth: int = 0) -> bool:
        """Return whether a thing is, or holds, a record."""
        if depth > DEEPEST or isinstance(thing, str | bytes | Vault | LocalEngine | type):
            return False
        if isinstance(thing, np.ndarray):
            return self._knows_array(thing)
        many = isinstance(thing, list | tuple | pa.Table | pa.Array | pa.ChunkedArray)
        if self.by_number and many and len(thing) == RECORDS:
            return True
        if isinstance(thing, dict):
            return any(self.knows(each, depth + 1) for each in list(thing.values())[:LARGE])
        if isinstance(thing, list | tuple | set | frozenset):
            return any(self.knows(each, depth + 1) for each in list(thing)[:LARGE])
        if dataclasses.is_dataclass(thing) and id(thing) not in self._seen:
            self._seen[id(thing)] = thing
            return any(self.knows(each, depth + 1) for each in list(vars(thing).values()))
        return False

    def sweep(self, *things: Any) -> None:
        """Look at everything that is left when the work is done, as if for the first time."""
        self._seen.clear()
        for thing in things:
            if self.knows(thing):
                self.caught.add(f"{type(thing).__name__} keeps records")

    def _knows_array(self, array: NDArray[Any]) -> bool:
        if array.dtype.kind not in "fiu" or not array.size or id(array) in self._seen:
            return False
        if array.size > LARGE:
            self._seen[id(array)] = array
        if self.by_number and array.ndim and RECORDS in array.shape:
            return True
        plain = np.asarray(array)
        if plain.ndim >= 2 and plain.shape[-1] == 2:
            rows = plain.reshape(-1, 2)
            return any((float(x), float(y)) in self._pairs for x, y in rows[self._has(rows[:, 0])])
        # One coordinate alone may be met by chance, as often as it is repeated; many different ones are not.
        different = np.unique(plain) if plain.ndim == 1 else plain[:0]
        return len(different) > 4 and bool(self._has(different).mean() > 0.5)

    def _has(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        known = self._known
        return np.asarray(known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values)

    @cached_property
    def _known(self) -> NDArray[np.float64]:
        return np.unique(np.concatenate(self._values))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at what every Python function of the package is called with, left with, and returns."""
        threading.setprofile(self._look)  # those that are started from now on
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextmanager
    def counting_none_in(self, name: str) -> Iterator[None]:
        """While a release calls this, know records by their values only: as many people may be invented by chance."""
        called = getattr(releases, name)

        def call(*given: Any) -> Any:
            before, self.by_number = self.by_number, False
            try:
                return called(*given)
            finally:
                self.by_number = before

        setattr(releases, name, call)
        try:
            yield
        finally:
            setattr(releases, name, called)

    def _look(self, frame: FrameType, event: str, value: Any) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event not in ("call", "return") or not name.startswith("pointveil"):
            return
        inside = _is_room(name)
        if inside and event == "return":
            caller = _caller(frame)
            if caller is not None and self._holds(value):
                self.caught.add(f"{caller} gets records from {name}.{frame.f_code.co_name}")
        if not inside and any(self._holds(each) for each in list(frame.f_locals.values())):
            self.caught.add(f"{name}.{frame.f_code.co_qualname} is handed records")

    def _holds(self, value: Any) -> bool:
        sys.setprofile(None)
        try:
            return self.knows(value)
        finally:
            sys.setprofile(self._look)


def _is_room(name: str) -> bool:
    return len(parts := name.split(".")) > 1 and parts[1] in ROOMS


def _caller(frame: FrameType) -> str | None:
    """Return the function of the package that is handed what a frame returns, if it is outside the rooms."""
    back = frame.f_back
    name = "" if back is None else str(back.f_globals.get("__name__", ""))
    return f"{name}.{back.f_code.co_qualname}" if back and name.startswith("pointveil") and not _is_room(name) else None


def table_of(lonlat: NDArray[np.float64]) -> pa.Table:
    """Return records with a person for every three of them, and columns that may be kept."""
    number = np.arange(len(lonlat))
    kept = {"hour": number % 24, "kind": np.char.add("kind ", (number % 5).astype(str)), "fare": number * 0.25}
    return pa.table({"lon": lonlat[:, 0], "lat": lonlat[:, 1], "who": number // 3, **kept})


KEEP = ("hour=time:2014-04-01/2014-07-01@hour-of-day;type=integer", "kind=category:kind 0,kind 1", "fare=number:0..100")


def watch(world: World, open_vault: Callable[[pa.Table], Vault], method: str | Method, *, by_number: bool) -> set[str]:
    """Return who was handed a record from opening the vault to the survey, and by a rehearsal to drawing from it."""
    lonlat = records_in(world)
    guard, table = Guard(lonlat, world, by_number), table_of(lonlat)
    with guard.watching(), guard.counting_none_in("with_margins"):
        vault = open_vault(table)
        found = survey(vault, method, small=True)
        # What is drawn from unknown noise may fall on a record by chance, about once in a hundred runs.
        points = draw(found, seed=1) if vault.rehearsal else None
    guard.sweep(world, found, vars(found), points)
    return guard.caught


@each_method
@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("place", ["world", "plain_world"])
def test_no_method_takes_a_record_out_of_the_rooms(
    name: str, person: str | None, place: str, request: pytest.FixtureRequest
) -> None:
    somewhere: World = request.getfixturevalue(place)
    if METHODS[name].needs_roads and somewhere.roads is None:
        pytest.skip("needs roads")

    def rehearse(table: pa.Table) -> Vault:
        return Vault.rehearse(table, somewhere, epsilon=1, seed=5, person=person, max_points=4)

    assert watch(somewhere, rehearse, name, by_number=True) == set()


@each_method
def test_nor_does_a_release(name: str, world: World) -> None:
    # The noise is not known here, and the noisy total may happen to be the true one.
    assert watch(world, lambda table: Vault.open(table, world, epsilon=1), name, by_number=False) == set()


def test_records_in_another_crs_stay_in_the_rooms_too(plain_world: World) -> None:
    lonlat = records_in(plain_world)
    metric = World.make((571_600, 5_539_100, 573_150, 5_540_500), crs="EPSG:32632")
    guard = Guard(lonlat, metric)

    with guard.watching():
        survey(Vault.rehearse(table_of(lonlat), metric, epsilon=1, seed=5), "ugrid-uni")

    assert guard.caught == set()


def source_of(kind: str, table: pa.Table, folder: Path) -> Any:
    """Return the records as a file or frame."""
    path = folder / f"people{kind}"
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(table.to_pydict())
    if kind == "polars lazy":
        return pytest.importorskip("polars").DataFrame(table.to_pydict()).lazy()
    if kind == "reader":
        return table.to_reader(max_chunksize=100)
    if kind == "folder":
        pq.write_to_dataset(table, folder / "parts", partition_cols=["who"], max_partitions=RECORDS)
        return folder / "parts"
    if kind == ".csv":
        csv.write_csv(table, path)
    elif kind == ".parquet":
        pq.write_table(table, path)
    else:
        save(path, list(shapely.points(table["lon"], table["lat"])), attributes=table.drop_columns(["lon", "lat"]))
    return path


@pytest.mark.parametrize(
    "kind", [".csv", ".parquet", ".geojson", ".gpkg", ".shp", ".fgb", "pandas", "polars lazy", "reader", "folder"]
)
def test_records_of_every_format_stay_in_the_rooms(kind: str, plain_world: World, tmp_path: Path) -> None:
    lonlat = records_in(plain_world)
    guard, source = Guard(lonlat, plain_world), source_of(kind, table_of(lonlat), tmp_path)

    with guard.watching():
        survey(Vault.rehearse(source, plain_world, epsilon=1, seed=5, person="who"), "ugrid-uni")

    assert guard.caught == set()


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".geojson", ".gpkg", ".shp", ".fgb", "pandas"])
def test_so_do_their_kept_columns(kind: str, plain_world: World, tmp_path: Path) -> None:
    lonlat = records_in(plain_world)
    guard, source = Guard(lonlat, plain_world), source_of(kind, table_of(lonlat), tmp_path)

    with guard.watching():
        vault = Vault.rehearse(source, plain_world, epsilon=1, seed=5, keep=KEEP)
        found = survey(vault, "ugrid-uni")
    guard.sweep(plain_world, found, vars(found))

    assert guard.caught == set()
    # And codes outside the rooms would be seen: there are as many as records.
    assert guard.knows(np.zeros(RECORDS, dtype=np.uint8))


def code_of(room: str, source: str) -> Any:
    """Return a module that seems to be part of a folder of the package."""
    module = types.ModuleType(f"pointveil.{room}.leaky")
    exec(source, module.__dict__)  # noqa: S102 - our own text
    return module


HANDED: dict[str, Callable[[NDArray[np.float64], NDArray[np.int64]], Any]] = {
    "all records": lambda xy, _: xy,
    "a few records": lambda xy, _: xy[5:9],
    "one record": lambda xy, _: xy[7:8].copy(),
    "one column": lambda xy, _: xy[:, 0],
    "half a column, sorted": lambda xy, _: np.sort(xy[:500, 1]),
    "the cell of each record": lambda _, cells: cells,
    "records in a container": lambda xy, _: {"deep": [(1, xy[3:6])]},
    "records as a list": lambda xy, _: xy[:, 0].tolist(),
}


@pytest.mark.parametrize("handed", HANDED)
def test_a_question_that_hands_records_on_is_caught(handed: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = code_of("ground", "def look(thing): return None")
    honest = Grid.locate

    def locate(self: Grid, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        cells = honest(self, xy)
        if len(xy) == RECORDS and self.columns > 1:
            helper.look(HANDED[handed](xy, cells))
        return cells

    monkeypatch.setattr(Grid, "locate", locate)
    caught = watch(world, lambda table: Vault.rehearse(table, world, epsilon=1, seed=5), "ugrid-uni", by_number=True)

    assert caught == {"pointveil.ground.leaky.look is handed records"}


def test_degrees_and_steps_on_their_way_into_the_vault_are_recognised(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    helper = code_of("world", "def project(thing): return None\ndef rounded(thing): return None")
    honest = Plane.to_steps

    def to_steps(self: Plane, coordinates: NDArray[np.float64]) -> Any:
        helper.project(coordinates[:3])
        steps, good = honest(self, coordinates)
        helper.rounded(steps[10:13])
        return steps, good

    monkeypatch.setattr(Plane, "to_steps", to_steps)
    caught = watch(world, lambda table: Vault.rehearse(table, world, epsilon=1, seed=5), "ugrid-uni", by_number=False)

    assert caught == {f"pointveil.world.leaky.{name} is handed records" for name in ("project", "rounded")}


def test_asking_the_world_where_land_is_would_be_caught(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked:
        holds = staticmethod(world.on_land)

    honest = Cleaner.of

    def of(world: World, crs: str) -> Cleaner:
        return dataclasses.replace(honest(world, crs), land=Asked())  # type: ignore[arg-type]

    guard = Guard(records_in(world), world)
    monkeypatch.setattr(Cleaner, "of", of)
    with guard.watching():
        survey(Vault.rehearse(table_of(guard.lonlat), world, epsilon=1, seed=5), "ugrid-uni")

    assert guard.caught == {"pointveil.world.world.World.on_land is handed records"}


LEAKY_PARTITIONER = """
import numpy as np
from dataclasses import dataclass
from pointveil.partition import UniformGrid, partitioner

@partitioner
@dataclass(frozen=True)
class Leaky(UniformGrid):
    def divide(self, vault, world, budget):
        engine = vault.vault.vault._Vault__engine
        {line}
        return super().divide(vault, world, budget)
"""
LINES = {
    "asks the engine": "np.mean([len(xy) for xy in engine.points()])",
    "looks into the engine": "engine.digest(); kept = engine._kept",
    "asks the source": "next(iter(engine.source.batches()))",
    "keeps a record in the world": "vars(world)['seen'] = [*engine.points()][0][:1]",
}


@pytest.mark.parametrize("line", LINES)
def test_a_partitioner_that_reaches_into_the_vault_is_caught(line: str, world: World) -> None:
    leaky = code_of("partition", LEAKY_PARTITIONER.format(line=LINES[line]))
    method = Method(leaky.Leaky(), Uniform(), {"count": 1})
    try:
        caught = watch(world, lambda table: Vault.rehearse(table, world, epsilon=1, seed=5), method, by_number=True)
    finally:
        vars(world).pop("seen", None)

    assert any("leaky" in each for each in caught)
    assert ("World keeps records" in caught) == ("keeps" in line)


def test_cells_from_outside_the_rooms_are_caught(world: World) -> None:
    source = """
from pointveil import releases
from pointveil.cells import Grid
from dataclasses import dataclass
from pointveil.partition import UniformGrid, base, partitioner

class Far:
    def __init__(self, grid): self.grid = grid
    def __len__(self): return len(self.grid)
    def locate(self, xy): return self.grid.locate(xy)

@partitioner
@dataclass(frozen=True)
class Leaky(UniformGrid):
    def divide(self, vault, world, budget):
        vault.count(Far(Grid(world.bounds, 3, 3)), base.Share("count", budget["count"].epsilon / 2))
        return super().divide(vault, world, {**budget, "count": base.Share("count", budget["count"].epsilon / 2)})
"""
    method = Method(code_of("partition", source).Leaky(), Uniform(), {"count": 1})

    caught = watch(world, lambda table: Vault.rehearse(table, world, epsilon=1, seed=5), method, by_number=False)

    assert caught == {"pointveil.partition.leaky.Far.locate is handed records"}
