"""A small invented city that many tests share: a square with a river and two roads."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import HealthCheck, settings
from numpy.typing import NDArray

from pointveil import margins, releases
from pointveil.world import World

# A busy machine is no fault of the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

BOUNDS = (10.0, 50.0, 10.02, 50.012)
RIVER = shapely.box(10.009, 49.99, 10.011, 50.02)
ROADS = [
    shapely.LineString([(10.0, 50.003), (10.02, 50.003)]),
    shapely.LineString([(10.004, 50.0), (10.004, 50.012)]),
]


@pytest.fixture(scope="session")
def world() -> World:
    """A square of about 1.4 by 1.3 km with a river through its middle, and two roads."""
    return World.make(BOUNDS, out_of_bounds=RIVER, roads=np.array(ROADS))


@pytest.fixture(scope="session")
def plain_world() -> World:
    """The same square, all land, without roads."""
    return World.make(BOUNDS)


@pytest.fixture(scope="session")
def people() -> NDArray[np.float64]:
    """Longitude and latitude of 2,000 invented people, most of them in one corner, some in the river."""
    rng = np.random.default_rng(7)
    crowd = rng.normal((10.004, 50.003), (0.001, 0.0008), (1500, 2))
    others = rng.uniform(BOUNDS[:2], BOUNDS[2:], (500, 2))
    return np.concatenate([crowd, others])


@pytest.fixture(scope="session")
def people_file(people: NDArray[np.float64], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people as a Parquet file, with a column that must not come out."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    table = pa.table({"lon": people[:, 0], "lat": people[:, 1], "name": [f"person {i}" for i in range(len(people))]})
    pq.write_table(table, path)
    return path


@pytest.fixture(scope="session")
def world_file(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The city as a file."""
    path = tmp_path_factory.mktemp("world") / "world.gpkg"
    world.write(path)
    return path


@pytest.fixture(scope="session", autouse=True)
def no_ledger_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures that many tests share, which are made before those of one test, touch nothing of the user's either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data-home")))
        patch.setenv("POINTVEIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def few_people_will_do() -> Iterator[None]:
    """Let no release of the few people in tests stop because noise hid them, save where that is what is tested.

    Their noise is real: with the rule, about one run of all tests in fifteen would fail by chance.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "is_noise", lambda _: False)
        yield


@pytest.fixture
def rough_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find margins as ever, by one rehearsal with few people: for tests of anything but their size.

    Those are most of the work of a small release; in full they are found in all other tests.
    """
    monkeypatch.setattr(margins, "MOST_REHEARSALS", 1)
    monkeypatch.setattr(margins, "MOST_PEOPLE", 5000)


@pytest.fixture(autouse=True)
def repeatable_chance(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test the same random bytes in every run: what passes by luck, or fails by it, does so always.

    A process that is forked, or started, has the operating system's.
    """
    words, owner, real = np.random.default_rng(list(request.node.nodeid.encode())), os.getpid(), os.urandom

    def urandom(count: int) -> bytes:
        return words.bytes(count) if os.getpid() == owner else real(count)

    monkeypatch.setattr(os, "urandom", urandom)
    monkeypatch.setattr(random, "_urandom", urandom)


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test may touch the ledger or the cache of whoever runs it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data-home"))
    monkeypatch.setenv("POINTVEIL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the three real cities."""
    folder = os.environ.get("POINTVEIL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the three real cities: set POINTVEIL_DATA to their folder")
    return Path(folder)
