"""Probes of what must hold of kept columns, whatever the records say in them; as in `probes.py`."""

import contextlib
import json
import logging
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyarrow import csv
from tests.privacy.probes import BOX, COLUMNS, ROWS, WORLD, Probe, cell_centre, taped, without_hashes

import pointveil as pv
from pointveil.asking import ask_all
from pointveil.cells import CodedCells, Everywhere, Grid, PeopleRegions
from pointveil.engines import NotOneByOneError
from pointveil.errors import BudgetError, InputError, VerificationError
from pointveil.lab.audit.files import run, small_batches, world_file
from pointveil.lab.audit.subjects import overheard, shrunk
from pointveil.ledger import Ledger
from pointveil.methods import METHODS, Method
from pointveil.statement import parse_statement
from pointveil.surveys import pack
from pointveil.vault import VOTES, NoisyCounts, Share, Vault

# What stands in the columns, and the bin that it is in: the last is that of other values.
HOURS = {
    "2024-03-05T07:15:00": 7,
    "2024-03-09T07:59:59": 7,
    "2024-03-04T00:00:00": 0,
    "2024-03-10T23:30:00": 23,
    "2024-03-11T00:00:00": 24,
    "soon": 24,
    None: 24,
}
KINDS = {"bus": 0, "tram": 1, " tram ": 1, "zeppelin": 2, "Bus": 2, None: 2}
FARES = {0.5: 0, -7.0: 0, 4.25: 2, 9.99: 4, 1e9: 4, None: 5}
SIZES = (25, 3, 6)
PERIOD = "2024-03-04/2024-03-11"
KEEP = (
    pv.Time("at", PERIOD, resolution="hour-of-day"),
    pv.Category("kind", ["bus", "tram"]),
    pv.Number("fare", 0, 10, bins=5),
)
DROPPING = (KEEP[0], pv.Category("kind", ["bus", "tram"], other="drop"), KEEP[2])
LONGEST = 96  # bytes of a line
SUFFIXES = (".csv", ".parquet", ".geojson", ".gpkg")


class Trip(NamedTuple):
    """A record: the cell it is in, whose it is, and what its columns say."""

    cell: int
    who: str = "p"
    at: str | None = "2024-03-05T07:15:00"
    kind: str | None = "bus"
    fare: float | None = 0.5

    @property
    def bins(self) -> tuple[int, int, int]:
        """The bins that its values are in."""
        return HOURS[self.at], KINDS[self.kind], FARES[self.fare]


def trips(count: int, seed: int = 3) -> list[Trip]:
    """Return records that say all kinds of things."""
    rng = np.random.default_rng(seed)
    said = [list(values) for values in (HOURS, KINDS, FARES)]
    return [Trip(int(rng.integers(12)), f"p{number}", *(rng.choice(np.array(each, object)) for each in said))
            for number in range(count)]  # fmt: skip


def table_of(records: Sequence[Trip]) -> pa.Table:
    """Return records as a table."""
    places = [cell_centre(trip.cell) for trip in records]
    return pa.table(
        {
            "lon": pa.array([x for x, _ in places], pa.float64()),
            "who": pa.array([trip.who for trip in records], pa.string()),
            "at": pa.array([trip.at for trip in records], pa.string()),
            "lat": pa.array([y for _, y in places], pa.float64()),
            "kind": pa.array([trip.kind for trip in records], pa.string()),
            "fare": pa.array([trip.fare for trip in records], pa.float64()),
        }
    )


def write(path: Path, records: Sequence[Trip]) -> Path:
    """Write records to a file of any format."""
    table = table_of(records)
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".geojson":
        rows = table.to_pylist()
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [row.pop("lon"), row.pop("lat")]},
                "properties": row,
            }
            for row in rows
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    else:
        import pyogrio

        shapes = pa.array(shapely.to_wkb(shapely.points(table["lon"], table["lat"])), pa.binary())
        table = table.drop_columns(["lon", "lat"]).append_column("geometry", shapes)
        pyogrio.write_arrow(
            table, path, driver="GPKG", crs="EPSG:4326", geometry_type="Point", geometry_name="geometry"
        )
    return path


def every_bin(places: Any, keep: Sequence[Any] = KEEP) -> CodedCells:
    """Return cells of every place and every bin of every column."""
    return CodedCells(places, tuple((number, column.parts()[0].bins) for number, column in enumerate(keep)))


def counted(source: Any, *, keep: Sequence[Any] = KEEP, seed: int = 1, **options: Any) -> Any:
    """Return how many records are used in each cell, hour, kind and fare; two questions in turn, which must agree."""
    vault = Vault.rehearse(source, WORLD, epsilon=1, seed=seed, keep=keep, **options)
    sizes = [len(column.parts()[0].bins) for column in keep]
    first, second = (
        vault.exact_count(every_bin(Grid(WORLD.bounds, COLUMNS, ROWS), keep)).reshape(12, *sizes) for _ in range(2)
    )
    assert (first == second).all()
    assert first.sum() == vault.exact_count(Everywhere())[0]  # the same records in every question
    return first


def due(records: Sequence[Trip], *, drop: bool = False) -> Any:
    """Return how many records should be counted in each cell, hour, kind and fare."""
    table = np.zeros((12, *SIZES), dtype=np.int64)
    for trip in records:
        table[trip.cell, *trip.bins] += 1
    return table[:, :, :2] if drop else table


def every_record_is_counted_where_its_own_values_say(folder: Path) -> None:
    """In every format, in batches of any size, with values that are missing, unlisted or unreadable beside it."""
    records = trips(61)
    for suffix in SUFFIXES:
        path = write(folder / f"trips{suffix}", records)
        for rows in (2, 7, 1000):
            with small_batches(rows, longest=LONGEST):
                assert (counted(path) == due(records)).all(), (suffix, rows)


def what_one_record_says_changes_no_other(folder: Path) -> None:
    """A record more, whatever it says and wherever it stands: one cell has one more, and nothing else changes."""
    records = [Trip(number % 12, at="2024-03-09T07:59:59", kind="tram", fare=4.25) for number in range(20)]
    more = [Trip(5, at=at, kind=kind, fare=fare) for at, kind, fare in zip(HOURS, KINDS, FARES, strict=False)]
    with small_batches(3, longest=LONGEST):
        for odd in [*more, Trip(5, at=None, kind=None, fare=None)]:
            for place in (0, 7, 20):
                path = write(folder / "more.parquet", [*records[:place], odd, *records[place:]])
                assert (counted(path) == due([*records, odd])).all(), odd


def what_is_dropped_is_dropped_before_any_count(folder: Path) -> None:
    """A record that is left out for its value is in no question, and takes no other record of its person away."""
    records = trips(80)
    kept = [trip for trip in records if KINDS[trip.kind] < 2]
    path = write(folder / "trips.csv", records)
    with small_batches(3, longest=LONGEST):
        assert (counted(path, keep=DROPPING) == due(kept, drop=True)).all()
    busy = [Trip(number % 12, "one", kind="zeppelin") for number in range(30)]
    busy += [Trip(number, "one", kind="bus") for number in range(3)]
    for seed in range(3):
        found = counted(write(folder / "busy.parquet", busy), keep=DROPPING, seed=seed, person="who", max_points=3)
        assert found.sum() == 3


def persons_are_bounded_with_what_they_say(folder: Path) -> None:
    """Of each person as many records are used as are allowed, each with its own place and values."""
    hours, kinds, fares = list(HOURS), list(KINDS), list(FARES)
    times = [1, 2, 3, 4, 5, 7, 11, 13, 20, 0, 6, 9]
    each = [
        Trip(cell, f"p{cell}", hours[cell % len(hours)], kinds[cell % len(kinds)], fares[cell % len(fares)])
        for cell in range(12)
    ]
    records = [trip for trip in each for _ in range(times[trip.cell])]
    records = [records[number] for number in np.random.default_rng(4).permutation(len(records))]
    expected = due([trip for trip in each for _ in range(min(times[trip.cell], 3))])
    for suffix in SUFFIXES:
        path = write(folder / f"people{suffix}", records)
        for rows in (3, 1000):
            with small_batches(rows, longest=LONGEST):
                assert (counted(path, person="who", max_points=3) == expected).all(), (suffix, rows)


def no_value_is_chosen_rather_than_another(folder: Path) -> None:
    """Of one person at one place, who says 24 different things, any eight may be used."""
    records = [Trip(3, "one", f"2024-03-05T{hour:02d}:00:00") for hour in range(24)]
    path = folder / "one.parquet"
    pq.write_table(table_of([record._replace(fare=0.5) for record in records]), path)
    keep = (KEEP[0],)
    found = [counted(path, keep=keep, seed=seed, person="who", max_points=8)[3] for seed in range(12)]
    assert all(each.sum() == 8 for each in found)
    assert 0 < sum(int(each[:8].sum()) for each in found) < 12 * 8 / 2
    assert np.count_nonzero(np.sum(found, axis=0)) > 18


def questions_about_values_have_all_their_noise(folder: Path) -> None:
    """Of cells that hold nobody, or as many as are known, the answers differ by what epsilon and the unit demand."""
    records = [Trip(0, f"p{number}") for number in range(5000)]
    path = write(folder / "many.parquet", records)
    for person, points in (({}, 1), ({"person": "who", "max_points": 8}, 8 * VOTES)):
        vault = Vault.open(path, WORLD, epsilon=1, ledger=None, keep=KEEP, **person)  # type: ignore[arg-type]
        answer = vault.count(every_bin(Grid(WORLD.bounds, COLUMNS, ROWS)), Share("table", Fraction(1, 2)))
        assert vault.left == Fraction(1, 2)
        votes = VOTES if person else 1
        noise = (answer.values.reshape(12, *SIZES) - votes * due(records)).ravel()
        ratio = np.exp(-1 / (2 * points))
        usual = 2 * ratio / (1 - ratio**2)  # the mean size of the noise
        assert abs(np.abs(noise).mean() / usual - 1) < 5 / np.sqrt(len(noise))
        assert abs(noise[due(records).ravel() > 0][0]) < 60 * points


def every_question_about_a_column_is_paid_for(folder: Path) -> None:
    """What a survey says in its statement is what was asked, column by column, and nothing is left over."""
    path = write(folder / "trips.csv", trips(300))
    for person in ({}, {"person": "who", "max_points": 2}):
        vault = Vault.open(path, WORLD, epsilon=1, ledger=None, keep=KEEP, **person)  # type: ignore[arg-type]
        try:
            done = pv.survey(vault, "ugrid-uni", small=True)
        except BudgetError:
            pytest.fail("more was asked than there is")
        assert vault.left == 0
        stated = [(question.purpose, question.epsilon) for question in done.statement.questions]
        assert stated == [(answer.purpose, str(answer.epsilon)) for answer in done.answers]
        for column in KEEP:
            cost = sum(Fraction(epsilon) for purpose, epsilon in stated if purpose.startswith(f"{column.name}: "))
            assert cost == column.part_of_epsilon
        said = [dict(each) for each in done.statement.columns]
        assert [each["name"] for each in said] == ["at", "kind", "fare"]
        assert (said[0]["period"], said[0]["resolution"]) == (PERIOD, "hour-of-day")
        assert said[1].get("values") == ["bus", "tram"]
        assert (said[2]["low"], said[2]["high"], said[2]["bins"]) == (0.0, 10.0, 5)
        assert [column.to_dict() for column in done.keep] == said


class Script:
    """Answers every question from its purpose and size alone, and notes the cells; the real vault is within reach."""

    points_per_unit = kept_per_unit = 1
    by_person = False
    max_points = None
    crs = "EPSG:4326"

    def __init__(self, vault: Vault) -> None:
        self.vault, self.asked = vault, list[Any]()

    def count(self, cells: Any, share: Share) -> NoisyCounts:
        """Make an answer up."""
        places = getattr(cells, "places", cells)
        cuts = places.at.tolist() if isinstance(places, PeopleRegions) else None
        self.asked.append((share.purpose, share.epsilon, len(cells), cuts))
        rng = np.random.default_rng(len(self.asked))
        total = 200_000 // (1 if share.purpose == "total" else len(cells))
        return NoisyCounts(rng.poisson(total, len(cells)).astype(np.int64), share.purpose, share.epsilon, 1)


def cells_follow_earlier_answers_alone(folder: Path) -> None:
    """With the same answers, the same cells are asked about, whoever is in the file."""
    seen = []
    for name, records in {
        "few": [Trip(1, kind=None)] * 3,
        "many": trips(900),
        "none": list[Trip](),
        "listed": [Trip(7)] * 40,
    }.items():
        vault = Vault.open(write(folder / f"{name}.parquet", records), WORLD, epsilon=1, ledger=None, keep=KEEP)
        script = Script(vault)
        ask_all(script, WORLD, small("ugrid-uni"), Fraction(1), KEEP)  # type: ignore[arg-type]
        seen.append(script.asked)
    assert any(cuts for *_, cuts in seen[0])
    assert all(asked == seen[0] for asked in seen)


def small(method: str) -> Method:
    """Return a method with small sizes."""
    found = METHODS[method]
    return Method(shrunk(found.partitioner), shrunk(found.placement), found.split)


OPTIONS = (
    "--small",
    "--keep",
    f"at=time:{PERIOD}@hour-of-day",
    "--keep",
    "fare=number:0..10;bins=5",
    "--keep",
    "who=id",
)
KIND, KIND_DROPPED = (("--keep", f"kind=category:bus,tram{more}") for more in ("", ";other=drop"))


def published(folder: Path, records: Sequence[Trip], *options: str) -> dict[str, Any]:
    """Return all that a release by the command line shows: exit code, words, files, statement, points."""
    folder.mkdir()
    write(folder / "trips.csv", records)
    logger = logging.getLogger("pointveil")
    given = ["--world", str(world_file(WORLD)), "--epsilon", "1", "--ledger", "ledger.db", "--method", "ugrid-uni"]
    drawn = ["--count", "40", "--seed", "3"]
    with contextlib.chdir(folder), taped(), overheard() as said, small_batches(3, longest=LONGEST):
        logger.setLevel(logging.DEBUG)
        try:
            code = run(["synthesize", "trips.csv", "out.csv", *drawn, *given, *OPTIONS, *options])
        finally:
            logger.setLevel(logging.NOTSET)
    if code:
        return {"code": code, "said": said}
    statement = json.loads((folder / "out.csv.statement.json").read_text())
    rows = (folder / "out.csv").read_bytes()
    return {
        "code": code,
        "said": said,
        "files": sorted(path.name for path in folder.iterdir()),
        "header": rows.split(b"\n")[0],
        "cells": [question.pop("cells") for question in statement["questions"]],
        "statement": without_hashes(statement),
        "rows": rows,
    }


def a_record_dropped_for_its_value_leaves_everything_as_it_was(folder: Path) -> None:
    """With the same random bits, it changes not one byte of a release, nor a word said."""
    records = [trip._replace(kind="bus") for trip in trips(40)]
    dropped = [Trip(4, "new", None, None, None), Trip(5, "new", "soon", "zeppelin", 1e9)]
    for name, options in {"points": (), "persons": ("--person", "who", "--max-points", "2")}.items():
        before = published(folder / f"{name}-before", records, *KIND_DROPPED, *options)
        assert before["code"] == 0
        after = published(folder / f"{name}-after", [*records[:9], *dropped, *records[9:]], *KIND_DROPPED, *options)
        assert after == before


def a_value_changes_nothing_but_noisy_numbers(folder: Path) -> None:
    """Values that are missing, unlisted or unreadable: what is said, and the form of the file, stay as they were."""
    plain = [Trip(number % 6, f"p{number}") for number in range(30)]
    others = [Trip(11, "new", "soon", "zeppelin", None), Trip(11, "new", None, None, None)]
    empty = [trip._replace(at=None, kind=None, fare=None) for trip in plain]
    seen = [
        published(folder / str(number), records, *KIND)
        for number, records in enumerate((plain, [*plain, *others], empty))
    ]
    for each in seen:
        assert each["code"] == 0
        each["columns"] = each.pop("rows").split(b"\n")[1].count(b",")
        each.pop("cells")
        each["statement"]["survey"].pop("answers_sha256")
    assert seen[0] == seen[1] == seen[2]


def a_request_is_for_its_columns(folder: Path) -> None:
    """The same request with other kept columns, or another share or list, is refused, and costs nothing."""
    path, ledger = write(folder / "trips.parquet", trips(60)), folder / "ledger.db"

    def ask(keep: Sequence[Any]) -> None:
        pv.release(
            path,
            WORLD,
            epsilon=1,
            output=folder / "out.csv",
            keep=keep,
            ledger=ledger,
            request="monday",
            small=True,
            key=None,
            method="ugrid-uni",
            count=20,
        )

    with quiet():
        ask(KEEP)
        first = (folder / "out.csv").read_bytes()
        others = (
            KEEP[:2],
            (*KEEP, pv.Id("who")),
            (KEEP[1], KEEP[0], KEEP[2]),
            DROPPING,
            (*KEEP[:2], pv.Number("fare", 0, 10, bins=5, share="1/50")),
            (),
        )
        for keep in others:
            try:
                ask(keep)
            except InputError:
                continue
            pytest.fail("another release was given under the same name")
        ask(KEEP)
    assert (folder / "out.csv").read_bytes() == first
    assert Ledger(ledger).accounts()[0].spent == 1


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let nothing be said."""
    with overheard():
        yield


class StoppedError(Exception):
    """Stands for the end of a process."""


def a_resumed_request_gives_the_same_answers_about_columns(folder: Path) -> None:
    """Stopped after any question, it goes on with the answers that the ledger has, and is charged once."""
    path = write(folder / "trips.parquet", trips(60))
    honest = Ledger.keep
    for stop in (3, 5, 7):
        ledger, kept = folder / f"{stop}.db", dict[int, bytes]()

        def keep(self: Ledger, charge: Any, number: int, asked: str, answer: bytes) -> bytes:
            given = honest(self, charge, number, asked, answer)
            assert kept.setdefault(number, given) == given, "answered twice"  # noqa: B023
            if number == stop and len(kept) == stop + 1:  # noqa: B023
                raise StoppedError
            return given

        def ask() -> Any:
            return pv.release_survey(
                path, WORLD, epsilon=1, output=folder / f"{stop}.survey", ledger=ledger, request="monday",  # noqa: B023
                key=None, keep=KEEP, method="ugrid-uni", small=True,
            )  # fmt: skip

        with quiet(), patch.object(Ledger, "keep", keep):
            try:
                ask()
            except StoppedError:
                assert len(kept) == stop + 1
                done = ask()
            else:
                pytest.fail("an answer was used before the ledger had it")
        assert [pack(answer) for answer in done.answers] == [kept[number] for number in range(len(kept))]
        assert Ledger(ledger).accounts()[0].spent == 1


class LooksAround:
    """Cells that look at what the others say."""

    reads_codes = True

    def __len__(self) -> int:
        return 25

    def locate(self, _: Any, codes: Any = ()) -> Any:
        """Number the codes by which of them occur."""
        return np.unique(codes[0], return_inverse=True)[1]


def cells_that_look_at_other_values_are_refused(folder: Path) -> None:
    """They are noticed before they answer."""
    path = write(folder / "trips.parquet", [Trip(1), Trip(2, at=None), Trip(3)])
    vault = Vault.open(path, WORLD, epsilon=1, ledger=None, keep=KEEP)
    with pytest.raises(NotOneByOneError):
        vault.count(LooksAround(), Share("table", Fraction(1)))


def a_statement_fits_its_columns(folder: Path) -> None:
    """One that names another list than was asked about does not hold."""
    path = write(folder / "trips.parquet", trips(60))
    statement = pv.survey(Vault.open(path, WORLD, epsilon=1, ledger=None, keep=KEEP), "ugrid-uni", small=True).statement
    assert parse_statement(statement.to_json()) == statement
    columns = [{**each, "values": ["bus", "tram", "ferry"]} if "values" in each else each for each in statement.columns]
    with pytest.raises(VerificationError):
        parse_statement(statement.model_copy(update={"columns": tuple(columns)}).to_json())


def points_are_inside_the_world(folder: Path) -> None:
    """A release that keeps columns writes them for every point, in the order of the file."""
    path = write(folder / "trips.csv", trips(60))
    with quiet():
        made = pv.release(
            path,
            WORLD,
            epsilon=1,
            output=folder / "out.csv",
            keep=(*KEEP, pv.Id("who")),
            ledger=None,
            key=None,
            count=30,
            small=True,
        )
    assert made.to_arrow().column_names == ["lon", "who", "at", "lat", "kind", "fare"]
    assert set(made.to_arrow()["kind"].to_pylist()) <= {"bus", "tram", None}
    assert len(set(made.to_arrow()["who"].to_pylist())) == 30
    west, south, east, north = BOX
    assert ((made.coordinates >= (west, south)) & (made.coordinates <= (east, north))).all()


PROBES: tuple[Probe, ...] = (
    every_record_is_counted_where_its_own_values_say,
    what_one_record_says_changes_no_other,
    what_is_dropped_is_dropped_before_any_count,
    persons_are_bounded_with_what_they_say,
    no_value_is_chosen_rather_than_another,
    questions_about_values_have_all_their_noise,
    every_question_about_a_column_is_paid_for,
    cells_follow_earlier_answers_alone,
    a_record_dropped_for_its_value_leaves_everything_as_it_was,
    a_value_changes_nothing_but_noisy_numbers,
    a_request_is_for_its_columns,
    a_resumed_request_gives_the_same_answers_about_columns,
    cells_that_look_at_other_values_are_refused,
    a_statement_fits_its_columns,
    points_are_inside_the_world,
)
