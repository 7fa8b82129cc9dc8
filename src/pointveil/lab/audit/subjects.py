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

from pointveil.cells import Floats, Ints
from pointveil.methods import Method
from pointveil.releases import synthesize
from pointveil.vault import Cells, NoisyCounts, NoisyPoints, Share, Sites, Vault
from pointveil.world import World

CLAIM = Fraction(1)
MAX_POINTS = 8
SMALL_AREA = 1e6
MOST_IN_SMALL = 20
RANDOM_FIELDS = ("release", "made", "output", "ledger")  # of a statement: dates, hashes


@dataclass(frozen=True)
class Records:
    """An invented dataset: where each record is, in the world's coordinates, and whose it is."""

    xy: Floats
    person: Ints

    @classmethod
    def at(cls, xy: object) -> "Records":
        """Return records of as many people as places."""
        places = np.asarray(xy, dtype=np.float64).reshape(-1, 2)
        return cls(places, np.arange(len(places)))

    def with_more(self, more: "Records") -> "Records":
        """Return these records and then the others."""
        return Records(np.concatenate([self.xy, more.xy]), np.concatenate([self.person, more.person]))

    def table(self) -> pa.Table:
        """Return them as a table."""
        return pa.table({"x": self.xy[:, 0], "y": self.xy[:, 1], "person": self.person})


NOBODY = Records.at(np.zeros((0, 2)))


@dataclass(frozen=True)
class Asked:
    """A question and its noisy answer; `uses` says how often a real point was used at most."""

    about: Any
    answer: NoisyCounts | NoisyPoints
    uses: int = 1


@dataclass(frozen=True)
class Release:
    """Everything that an attacker may see."""

    asked: tuple[Asked, ...]  # the questions and their noisy answers, as in a published survey
    xy: Floats  # the synthetic points in the order of the file, in the world's coordinates
    text: str  # all the rest: columns, types, the statement, warnings, or the error instead of a release


@dataclass
class Spy:
    """Passes everything on to a vault, and notes what was asked and answered."""

    vault: Any
    asked: list[Asked] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.vault, name)

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Ask, note and return."""
        answer = cast("NoisyCounts", self.vault.count(cells, share))
        self.asked.append(Asked(cells, answer))
        return answer

    def scatter(self, regions: Sites, wanted: Ints, share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Ask, note and return."""
        answer = cast("NoisyPoints", self.vault.scatter(regions, wanted, share, max_uses=max_uses))
        self.asked.append(Asked(regions, answer, max_uses))
        return answer


Opener = Callable[[Records, World, "Subject"], Any]
Publisher = Callable[[Any], tuple[Floats, str]]


def opening(world: World, subject: "Subject") -> dict[str, Any]:
    """Return how a vault is opened on records of this unit."""
    person = {"person": "person", "max_points": subject.points_per_unit} if subject.points_per_unit > 1 else {}
    return {"columns": ("x", "y"), "crs": world.projection.crs, **person}


def open_vault(records: Records, world: World, subject: "Subject") -> Vault:
    """Open a real vault, with the operating system's randomness, as any owner would."""
    return Vault.open(records.table(), world, epsilon=subject.claim, ledger=None, **opening(world, subject))


@dataclass(frozen=True)
class Subject:
    """Something to audit."""

    name: str  # as it stands in the table
    publish: Publisher  # asks a vault and returns points and the text of everything else; may return no points
    claim: Fraction = CLAIM  # the epsilon that it claims
    points_per_unit: int = 1  # how many points one person may have; 1 means that single points are protected
    open: Opener = open_vault  # opens the vault; the real one by default
    quick: bool = False  # whether pairs get many more runs: then what happens seldom, or far away, shows, too

    def release(self, records: Records, world: World) -> Release:
        """Return all that is published about these records; an error is a publication, too."""
        spy = Spy(None)
        with overheard() as said:
            try:
                spy.vault = self.open(records, world, self)
                xy, text = self.publish(spy)
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


def method_subject(method: Method, *, points_per_unit: int = 1, claim: Fraction = CLAIM) -> Subject:
    """Return a method as a subject: the whole way from records to synthetic points."""
    for_small = dataclasses.replace(method, partitioner=shrunk(method.partitioner), placement=shrunk(method.placement))

    def publish(vault: Any) -> tuple[Floats, str]:
        made = synthesize(cast("Vault", vault), for_small if vault.world.land_area <= SMALL_AREA else method)
        sizes = [len(asked.about) for asked in vault.asked if isinstance(asked.answer, NoisyCounts)]
        return made.coordinates, describe(made.coordinates, made.to_arrow().schema, made.statement, sizes)

    name = method.name if points_per_unit == 1 else f"{method.name}, person"
    return Subject(name, publish, claim, points_per_unit)


def shrunk(part: Any) -> Any:
    """Return a partitioner or placement with no size above twenty: the same code, quick enough for a small world."""
    sizes = {
        field.name: MOST_IN_SMALL
        for field in dataclasses.fields(part)
        if type(getattr(part, field.name)) is int and getattr(part, field.name) > MOST_IN_SMALL
    }
    return dataclasses.replace(part, **sizes)


def describe(coordinates: Floats, schema: pa.Schema, statement: Any, sizes: Sequence[int]) -> str:
    """Return everything that is published beside points and answers; numbers of cells only if they are wrong."""
    content = statement.model_dump(mode="json", by_alias=True)
    for name in RANDOM_FIELDS:
        content.pop(name, None)
    # The digest of the answers is another every time, and would hide what else the text says.
    (content.get("survey") or {}).pop("answers_sha256", None)
    counted = iter(sizes)
    for question in content["questions"]:
        if question["question"] == "scatter" or question["cells"] == next(counted, None):
            question.pop("cells")  # a feature of its own
    notes = sorted(str(key) for key in schema.metadata or {})
    return json.dumps([str(coordinates.dtype), coordinates.ndim, schema.names, notes, content])
