"""Whatever the records are, a release looks the same from outside: its shape, keys, types, texts and errors."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.privacy.probes import write

import pointveil as pv
from pointveil.columns import Column
from pointveil.lab.audit.files import small_batches
from pointveil.lab.audit.subjects import shrunk
from pointveil.methods import METHODS, Method
from pointveil.releases import draw, survey, synthesize
from pointveil.surveys import Survey
from pointveil.vault import Vault
from pointveil.world import World

NUMBERS = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from(
    [10.0, 10.001, 10.01, 10.02, 50.0, 50.003, 50.012, -180.0, 180.0, 90.0, 1e308, -0.0, 5e-324, math.nan, math.inf]
)
RECORDS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)
PERSONS = st.sampled_from([None, "", "a", "b", "ä", "a" * 200])
QUIET = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def street_world() -> World:
    """A square with two roads and no water, which is quick."""
    roads = [
        shapely.LineString([(10.0, 50.003), (10.02, 50.003)]),
        shapely.LineString([(10.004, 50.0), (10.004, 50.012)]),
    ]
    return World.make((10.0, 50.0, 10.02, 50.012), roads=np.array(roads))


def table(records: list[tuple[float, float]], persons: list[str | None] | None = None) -> pa.Table:
    columns = {"lon": [x for x, _ in records], "lat": [y for _, y in records]}
    made = pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()})
    return made if persons is None else made.append_column("who", pa.array(persons, pa.string()))


def outside(done: Survey) -> dict[str, object]:
    """All that is published except noisy numbers, and what follows from them alone.

    Which questions a method asks may follow from earlier noisy answers, but each is one of those it may ask.
    """
    content = json.loads(done.statement.to_json())
    for name in ("release", "digest"):
        content.pop(name)
    content.pop("people", None)  # noisy numbers, and what follows from them
    content["survey"].pop("answers_sha256")  # a hash of noisy numbers
    content.pop("margins", None)  # worked out from noisy numbers
    questions = content.pop("questions")
    about_places = {question["purpose"] for question in questions if ": " not in question["purpose"]}
    assert about_places <= {*done.method.purposes, "persons", "sizes"}
    assert {str(array.dtype) for answer in done.answers for array in arrays(answer)} == {"int64"}
    points = draw(done)
    return {
        "statement": content,
        "keys": {tuple(question) for question in questions},
        "points": (str(points.coordinates.dtype), points.coordinates.ndim, points.coordinates.shape[1], points.crs),
        "table": points.to_arrow().schema.remove_metadata().to_string(),
    }


def arrays(answer: object) -> list[NDArray[np.int64]]:
    return [value for value in vars(answer).values() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("method", METHODS)
@QUIET
@given(records=RECORDS, more=st.tuples(NUMBERS, NUMBERS))
def test_one_record_more_changes_nothing_but_noisy_numbers(
    method: str, records: list[tuple[float, float]], more: tuple[float, float], street_world: World
) -> None:
    without = survey(Vault.open(table(records), street_world, epsilon=1, ledger=None), small(method), small=True)
    present = survey(
        Vault.open(table([*records, more]), street_world, epsilon=1, ledger=None), small(method), small=True
    )

    assert outside(without) == outside(present)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".geojson"])
@pytest.mark.parametrize("limit", [None, 2])
@QUIET
@given(records=st.lists(st.tuples(NUMBERS, NUMBERS, PERSONS), max_size=12), more=st.tuples(NUMBERS, NUMBERS, PERSONS))
def test_one_record_more_in_a_file_of_many_batches_changes_nothing_but_noisy_numbers(
    suffix: str,
    limit: int | None,
    records: list[tuple[float, float, str | None]],
    more: tuple[float, float, str | None],
    street_world: World,
    tmp_path: Path,
) -> None:
    seen, options = [], {} if limit is None else {"person": "who", "max_points": limit}
    with small_batches(2):
        for number, given_records in enumerate((records, [*records, more])):
            path = write(tmp_path / f"{number}{suffix}", given_records)
            vault = Vault.open(path, street_world, epsilon=1, ledger=None, **options)  # type: ignore[arg-type]
            seen.append(outside(survey(vault, small("ugrid-uni"), small=True)))

    assert seen[0] == seen[1]


WORDS = st.sampled_from([None, "", " ", "bus", " tram ", "Bus", "zeppelin", "7", "ä" * 300, "\0", '"', "a,b", "\n"])
MOMENTS = st.sampled_from([None, "", "2024-03-05T07:15:00", "2024-03-05 07:15", "2024-03-05T07:15+02:00", "2024-02-30",
                           "soon", "9999-12-31T23:59:59Z", "0001-01-01", "-1", "1e99", "2024-03-05T24:00"])  # fmt: skip
FARES = st.none() | NUMBERS
SAYING = st.tuples(MOMENTS, WORDS, FARES)
PERIOD = "2024-03-04/2024-03-11"
KEPT = (
    (pv.Time("at", PERIOD), pv.Category("kind", ["bus", "tram"]), pv.Number("fare", 0, 9, bins=3)),
    (pv.Time("at", PERIOD, resolution="hour-of-day", other="drop"), pv.Category("kind", ["bus"], other="drop")),
    (pv.Category("kind", ["bus", "tram"], other="none"), pv.Id("at"), pv.Number("fare", -1, 1, bins=2, other="drop")),
)


def saying(said: list[tuple[str | None, str | None, float | None]]) -> pa.Table:
    """Return records at one place, and what they say."""
    made = table([(10.004, 50.003)] * len(said))
    for place, (name, kind) in enumerate({"at": pa.string(), "kind": pa.string(), "fare": pa.float64()}.items()):
        made = made.append_column(name, pa.array([each[place] for each in said], kind))
    return made


@pytest.mark.parametrize("keep", KEPT, ids=["null", "drop", "text and id"])
@QUIET
@given(said=st.lists(SAYING, max_size=8), more=SAYING)
def test_what_one_record_more_says_changes_nothing_but_noisy_numbers(
    keep: tuple[Column, ...],
    said: list[tuple[str | None, str | None, float | None]],
    more: tuple[str | None, str | None, float | None],
    street_world: World,
) -> None:
    seen = []
    for given_records in (said, [more, *said]):
        vault = Vault.open(saying(given_records), street_world, epsilon=1, ledger=None, keep=keep)
        seen.append(outside(survey(vault, small("ugrid-uni"), small=True)))

    assert seen[0] == seen[1]


@QUIET
@given(records=st.lists(st.tuples(NUMBERS, NUMBERS, PERSONS), max_size=12), limit=st.integers(1, 3))
def test_no_records_of_any_person_make_a_release_fail(
    records: list[tuple[float, float, str | None]], limit: int, street_world: World
) -> None:
    given_table = table([(x, y) for x, y, _ in records], [person for _, _, person in records])

    vault = Vault.open(given_table, street_world, epsilon=1, person="who", max_points=limit, ledger=None)

    assert synthesize(vault, "ugrid-uni", small=True).statement.guarantee.points_per_unit == limit


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "records",
    [
        [],
        [(math.nan, math.nan)] * 5,
        [(10.0, 50.0)] * 3000,
        [(10.01, 50.005)] * 10,
        [(1e308, -1e308), (math.inf, -math.inf)],
        [(10.02, 50.012)],
    ],
    ids=["empty", "no places", "one place", "water", "huge", "the far corner"],
)
@pytest.mark.usefixtures("rough_margins")
def test_no_records_make_a_release_fail(method: str, records: list[tuple[float, float]], world: World) -> None:
    made = synthesize(Vault.open(table(records), world, epsilon=1), small(method), small=True)

    assert world.on_land(world.projection.to_metres(made.coordinates)).all()
    assert np.isfinite(made.coordinates).all()


def small(method: str) -> Method:
    """The same method with small sizes: the same code, quickly."""
    found = METHODS[method]
    return dataclasses.replace(found, partitioner=shrunk(found.partitioner), placement=shrunk(found.placement))
