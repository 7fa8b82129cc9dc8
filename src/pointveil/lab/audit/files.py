"""The long way round: records in a file of many batches, read again for every question, through the command line."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyarrow import csv

from pointveil.asking import ask_all
from pointveil.cells import Floats
from pointveil.columns import check_keep
from pointveil.lab.audit.subjects import CLAIM, NOBODY, Spy, Subject, codes_of_said, describe, overheard, said_by
from pointveil.releases import draw
from pointveil.statement import Statement
from pointveil.surveys import Replay, Survey
from pointveil.world import World

BATCH_ROWS = ("formats.base", "formats.parquet", "formats.geojson")
READ_ROWS = ("formats.vector", "formats.geopackage")
BATCHES = 64
LEAST_ROWS = 7
BYTES_PER_ROW = 24
LONGEST_ROW = 64
"""Bytes of a line: fewer than most have, so that a block is a batch at most; and more than any has, so that it fits."""


@contextlib.contextmanager
def small_batches(rows: int, *, kept: bool = False, longest: int = LONGEST_ROW) -> Iterator[None]:
    """Let files be read so many records at a time; unless they are kept in memory, each question reads them again."""
    sizes = {f"{module}.BATCH_ROWS": rows for module in BATCH_ROWS}
    sizes |= {f"{module}.READ_ROWS": rows for module in READ_ROWS}
    sizes |= {"formats.records.BLOCK_BYTES": max(longest, rows * BYTES_PER_ROW)}
    sizes |= {} if kept else {"engines.local.KEEP_AT_MOST": -1}
    with contextlib.ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(patch(f"pointveil.{name}", size))
        yield


def command_subject(
    method: str, *, points_per_unit: int = 1, claim: Fraction = CLAIM, keep: Sequence[str] = ()
) -> Subject:
    """Return a method as a subject, as its user meets it: the command, and the survey that it leaves."""
    who = ["--person", "person", "--max-points", str(points_per_unit)] if points_per_unit > 1 else []
    kept = check_keep(keep)
    who += [word for text in keep for word in ("--keep", text)]

    def publish(spy: Any) -> tuple[Floats, str]:
        records, world = spy.vault  # nothing is opened before the command runs
        place = ["--world", str(world_file(world)), "--columns", "x,y", "--crs", world.projection.crs]
        options = [*place, "--epsilon", str(claim), "--ledger", "ledger.db", "--small", *who]
        rows = max(LEAST_ROWS, len(records.xy) // BATCHES)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), small_batches(rows):
            csv.write_csv(records.table(columns=bool(kept)), "private.csv")
            with overheard() as said:
                code = run(["survey", "private.csv", "answers", "--method", method, *options])
            left = sorted(path.name for path in Path().iterdir())
            if code:  # what is said instead of a release is all there is to see
                return NOBODY.xy, f"{code} {left} {''.join(said)}"
            found = Survey.read("answers")
        # The questions with their answers, as anyone can work them out who has the file.
        replayed = Spy(
            Replay.of(found.answers, found.layout.crs, found.statement.people),
            spy.asked,
            codes_of_said(check_keep(found.keep)),
        )
        ask_all(replayed, found.world, found.method, Fraction(found.statement.guarantee.epsilon), found.keep)
        made = draw(found)
        text = describe(made.coordinates, made.to_arrow().schema, said_by(found), spy.asked)
        return made.coordinates, f"{code} {left} {text} {without_people(''.join(said), found.statement)}"

    name = method + (", columns" if kept else "") + (", person" if points_per_unit > 1 else "") + ", command line"
    return Subject(name, publish, claim, points_per_unit, lambda records, world, _: (records, world), keep=kept)


def without_people(words: str, statement: Statement) -> str:
    """Return what was said but for how many people there seem to be, which follows from noisy answers as read back.

    Words that are others in every run would hide what else is told.
    """
    return words if statement.people is None else words.replace(str(statement.people), "")


def run(arguments: list[str]) -> int:
    """Run the installed command in this process, and return its exit code."""
    # By its name, because the laboratory may not use what lies above it.
    (command,) = entry_points(group="console_scripts", name="pointveil")
    try:
        command.load()(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def world_file(world: World) -> Path:
    """Return the file of a world, written once."""
    path = Path(_folder().name) / f"{world.digest}.gpkg"
    if not path.exists():
        world.write(path)
    return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
