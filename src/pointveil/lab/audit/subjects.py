"""What is audited: something that publishes a release about records, and claims an epsilon for it."""

import contextlib
import dataclasses
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa

from pointveil.cells import Everywhere, Floats, Ints
from pointveil.columns import Category, Column, Time
from pointveil.margins import with_margins
from pointveil.methods import Method
from pointveil.releases import draw, survey
from pointveil.statement import Statement
from pointveil.surveys import Survey
from pointveil.vault import Cells, NoisyCounts, NoisyPoints, Share, Sites, Vault
from pointveil.world import World

CLAIM = Fraction(1)
MAX_POINTS = 8
SMALL_AREA = 1e6
MOST_IN_SMALL = 20
# What a record may say in its columns: a time and a kind, the usual ones first, then some that nobody else has, none at
# all, and what is not in the public period and list.
SAID = (
    ("2024-03-05T08:30:00", "bus"),
    ("2024-03-06T03:10:00", "tram"),
    (None, None),
    ("1999-01-01T00:00:00", "zeppelin"),
)
USUAL, RARE, MISSING, UNLISTED = range(len(SAID))
NAMES = ("at", "kind")
CODES = {"at": (8, 3, 24, 24), "kind": (0, 1, 2, 2)}  # the bins that these are in; the last is that of other values
KEEP: tuple[Column, ...] = (
    Time(NAMES[0], "2024-03-04/2024-03-11", resolution="hour-of-day", share="3/10"),
    Category(NAMES[1], ("bus", "tram"), share="1/5"),
)
DROPPING = (KEEP[0], Category(NAMES[1], ("bus", "tram"), other="drop", share="1/5"))
"""Columns that are kept with half of epsilon; and those that drop a record for its kind."""
RANDOM_FIELDS = ("release", "made", "output", "ledger", "people")  # of a statement: dates, hashes, noisy numbers


@dataclass(frozen=True)
class Records:
    """An invented dataset: where each record is, in the world's coordinates, whose it is, and what its columns say."""

    xy: Floats
    person: Ints
    said: Any = USUAL  # a row of SAID for each, or one for all

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", np.broadcast_to(np.asarray(self.said, dtype=np.int64), len(self.xy)))

    @classmethod
    def at(cls, xy: object) -> "Records":
        """Return records of as many people as places."""
        places = np.asarray(xy, dtype=np.float64).reshape(-1, 2)
        return cls(places, np.arange(len(places)))

    def with_more(self, more: "Records") -> "Records":
        """Return these records and then the others."""
        ours, theirs = ((each.xy, each.person, each.said) for each in (self, more))
        return Records(*(np.concatenate(both) for both in zip(ours, theirs, strict=True)))

    def table(self, *, columns: bool = False) -> pa.Table:
        """Return them as a table, perhaps with what their columns say."""
        said = dict(zip(NAMES, zip(*SAID, strict=True), strict=True)) if columns else {}
        values = {name: pa.array(each, pa.string()).take(pa.array(self.said)) for name, each in said.items()}
        return pa.table({"x": self.xy[:, 0], "y": self.xy[:, 1], "person": self.person, **values})


NOBODY = Records.at(np.zeros((0, 2)))


@dataclass(frozen=True)
class Asked:
    """A question and its noisy answer; `uses` says how often a real point was used at most."""

    about: Any
    answer: NoisyCounts | NoisyPoints
    uses: int = 1
    codes: tuple[Ints, ...] = ()  # for each kept column, the code of each row of SAID

    def locate(self, xy: Floats, said: Ints) -> Ints:
        """Return the cells of records at these places (n, 2), in metres, that say this."""
        if not getattr(self.about, "reads_codes", False):
            return np.asarray(self.about.locate(xy))
        return np.asarray(self.about.locate(xy, tuple(codes[said] for codes in self.codes)))


@dataclass(frozen=True)
class Release:
    """Everything that an attacker may see."""

    asked: tuple[Asked, ...]  # the questions and their noisy answers, as in a published survey
    xy: Floats  # the synthetic points in the order of the file, in the world's coordinates
    text: str  # all the rest: columns, types, the statement, warnings, or the error instead of a release


@dataclass(frozen=True)
class Together:
    """Numbers about everybody: of no place."""

    size: int

    def __len__(self) -> int:
        return self.size

    def locate(self, xy: Floats) -> Ints:
        """Return the first for every place."""
        return np.zeros(len(xy), dtype=np.int64)


@dataclass
class Spy:
    """Passes everything on to a vault, and notes what was asked and answered."""

    vault: Any
    asked: list[Asked] = field(default_factory=list)
    codes: tuple[Ints, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.vault, name)

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Ask, note and return."""
        answer = cast("NoisyCounts", self.vault.count(cells, share))
        self.asked.append(Asked(cells, self._in_points(answer), codes=self.codes))
        return answer

    def persons(self, ends: tuple[int, ...], share: Share) -> NoisyCounts:
        """Ask, note and return: the answer is about everybody together."""
        answer = cast("NoisyCounts", self.vault.persons(ends, share))
        self.asked.append(Asked(Together(len(ends)), answer))
        return answer

    def _in_points(self, answer: NoisyCounts) -> NoisyCounts:
        """Return a count in points, where it is in votes."""
        votes = answer.points_per_unit // self.vault.kept_per_unit
        return dataclasses.replace(answer, values=answer.values / votes, points_per_unit=self.vault.kept_per_unit)

    def crowding(self, cells: Cells, least: int, share: Share) -> NoisyCounts:
        """Ask, note and return: the answer is about everybody together."""
        answer = cast("NoisyCounts", self.vault.crowding(cells, least, share))
        self.asked.append(Asked(Everywhere(), answer))
        return answer

    def scatter(self, regions: Sites, wanted: Ints, share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Ask, note and return."""
        answer = cast("NoisyPoints", self.vault.scatter(regions, wanted, share, max_uses=max_uses))
        self.asked.append(Asked(regions, answer, max_uses))
        return answer


Opener = Callable[[Records, World, "Subject"], Any]
Published = tuple[Floats, str]  # points, and the text of everything else
Publisher = Callable[[Any], Published]


def opening(world: World, subject: "Subject") -> dict[str, Any]:
    """Return how a vault is opened on records of this unit."""
    person = {"person": "person", "max_points": subject.points_per_unit} if subject.points_per_unit > 1 else {}
    return {"columns": ("x", "y"), "crs": world.projection.crs, "keep": subject.keep, **person}


def open_vault(records: Records, world: World, subject: "Subject") -> Vault:
    """Open a real vault, with the operating system's randomness, as any owner would."""
    table = records.table(columns=bool(subject.keep))
    return Vault.open(table, world, epsilon=subject.claim, ledger=None, **opening(world, subject))


@dataclass(frozen=True)
class Subject:
    """Something to audit."""

    name: str  # as it stands in the table
    publish: Publisher  # asks a vault and returns points and the text of everything else; may return no points
    claim: Fraction = CLAIM  # the epsilon that it claims
    points_per_unit: int = 1  # how many points one person may have; 1 means that single points are protected
    open: Opener = open_vault  # opens the vault; the real one by default
    quick: bool = False  # whether pairs get many more runs: then what happens seldom, or far away, shows, too
    keep: tuple[Column, ...] = ()  # the columns that are kept

    def release(self, records: Records, world: World) -> Release:
        """Return all that is published about these records; an error is a publication, too."""
        spy = Spy(None, codes=codes_of_said(self.keep))
        with overheard() as said:
            try:
                spy.vault = self.open(records, world, self)
                xy, text = self.publish(spy)
            except NotFromAnswersError:
                raise
            except Exception as fault:  # noqa: BLE001 - whatever happens is seen by the attacker
                xy, text = np.zeros((0, 2)), f"{type(fault).__name__}: {fault}"
        return Release(tuple(spy.asked), xy, text + "".join(said))


@contextlib.contextmanager
def overheard() -> Iterator[list[str]]:
    """Collect everything that is said meanwhile: warnings, logs, and what is printed."""
    said: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: said.append(f"{record.levelname}: {record.getMessage()}")  # type: ignore[method-assign]
    printed, root = io.StringIO(), logging.getLogger()
    root.addHandler(listener)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            yield said
    finally:
        root.removeHandler(listener)
    said += [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    said.append(printed.getvalue())


def codes_of_said(keep: tuple[Column, ...]) -> tuple[Ints, ...]:
    """Return, for each kept column, the code of each row of SAID: the rules are public, so an attacker knows it."""
    return tuple(np.array(CODES[column.name]) for column in keep)


def method_subject(
    method: Method, *, points_per_unit: int = 1, claim: Fraction = CLAIM, keep: tuple[Column, ...] = ()
) -> Subject:
    """Return a method as a subject: the whole way from records to synthetic points."""
    for_small = dataclasses.replace(method, partitioner=shrunk(method.partitioner), placement=shrunk(method.placement))

    def publish(vault: Any) -> Published:
        fitting = for_small if vault.world.land_area <= SMALL_AREA else method
        found = survey(cast("Vault", vault), fitting, small=True)  # so that every question is asked
        made = draw(found)
        return made.coordinates, describe(made.coordinates, made.to_arrow().schema, said_by(found), vault.asked)

    name = method.name + (", columns" if keep else "") + (", person" if points_per_unit > 1 else "")
    return Subject(name, publish, claim, points_per_unit, keep=keep)


def shrunk(part: Any) -> Any:
    """Return a partitioner or placement with no size above twenty: the same code, quick enough for a small world."""
    sizes = {
        field.name: MOST_IN_SMALL
        for field in dataclasses.fields(part)
        if type(getattr(part, field.name)) is int and getattr(part, field.name) > MOST_IN_SMALL
    }
    return dataclasses.replace(part, **sizes)


class NotFromAnswersError(Exception):
    """A survey states margins that its noisy answers do not tell: no test by chance is needed to refute it."""


def said_by(found: Survey) -> Statement:
    """Return what a survey states but for its margins, which must follow from its noisy answers alone."""
    anew = Survey(found.world, found.method, found.answers, found.statement, found.layout)
    if with_margins(anew).statement.margins != found.statement.margins:
        raise NotFromAnswersError
    return found.statement.model_copy(update={"margins": None})


def describe(coordinates: Floats, schema: pa.Schema, statement: Any, asked: Sequence[Asked]) -> str:
    """Return everything that is published beside points and answers; of questions, only what was not so asked.

    Which questions are asked may follow from noisy answers. Those are features of their own, and texts that are another
    every time would hide what else they say.
    """
    content = statement.model_dump(mode="json", by_alias=True)
    for name in RANDOM_FIELDS:
        content.pop(name, None)
    (content.get("survey") or {}).pop("answers_sha256", None)
    for question, each in zip(content["questions"], asked, strict=False):
        answer = each.answer
        cells = len(each.about) if isinstance(answer, NoisyCounts) else question["cells"]
        for name, value in {"purpose": answer.purpose, "epsilon": str(answer.epsilon), "cells": cells}.items():
            if question[name] == value:
                question.pop(name)
    content["questions"] = sorted({json.dumps(question) for question in content["questions"]})
    notes = sorted(str(key) for key in schema.metadata or {})
    return json.dumps([str(coordinates.dtype), coordinates.ndim, schema.names, notes, content])
