"""Probes of what must hold whatever the records are; each passes on the code as it is, and fails where it is broken.

They go the long way: files, batches of a few records, nothing kept in memory, the command line. Each takes an empty
folder. `test_probes.py` runs them on the code as it is, `test_mutants.py` on code that was broken on purpose.
"""

import contextlib
import hashlib
import json
import logging
import math
import os
import sys
import warnings
import weakref
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from numpy.typing import NDArray
from scipy import stats

from pointveil.cells import Everywhere, Grid
from pointveil.engines import LocalEngine, likeness
from pointveil.errors import BudgetError, InputError
from pointveil.lab.audit.files import run, small_batches, world_file
from pointveil.lab.audit.subjects import overheard, shrunk
from pointveil.ledger import Ledger
from pointveil.methods import METHODS, Method
from pointveil.placement import AlongRoads
from pointveil.releases import survey, synthesize
from pointveil.statement import People, Statement
from pointveil.vault import VOTES, Share, Vault, noise
from pointveil.world import World

Probe = Callable[[Path], None]
Record = tuple[object, object, object]
UNLIKELY = 1e-6
BOX = (10.0, 50.0, 10.02, 50.012)
COLUMNS, ROWS = 4, 3
ROADS = [
    shapely.LineString([(10.0, 50.003), (10.02, 50.003)]),
    shapely.LineString([(10.004, 50.0), (10.004, 50.012)]),
]
WORLD = World.make(BOX, roads=np.array(ROADS))
SUFFIXES = (".csv", ".parquet", ".geojson", ".gpkg")


# Records in files


def cell_centre(number: int) -> tuple[float, float]:
    """Return the middle of one of twelve cells."""
    row, column = divmod(number, COLUMNS)
    return 10.0025 + 0.005 * column, 50.002 + 0.004 * row


def write(path: Path, records: Sequence[Record]) -> Path:
    """Write records to a file of any format; the third value says whose each is."""
    lon, lat, who = (list(column) for column in zip(*records, strict=True)) if records else ([], [], [])
    if path.suffix == ".csv":
        path.write_text("lon,lat,who\n" + "".join(f"{x},{y},{name}\n" for x, y, name in records))
        return path
    if path.suffix == ".parquet":
        pq.write_table(
            pa.table(
                {
                    "lon": pa.array(lon, pa.float64()),
                    "lat": pa.array(lat, pa.float64()),
                    "who": pa.array(who, pa.string()),
                }
            ),
            path,
        )
        return path
    if path.suffix == ".geojson":
        features = [
            {
                "type": "Feature",
                "properties": {"who": name},
                "geometry": {"type": "Point", "coordinates": [x, y]} if math.isfinite(float(str(x))) else None,
            }
            for x, y, name in records
        ]
        path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        return path
    import pyogrio

    table = pa.table({"who": who, "geometry": pa.array(shapely.to_wkb(shapely.points(lon, lat)), pa.binary())})
    pyogrio.write_arrow(table, path, driver="GPKG", crs="EPSG:4326", geometry_type="Point", geometry_name="geometry")
    return path


def bounded(path: Path, limit: int) -> list[list[int]]:
    """Return, for two questions in turn, how many records are used in each of twelve cells."""
    vault = Vault.rehearse(path, WORLD, epsilon=1, seed=1, person="who", max_points=limit)
    return [vault.exact_count(Grid(WORLD.bounds, COLUMNS, ROWS)).tolist() for _ in range(2)]


def places_of(path: Path) -> list[tuple[float, float]]:
    """Return all points that are used, in order of place."""
    points = Vault.rehearse(path, WORLD, epsilon=1, seed=1).exact_points()
    return sorted(map(tuple, np.round(points, 6).tolist()))


def persons_are_bounded_in_the_whole_file(folder: Path) -> None:
    """Twelve persons live in a cell each, their records mixed: of each, as many are used as are allowed, every time."""
    times = [1, 2, 3, 4, 5, 7, 11, 13, 20, 0, 6, 9]
    records: list[Record] = [(*cell_centre(cell), f"p{cell}") for cell, count in enumerate(times) for _ in range(count)]
    records = [records[number] for number in np.random.default_rng(4).permutation(len(records))]
    for suffix in SUFFIXES:
        path = write(folder / f"people{suffix}", records)
        for rows in (2, 3, 1000):
            with small_batches(rows):
                assert bounded(path, 3) == [[min(count, 3) for count in times]] * 2, (suffix, rows)


def a_person_who_moves_about_is_bounded(folder: Path) -> None:
    """One person in all twelve cells: the same records are used for every question, and no more than allowed."""
    records: list[Record] = [(*cell_centre(number % 12), "one") for number in range(36)]
    path = write(folder / "one.csv", records)
    with small_batches(2):
        first, second = bounded(path, 4)
    assert first == second
    assert sum(first) == 4


def another_person_changes_nobody_else(folder: Path) -> None:
    """A person more, wherever in the file: everybody else has as many records as before."""
    records: list[Record] = [(*cell_centre(number % 6), f"p{number % 6}") for number in range(30)]
    more: list[Record] = [(*cell_centre(11), "new")] * 9
    with small_batches(2):
        without = bounded(write(folder / "without.csv", records), 2)
        for number, present in enumerate(([*records, *more], [*more, *records], [*records[:7], *more, *records[7:]])):
            found = bounded(write(folder / f"with{number}.csv", present), 2)
            assert [counts[:11] for counts in found] == [counts[:11] for counts in without]
            assert [counts[11] for counts in found] == [2, 2]


def persons_with_long_names_stay_apart(folder: Path) -> None:
    """Two names that are alike for hundreds of letters are two persons, and neither takes the other's place."""
    records: list[Record] = [(*cell_centre(number % 2), "x" * 400 + str(number % 2)) for number in range(10)]
    assert bounded(write(folder / "long.parquet", records), 2) == [[2, 2, *[0] * 10]] * 2


ODD: list[Record] = [
    ("nan", "nan", "odd"),
    ("inf", "50.001", "odd"),
    (1e308, -1e308, "odd"),
    (9.9, 50.001, "odd"),
    (10.02, 50.012, "odd"),
    ("x", "y", "odd"),
    ("", "", ""),
    (10.0, 50.0, "odd"),
    (10.001, 50.001, "odd"),
]


def a_record_changes_no_other(folder: Path) -> None:
    """A record more, odd or not, wherever in the file: all others are used as before."""
    rng = np.random.default_rng(8)
    records: list[Record] = [(x, y, "p") for x, y in np.round(rng.uniform(BOX[:2], BOX[2:], (20, 2)), 7).tolist()]
    with small_batches(3):
        before = places_of(write(folder / "before.csv", records))
        for number, odd in enumerate(ODD):
            for place in (0, 7, 20):
                path = write(folder / f"{number}-{place}.csv", [*records[:place], odd, *records[place:]])
                after = places_of(path)
                assert not Counter(before) - Counter(after)
                assert len(after) <= len(before) + 1


def a_line_of_another_width_changes_no_other(folder: Path) -> None:
    """A line with too few or too many values, or an open quote, is left out alone."""
    records: list[Record] = [(*cell_centre(number % 12), f"p{number}") for number in range(24)]
    path = write(folder / "people.csv", records)
    lines = path.read_text().splitlines()
    with small_batches(3):
        before = places_of(path)
        for line in (
            "10.001",
            "10.001,50.001",
            "10.001,50.001,p,more",
            '10.001,50.001,p"q,more',
            '"10.001,50.001,p',
            ",,",
        ):
            path.write_text("\n".join([*lines[:5], line, *lines[5:]]) + "\n")
            assert places_of(path) == before, line


# The command line


class Tape:
    """Bytes that seem to come from the operating system: to each module that asks, the same ones every time."""

    def __init__(self) -> None:
        self.played: Counter[str] = Counter()

    def __call__(self, size: int) -> bytes:
        module = str(sys._getframe(1).f_globals["__name__"])
        self.played[module] += 1
        return hashlib.shake_256(f"{module} {self.played[module]}".encode()).digest(size)


@contextlib.contextmanager
def taped() -> Iterator[None]:
    """Let all randomness of the operating system come from a tape, so that two runs differ by their records alone."""
    tape = Tape()
    with patch("os.urandom", tape), patch("random._urandom", tape):
        yield


def published(folder: Path, records: Sequence[Record], *options: str) -> dict[str, Any]:
    """Return all that a release and a survey by the command line show: exit codes, words, files, sizes, statements."""
    folder.mkdir()
    write(folder / "people.csv", records)
    common = [
        "--world",
        str(world_file(WORLD)),
        "--epsilon",
        "1",
        "--ledger",
        "ledger.db",
        "--method",
        "ugrid-uni",
        "--small",
        *options,
    ]
    logger = logging.getLogger("pointveil")
    with contextlib.chdir(folder), taped(), overheard() as said:
        logger.setLevel(logging.DEBUG)
        try:
            with small_batches(3, kept=True):
                codes = [run(["synthesize", "people.csv", "out.csv", "--count", "40", "--seed", "3", *common])]
            with small_batches(3):
                codes.append(run(["survey", "people.csv", "answers.zip", *common]))
            codes.append(run(["ledger", "show", "--ledger", "ledger.db"]))
        finally:
            logger.setLevel(logging.NOTSET)
    if any(codes):
        return {"codes": codes, "said": said}
    statements = [json.loads((folder / "out.csv.statement.json").read_text())]
    with zipfile.ZipFile(folder / "answers.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name.startswith("answers/")}
        statements.append(json.loads(archive.read("statement.json")))
    files = {path.name: path for path in folder.iterdir() if path.name != "people.csv"}
    return {
        "codes": codes,
        "said": said,
        "files": sorted(files),
        "members": sorted(members),
        "cells": [question.pop("cells") for statement in statements for question in statement["questions"]],
        "statements": [without_hashes(statement) for statement in statements],
        "size of the statement": files["out.csv.statement.json"].stat().st_size,
        "points": files["out.csv"].read_bytes(),
        "answers": members,
    }


def without_hashes(statement: dict[str, Any]) -> dict[str, Any]:
    """Return a statement without its random number, and what is the hash of noisy answers or of a keyed fingerprint."""
    statement.pop("release")
    statement.pop("digest")
    statement["ledger"].pop("chain_sha256")
    for name in ("points_sha256", "codes_sha256", "files"):
        (statement["output"] or {}).pop(name, None)
    return statement


def crowd(count: int = 60, east: float = 10.004) -> list[Record]:
    """Return people around a place, some with several records."""
    places = np.round(np.random.default_rng(2).normal((east, 50.003), 0.0004, (count, 2)), 7).tolist()
    return [(x, y, f"p{number % 25}") for number, (x, y) in enumerate(places)]


PERSON = ("--person", "who", "--max-points", "2")


def an_unusable_record_leaves_everything_as_it_was(folder: Path) -> None:
    """With the same random bits, records that are nowhere change not one byte of a release, nor a word said."""
    for name, options in {"points": (), "persons": PERSON}.items():
        before = published(folder / f"{name}-before", crowd(), *options)
        assert before["codes"] == [0, 0, 0]
        assert published(folder / f"{name}-after", [*crowd(), *ODD[:7]], *options) == before


def a_neighbour_changes_nothing_but_noisy_numbers(folder: Path) -> None:
    """One person more, with the same random bits: everything but the synthetic points stays as it was."""
    more: list[Record] = [(*cell_centre(11), "new")]
    for name, (count, options) in {"points": (1, ()), "persons": (7, PERSON)}.items():
        seen = [
            published(folder / f"{name}-{number}", [*crowd(), *more * (count * number)], *options)
            for number in range(2)
        ]
        for each in seen:
            assert each["codes"] == [0, 0, 0]
            for noisy in ("points", "answers", "cells", "size of the statement"):
                each.pop(noisy, None)
            for statement in each["statements"]:
                (statement.get("survey") or {}).pop("answers_sha256", None)
                if "people" in statement:  # what is told is what the statement says, which follows from noisy answers
                    told = str(People(**statement["people"]))
                    each["said"] = [words.replace(told, "") for words in each["said"]]
                for noisy in ("persons", "full_persons", "points"):
                    (statement.get("people") or {}).pop(noisy, None)
        assert seen[0] == seen[1]


def a_copy_under_another_name_is_not_told(folder: Path) -> None:
    """The owner's ledger knows a renamed copy; the statement reads the same for a copy and for a stranger's file."""
    said = []
    for name, second in {"copy": crowd(), "stranger": crowd(east=10.007)}.items():
        ledger = Ledger(folder / f"{name}.db")
        for file, records in {"first": crowd(), "second": second}.items():
            path = write(folder / f"{file}.csv", records)
            vault = Vault.open(path, WORLD, epsilon=1, ledger=ledger)
            vault.count(Everywhere(), Share("total", Fraction(1)))
            entry = vault.statement.model_dump()["ledger"]
        entry.pop("chain_sha256")
        said.append(entry)
    assert said[0] == said[1]


def no_statement_tells_the_file(folder: Path) -> None:
    """Two statements of quite different files, but for what is random, are equal; a release has a random number."""
    sizes = (3, 40)
    found: list[Statement] = []
    for count in sizes:
        path = write(folder / f"{count}.csv", crowd(count))
        for random in (taped(), contextlib.nullcontext(), contextlib.nullcontext()):
            with random:
                vault = Vault.open(path, WORLD, epsilon=1, ledger=None)
            vault.count(Everywhere(), Share("total", Fraction(1)))
            found.append(vault.statement)
    assert found[0] == found[3]
    assert len({each.release for each in found}) == 5
    assert len({each.model_copy(update={"release": ""}).to_json() for each in found}) == 1


def a_layout_is_the_header_alone(folder: Path) -> None:
    """What is public of a file, its layout, is the same whoever is in it."""
    layouts = {
        Vault.open(write(folder / "people.csv", records), WORLD, epsilon=1, ledger=None).layout
        for records in (crowd(3), crowd(40), [("x", "y", "z")])
    }
    assert len(layouts) == 1


# Random bits


def words_are_the_bytes_of_the_operating_system(_: Path) -> None:
    """Each word is eight bytes that were asked for just then: none made up, kept back or used again."""
    given: list[bytes] = []
    honest = os.urandom

    def record(size: int) -> bytes:
        given.append(honest(size))
        return given[-1]

    with patch("os.urandom", record):
        words = [noise.secure_words(count) for count in (1, 5, 1000, 5, 1)]
    assert b"".join(given) == b"".join(each.tobytes() for each in words)


def a_forked_process_has_words_of_its_own(_: Path) -> None:
    """A copy of this process, and a second one, and this process itself go on with different words."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    noise.secure_words(3)  # so that whatever state there is exists before the copies are made
    assert len({*(_words_of_a_fork() for _ in range(2)), noise.secure_words(16).tobytes()}) == 3


def _words_of_a_fork() -> bytes:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which the copy does not use
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, noise.secure_words(16).tobytes())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:  # noqa: PTH123 - a pipe has no path
        found = stream.read()
    os.waitpid(child, 0)
    assert len(found) == 128
    return found


def answers_follow_from_the_operating_system_alone(folder: Path) -> None:
    """The same bytes give the same answers, and other bytes others: there is no other source, and no seed."""
    path = write(folder / "people.csv", [(*cell_centre(number % 12), "one") for number in range(48)])
    taped_answers = []
    for _ in range(2):
        with taped():
            taped_answers.append(_answers(path))
    assert taped_answers[0] == taped_answers[1]
    assert _answers(path) != taped_answers[0] != _answers(path)


def _answers(path: Path) -> list[list[int]]:
    vault = Vault.open(path, WORLD, epsilon=2, ledger=None, person="who", max_points=4)
    counts = vault.count(Grid(WORLD.bounds, 40, 30), Share("count", Fraction(1)))
    points = vault.scatter(OneRegion(), np.array([200]), Share("place", Fraction(1)))
    return [counts.values.tolist(), points.site.tolist()]


def the_choice_of_records_is_fresh(folder: Path) -> None:
    """Which of a person's records are used is chosen anew each time: equal by chance once in two million."""
    path = write(folder / "one.csv", [(*cell_centre(number % 12), "one") for number in range(12)])
    chosen = set()
    for _ in range(12):
        vault = Vault.open(path, WORLD, epsilon=100, ledger=None, person="who", max_points=4)
        kept = np.concatenate([*vault._Vault__engine.points()])  # type: ignore[attr-defined]
        chosen.add(tuple(sorted(map(tuple, kept.tolist()))))
    assert len(chosen) > 3


# The laws of the answers


class OneRegion:
    """One region with 101 sites; everybody is on the thirtieth."""

    sites, home = 101, 30

    def site_counts(self) -> NDArray[np.int64]:
        return np.array([self.sites])

    def locate_sites(self, xy: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.zeros(len(xy), dtype=np.int64), np.full(len(xy), self.home)


def a_point_without_a_site_is_left_out(_: Path) -> None:
    """Sites that do not exist count for nobody: only fillers come back, evenly."""

    class Beyond(OneRegion):
        home = 500

    table = pa.table({"lon": np.full(20_000, 10.001), "lat": np.full(20_000, 50.001)})
    answer = Vault.rehearse(table, WORLD, epsilon=4, seed=3).scatter(
        Beyond(), np.array([20_000]), Share("place", Fraction(4))
    )
    seen = np.bincount(answer.site)
    assert len(seen) == OneRegion.sites
    assert stats.chisquare(seen).pvalue > UNLIKELY


def box_law(epsilon: float, sites: int, site: int) -> NDArray[np.float64]:
    """The law of kernel.md by its formula, in floats: a window of the best width, heavier by exp(epsilon)."""
    width = round(sites / (1 + math.exp(epsilon / 2)))
    start = min(max(site - width // 2, 0), sites - width)
    weight = np.ones(sites)
    weight[start : start + width] = math.exp(epsilon)
    return np.asarray(weight / weight.sum())


def scattered(epsilon: Fraction, points: int, limit: int, uses: int) -> NDArray[np.int64]:
    """Return how often each site comes back, all of it from real points."""
    people = np.repeat(np.arange(points // limit), limit)
    table = pa.table({"lon": np.full(len(people), 10.001), "lat": np.full(len(people), 50.001), "who": people})
    vault = Vault.rehearse(table, WORLD, epsilon=epsilon, seed=5, person="who", max_points=limit)
    answer = vault.scatter(OneRegion(), np.array([len(people) * uses]), Share("place", epsilon), max_uses=uses)
    return np.bincount(answer.site, minlength=OneRegion.sites)


def scatter_has_the_law_that_is_proved(_: Path) -> None:
    """A chi-square test of 100,000 blurred points, through the vault's door; the seed is fixed.

    Were the seed random, a right kernel would fail once in 300,000 runs: three tests of one in a million.
    """
    for epsilon, limit, uses in ((Fraction(1), 1, 1), (Fraction(6), 3, 1), (Fraction(6), 2, 2)):
        seen = scattered(epsilon, 100_000 // uses, limit, uses)
        law = box_law(float(epsilon) / (limit * uses), OneRegion.sites, OneRegion.home)
        assert stats.chisquare(seen, law * seen.sum()).pvalue > UNLIKELY, (epsilon, limit, uses)


def as_many_come_back_as_were_wanted_in_any_order(_: Path) -> None:
    """How many come back, and in which rows the real ones stand, says nothing about how many there are."""
    for count in (0, 1, 200):
        table = pa.table({"lon": np.full(count, 10.001), "lat": np.full(count, 50.001)})
        vault = Vault.rehearse(table, WORLD, epsilon=20, seed=6)
        answer = vault.scatter(OneRegion(), np.array([400]), Share("place", Fraction(20)))
        assert len(answer.site) == 400
    # Nearly all of 200 real points stay beside home; the mean of their rows has a standard deviation of 8.
    rows = np.flatnonzero(np.abs(answer.site - OneRegion.home) <= 1)
    assert len(rows) > 150
    assert abs(rows.mean() - 199.5) < 50


def counts_have_the_law_that_is_proved(_: Path) -> None:
    """A chi-square test of the noise of persons, by every sampler that is installed, and of its last binary digit."""
    nobody = pa.table(
        {"lon": pa.array([], pa.float64()), "lat": pa.array([], pa.float64()), "who": pa.array([], pa.string())}
    )
    for epsilon, limit, sampler in (
        (Fraction(1), 5, "exact"),
        (Fraction(1, 2500), 1, "exact"),
        (Fraction(1), 5, "opendp"),
    ):
        with contextlib.suppress(ImportError):
            vault = Vault.open(
                nobody, WORLD, epsilon=epsilon, ledger=None, person="who", max_points=limit, noise=sampler
            )
            drawn = vault.count(Grid(WORLD.bounds, 200, 250), Share("count", epsilon)).values
            wide = limit * VOTES
            ratio = math.exp(-epsilon / wide)
            edges = np.unique(np.rint(np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3]) * float(wide / epsilon)))
            below = np.where(edges < 0, ratio**-edges / (1 + ratio), 1 - ratio ** (edges + 1) / (1 + ratio))
            expected = np.diff(np.concatenate([[0], below, [1]])) * len(drawn)
            seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(expected))
            assert stats.chisquare(seen, expected).pvalue > UNLIKELY, (epsilon, limit, sampler)
            even = 1 - ratio if epsilon < 1 else None
            if even is not None:
                assert stats.binomtest(int((drawn % 2 == 0).sum()), len(drawn), 0.5 + even / 4).pvalue > UNLIKELY


def persons_have_the_law_that_is_proved(_: Path) -> None:
    """Each person is in one bin, and the noise of persons is as wide as one of them, whatever they count for."""
    who = [1, 1, 1, 2, 3, 3]
    table = pa.table({"lon": np.linspace(10.001, 10.006, 6), "lat": [50.001] * 6, "who": who})
    vault = Vault.rehearse(table, WORLD, epsilon=100, seed=8, person="who", max_points=5)
    assert vault.exact_persons((1, 2, 4)).tolist() == [1, 1, 1]
    drawn = np.array([vault.persons((1, 2, 4), Share("sizes", Fraction(1, 10))).values for _ in range(1000)]) - 1
    ratio = math.exp(-0.1)
    edges = np.array([-30, -15, -7, 0, 7, 15, 30])
    below = np.where(edges < 0, ratio**-edges / (1 + ratio), 1 - ratio ** (edges + 1.0) / (1 + ratio))
    expected = np.diff(np.concatenate([[0], below, [1]])) * drawn.size
    seen = np.bincount(np.searchsorted(edges, drawn.ravel()), minlength=len(expected))
    assert stats.chisquare(seen, expected).pvalue > UNLIKELY


def bins_of_persons_are_public(_: Path) -> None:
    """One person more changes one number, whoever is the busiest."""
    ends = (1, 2, 4, 8)
    sizes = [3, 3, 2, 1]
    for more in (1, 3, 8, 10_000):
        found = []
        for each in (sizes, [*sizes, more]):
            who = np.repeat(np.arange(len(each)), each)
            table = pa.table({"lon": np.full(len(who), 10.001), "lat": np.full(len(who), 50.001), "who": who})
            found.append(Vault.rehearse(table, WORLD, epsilon=1, seed=1, person="who").exact_persons(ends))
        assert np.abs(found[1] - found[0]).sum() == 1


def what_a_person_counts_for_is_said_once_and_first(_: Path) -> None:
    """No count is answered before it is known what a person counts for, and that is not changed any more."""
    table = pa.table({"lon": [10.001, 10.002], "lat": [50.001] * 2, "who": [1, 1]})
    vault = Vault.rehearse(table, WORLD, epsilon=1, seed=1, person="who")
    with pytest.raises(ValueError, match="max_points"):
        vault.count(Everywhere(), Share("count", Fraction(1, 10)))
    vault.use_at_most(1)
    with pytest.raises(ValueError, match="said before"):
        vault.use_at_most(2)


def votes_of_a_person_add_up(_: Path) -> None:
    """Whatever persons have, each has as many votes in all as a person may have, or has points for."""
    for size in (1, 3, 5, 100, 10_000):
        places = np.linspace(10.001, 10.009, size)
        places[: size // 3] = places[0]  # some are equal
        table = pa.table({"lon": places, "lat": np.full(size, 50.001), "who": np.ones(size, dtype=np.int64)})
        vault = Vault.rehearse(table, WORLD, epsilon=1, seed=2, person="who", max_points=3)
        assert vault.exact_votes(Grid(WORLD.bounds, 40, 1)).sum() == VOTES * min(size, 3)


def crowding_has_the_law_that_is_proved(_: Path) -> None:
    """A crowd is counted from its least size on; the noise of 2,000 answers is k times that size as wide."""
    people = [(10.001, 50.001)] * 3 + [(10.011, 50.007)] * 2
    table = pa.table({"lon": [x for x, _ in people], "lat": [y for _, y in people], "who": [1, 2, 3, 4, 5]})
    cells, limit, least, epsilon = Grid(WORLD.bounds, 2, 2), 2, 3, Fraction(1, 50)
    sure = Vault.rehearse(table, WORLD, epsilon=100, seed=1)
    counted = [int(sure.crowding(cells, size, Share("crowd", Fraction(25))).values[0]) for size in (1, 2, 3, 4)]
    assert counted == [5, 5, 3, 0]
    vault = Vault.rehearse(table, WORLD, epsilon=2000 * epsilon, seed=8, person="who", max_points=limit)
    drawn = np.array([vault.crowding(cells, least, Share("crowd", epsilon)).values[0] for _ in range(2000)]) - 3
    ratio = math.exp(-epsilon / (limit * least))
    edges = np.array([-600, -300, -150, 0, 150, 300, 600])
    below = np.where(edges < 0, ratio**-edges / (1 + ratio), 1 - ratio ** (edges + 1.0) / (1 + ratio))
    expected = np.diff(np.concatenate([[0], below, [1]])) * len(drawn)
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(expected))
    assert stats.chisquare(seen, expected).pvalue > UNLIKELY


# The account


class Failing:
    """Cells that fail, with words that quote a point."""

    def __len__(self) -> int:
        return 1

    def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        raise ValueError(f"cannot place {xy[0]}")


def a_failure_is_paid_for_and_quotes_nothing(folder: Path) -> None:
    """A question that fails stays paid, in the vault and in the ledger, and its error carries no value."""
    path, ledger = write(folder / "people.csv", crowd()), Ledger(folder / "ledger.db")
    vault = Vault.open(path, WORLD, epsilon=1, ledger=ledger)
    with pytest.raises(RuntimeError) as caught:
        vault.count(Failing(), Share("count", Fraction(1, 4)))
    assert not any(character.isdigit() for character in str(caught.value))
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert vault.left == Fraction(3, 4)
    assert [account.spent for account in ledger.accounts()] == [1]


def a_warning_that_quotes_a_point_is_not_heard(folder: Path) -> None:
    """Whatever warns while records are at hand, nobody hears it."""

    class Noisy(Everywhere):
        def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
            warnings.warn(f"an odd place: {xy[0]}", stacklevel=2)
            return super().locate(xy)

    vault = Vault.open(write(folder / "people.csv", crowd()), WORLD, epsilon=1, ledger=None)
    with overheard() as said:
        vault.count(Noisy(), Share("count", Fraction(1)))
    assert "".join(said) == ""


def no_noise_is_drawn_before_it_is_charged(folder: Path) -> None:
    """When noise is drawn the charge is in the ledger; when cells are handed a record its price is off the account."""
    path, ledger = write(folder / "people.csv", crowd()), Ledger(folder / "ledger.db")
    vault = Vault.open(path, WORLD, epsilon=1, ledger=ledger)
    left: list[Fraction] = []
    charged: list[Fraction] = []

    class Watching(Everywhere):
        def locate(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
            left.append(vault.left)
            return super().locate(xy)

    def words(count: int) -> NDArray[np.uint64]:
        charged.append(sum((account.spent for account in ledger.accounts()), Fraction(0)))
        return noise.secure_words(count)

    with pytest.MonkeyPatch.context() as change:
        change.setattr(vault, "_Vault__words", words)
        vault.count(Watching(), Share("count", Fraction(1, 4)))
    assert set(left) == {Fraction(3, 4)}
    assert set(charged) == {Fraction(1)}


def a_refused_charge_drops_what_was_counted(folder: Path) -> None:
    """The counts of the reading that came before the charge are gone, while the error is still at hand."""
    path, ledger = write(folder / "people.csv", crowd()), Ledger(folder / "ledger.db")
    ledger.set_cap("people.csv", Fraction(1, 2))
    vault = Vault.open(path, WORLD, epsilon=1, ledger=ledger)
    honest, counted = LocalEngine.sums, list[Any]()

    def sums(self: LocalEngine, tallies: Any) -> Any:
        found = honest(self, tallies)
        counted.extend(map(weakref.ref, found))
        return found

    with pytest.MonkeyPatch.context() as change:
        change.setattr(LocalEngine, "sums", sums)
        change.setattr(vault, "_Vault__words", lambda _: pytest.fail("noise was drawn"))
        with pytest.raises(BudgetError) as caught:
            vault.count(Everywhere(), Share("count", Fraction(1, 4)))
    assert caught.value.__traceback__ is not None
    assert len(counted) == 1
    assert counted[0]() is None


def a_file_that_cannot_be_read_is_charged(folder: Path) -> None:
    """Whether a file can be read is an answer too."""
    path, ledger = write(folder / "people.parquet", crowd()), Ledger(folder / "ledger.db")
    vault = Vault.open(path, WORLD, epsilon=1, ledger=ledger)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(Exception, match=r"price stays paid|damaged|charged"):
        vault.count(Everywhere(), Share("count", Fraction(1)))
    assert [account.spent for account in ledger.accounts()] == [1]


def every_question_costs_its_share(folder: Path) -> None:
    """Count and scatter cost what they say, to the last millionth, and no more is given than there is."""
    vault = Vault.open(write(folder / "people.csv", crowd()), WORLD, epsilon=1, ledger=None)
    vault.count(Everywhere(), Share("count", Fraction(1, 3)))
    assert vault.left == Fraction(2, 3)
    vault.scatter(OneRegion(), np.array([5]), Share("place", Fraction(1, 3)))
    assert vault.left == Fraction(1, 3)
    assert vault.statement.guarantee.epsilon == "2/3"
    with pytest.raises(BudgetError):
        vault.count(Everywhere(), Share("count", Fraction(1, 3) + Fraction(1, 10**9)))


def a_file_is_known_again_in_any_order_and_format(folder: Path) -> None:
    """A shuffled copy in another format, in other batches, is charged to the same account; another file is not.

    With samples of places and without them, where the fingerprint of all places alone can tell.
    """
    for sample in (likeness.SAMPLE, 10**6):
        with patch.object(likeness, "SAMPLE", sample):
            _known_again(folder, Ledger(folder / f"{sample}.db"))


def _known_again(folder: Path, ledger: Ledger) -> None:
    records = crowd()
    mixed = [records[number] for number in np.random.default_rng(1).permutation(len(records))]
    other = [(x, 50.006, who) for x, _, who in records]
    for rows, name, given in ((3, "one.csv", records), (7, "two.parquet", mixed), (3, "three.csv", other)):
        with small_batches(rows):
            vault = Vault.open(write(folder / name, given), WORLD, epsilon=1, ledger=ledger)
            vault.count(Everywhere(), Share("count", Fraction(1)))
    many = np.random.default_rng(2).uniform(BOX[:2], BOX[2:], (100_000, 2))  # more than are worked on at a time
    for name, places in {"four": many, "five": many[::-1]}.items():
        vault = Vault.open(places, WORLD, epsilon=1, ledger=ledger, dataset=name)
        vault.count(Everywhere(), Share("count", Fraction(1)))
    spent = [(account.name, int(account.spent)) for account in ledger.accounts()]
    assert spent == [("one.csv", 2), ("three.csv", 1), ("four", 2)]


def thirds_are_rounded_up(folder: Path) -> None:
    """A third, charged three times, is more than a cap of 1; and a cap is rounded down."""
    ledger = Ledger(folder / "ledger.db")
    ledger.set_cap("people.csv", "1.0000019")
    path = write(folder / "people.csv", crowd(5))
    for number in range(3):
        vault = Vault.open(path, WORLD, epsilon="1/3", ledger=ledger)
        with pytest.raises(BudgetError) if number == 2 else contextlib.nullcontext():
            vault.count(Everywhere(), Share("count", Fraction(1, 3)))


# Cells


def cells_look_at_one_record_at_a_time(_: Path) -> None:
    """All cells that methods ask about give a record the same cell alone, among others, and in any order."""
    rng = np.random.default_rng(3)
    places = np.concatenate([rng.uniform(-20, 1500, (60, 2)), WORLD.projection.to_metres(np.array([*ODD_PLACES]))])
    edge = METHODS["road"]
    for method in (METHODS["veil"], METHODS["agrid-uni"], edge, with_edges(edge)):
        for cells in cells_asked(method):
            together = cells.locate(places)
            alone = np.concatenate([cells.locate(places[[row]]) for row in range(len(places))])
            assert (together == alone).all()
            order = rng.permutation(len(places))
            assert (cells.locate(places[order]) == together[order]).all()


ODD_PLACES = [(10.0, 50.0), (10.02, 50.012), (10.0, 50.012), (10.01, 50.003), (10.004, 50.006), (math.nan, 50.0)]


def with_edges(method: Method) -> Method:
    return Method(method.partitioner, AlongRoads(offsets="edge"), method.split)


def cells_asked(method: Method) -> list[Any]:
    """Return all cells that a method asks about, for a crowd large enough that it asks everything."""
    found: list[Any] = []
    honest = Vault.count

    def count(self: Vault, cells: Any, share: Share) -> Any:
        found.append(cells)
        return honest(self, cells, share)

    places = np.random.default_rng(2).normal((10.004, 50.003), 0.001, (3000, 2))
    small = Method(shrunk(method.partitioner), shrunk(method.placement), method.split)
    # The vault itself may refuse cells that look at several records; here they shall be looked at all the same.
    with patch.object(Vault, "count", count), contextlib.suppress(RuntimeError, TypeError, ValueError):
        survey(Vault.rehearse(places, WORLD, epsilon=4, seed=2), small)
    return found


def a_record_on_a_border_is_in_one_cell(_: Path) -> None:
    """Corners and edges are counted once, and those of the far sides nowhere."""
    west, south, east, north = WORLD.bounds
    grid = Grid(WORLD.bounds, COLUMNS, ROWS)
    middle = (west + east) / 2, (south + north) / 2
    assert grid.locate(np.array([[west, south], middle, [east, middle[1]], [middle[0], north]])).tolist()[2:] == [
        -1,
        -1,
    ]
    lonlat = np.array([(10.01, 50.004), (10.0, 50.0), (10.02, 50.005), (10.01, 50.012)])
    vault = Vault.rehearse(lonlat, WORLD, epsilon=1, seed=1)
    assert int(vault.exact_count(grid).sum()) == int(vault.exact_count(Everywhere())[0]) == 2


def a_rehearsal_says_what_it_is(_: Path) -> None:
    """No statement of repeatable noise promises anything."""
    made = synthesize(Vault.rehearse(np.array([(10.001, 50.001)]), WORLD, epsilon=1, seed=1), "ugrid-uni").statement
    assert made.rehearsal is not None
    assert made.guarantee.definition == "none: a rehearsal"


def a_real_vault_takes_no_other_words(folder: Path) -> None:
    """Whoever makes a vault by hand cannot give it another source of randomness."""
    made: list[Any] = []
    honest = Vault.__init__

    def keep(self: Vault, *parts: Any, **options: Any) -> None:
        made.append((parts, options))
        honest(self, *parts, **options)

    with patch.object(Vault, "__init__", keep):
        Vault.open(write(folder / "people.csv", crowd()), WORLD, epsilon=1, ledger=None)
    ((parts, options),) = made
    with pytest.raises(InputError, match="rehearsal"):
        Vault(*parts, **{**options, "words": noise.SeededWords(1)})


PROBES: tuple[Probe, ...] = (
    persons_are_bounded_in_the_whole_file,
    a_person_who_moves_about_is_bounded,
    another_person_changes_nobody_else,
    persons_with_long_names_stay_apart,
    a_record_changes_no_other,
    a_line_of_another_width_changes_no_other,
    an_unusable_record_leaves_everything_as_it_was,
    a_neighbour_changes_nothing_but_noisy_numbers,
    a_copy_under_another_name_is_not_told,
    no_statement_tells_the_file,
    a_layout_is_the_header_alone,
    words_are_the_bytes_of_the_operating_system,
    a_forked_process_has_words_of_its_own,
    answers_follow_from_the_operating_system_alone,
    the_choice_of_records_is_fresh,
    scatter_has_the_law_that_is_proved,
    a_point_without_a_site_is_left_out,
    as_many_come_back_as_were_wanted_in_any_order,
    counts_have_the_law_that_is_proved,
    crowding_has_the_law_that_is_proved,
    persons_have_the_law_that_is_proved,
    votes_of_a_person_add_up,
    a_failure_is_paid_for_and_quotes_nothing,
    a_warning_that_quotes_a_point_is_not_heard,
    no_noise_is_drawn_before_it_is_charged,
    a_refused_charge_drops_what_was_counted,
    a_file_that_cannot_be_read_is_charged,
    every_question_costs_its_share,
    a_file_is_known_again_in_any_order_and_format,
    thirds_are_rounded_up,
    cells_look_at_one_record_at_a_time,
    a_record_on_a_border_is_in_one_cell,
    a_rehearsal_says_what_it_is,
    a_real_vault_takes_no_other_words,
)
