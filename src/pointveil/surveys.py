"""Everything a vault was asked and answered: enough to draw points from, without the data."""

from __future__ import annotations

import dataclasses
import io
import json
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointveil.errors import InputError
from pointveil.files.whole import write_whole
from pointveil.formats import Layout
from pointveil.methods import Method, edition_of
from pointveil.partition import Divided
from pointveil.statement import Statement, parse_statement
from pointveil.vault import Cells, NoisyCounts, NoisyPoints, Respondent, Share, Sites
from pointveil.version import __version__
from pointveil.world import World

VERSION = 1
DRAWING = "1"
"""The edition of drawing: raised when the same answers and seed would give other points, or in another order."""
LAND = "1"
"""The edition of the land rule: raised when another place would be land."""
Answer = NoisyCounts | NoisyPoints


@dataclass(frozen=True)
class Survey:
    """The noisy answers, with the public world and the method that asked.

    It holds nothing private: its budget is spent. Everything that is drawn from it is worked out anew from these
    answers alone, which is why drawing costs nothing. `survey` makes one.

    Parameters
    ----------
    world, method
        The public world that was asked about, and the method that asked.
    answers
        The noisy counts and points, in the order of the questions.
    statement
        What is promised, and what it cost.
    layout
        The form of the input file: format, column names, CRS.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.survey(vault, "ugrid-uni").write("people.survey")
    >>> pv.Survey.read("people.survey")
    <Survey: ugrid-uni, epsilon 1, protects one point, 2 answers>
    """

    world: World
    method: Method
    answers: tuple[Answer, ...]
    statement: Statement
    layout: Layout

    def __repr__(self) -> str:
        return f"<Survey: {self.method.name}, {self.statement.in_short}, {len(self.answers)} answers>"

    @cached_property
    def prepared(self) -> tuple[Divided, Any]:
        """The divided world and the placement's answers, from the recording."""
        replay = Replay(self.answers)
        budget = self.method.budget(Fraction(self.statement.guarantee.epsilon))
        counted = self.method.partitioner.divide(replay, self.world, budget)
        return counted, self.method.placement.ask(replay, self.world, counted, budget)

    def write(self, path: str | Path) -> None:
        """Save everything in one file."""
        content = self.to_bytes()
        write_whole(Path(path), lambda new: new.write_bytes(content))

    @classmethod
    def read(cls, path: str | Path) -> Survey:
        """Read a survey that was saved."""
        path = Path(path)
        try:
            return cls.from_bytes(path.read_bytes())
        except FileNotFoundError:
            raise InputError(f"There is no file {path}.") from None
        except IsADirectoryError:
            raise InputError(f"{path} is a directory, not a survey.") from None
        except InputError as fault:
            raise InputError(f"{path.name} cannot be read: {fault}") from None
        except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as fault:
            raise InputError(f"{path.name} is not a survey that this version can read: {fault}") from None

    def to_bytes(self) -> bytes:
        """Return the file's content."""
        content = {
            "version": VERSION,
            "method": {
                "name": self.method.name,
                "parameters": self.method.parameters,
                "split": self.method.split_texts(),
            },
            "layout": dataclasses.replace(self.layout, left_out=()).to_dict(),
            "answers": [_describe(answer) for answer in self.answers],
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            _put(archive, "survey.json", json.dumps(content, indent=1).encode())
            _put(archive, "statement.json", self.statement.to_json().encode())
            _put(archive, "world.gpkg", _world_bytes(self.world))
            for number, answer in enumerate(self.answers):
                for name, values in _arrays(answer).items():
                    _put(archive, f"answers/{number}-{name}.npy", _array_bytes(values))
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Survey:
        """Return the survey in a file's content."""
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            description = json.loads(archive.read("survey.json"))
            if description["version"] != VERSION:
                raise ValueError(f"it is of version {description['version']}, not {VERSION}")
            statement = parse_statement(archive.read("statement.json").decode())
            refuse_other_edition(statement, edition(edition_of(description["method"]["parameters"])))
            answers = tuple(_restore(archive, number, answer) for number, answer in enumerate(description["answers"]))
            return cls(
                world=_world_from(archive.read("world.gpkg")),
                method=Method.restore(**description["method"]),
                answers=answers,
                statement=statement,
                layout=Layout.from_dict(description["layout"]),
            )


def edition(method: str) -> dict[str, str]:
    """Return the rules by which this version draws: within an edition the same survey and seed give the same bytes."""
    return {"method": method, "drawing": DRAWING, "land": LAND}


def refuse_other_edition(statement: Statement, ours: dict[str, str]) -> None:
    """Raise if what was recorded must be drawn by other rules than ours."""
    if statement.edition != ours:
        version = statement.software.get("version")
        theirs = "before editions were recorded" if statement.edition is None else f"({in_words(statement.edition)})"
        raise ValueError(
            f"it was made by Pointveil {version} {theirs}, and only that version draws from it; "
            f"this is Pointveil {__version__} ({in_words(ours)})"
        )


def in_words(edition: dict[str, str]) -> str:
    """Return an edition as text."""
    return "; ".join(f"{part} {number}" for part, number in edition.items())


@dataclass
class Recorder:
    """Passes questions on to a vault and keeps the noisy answers."""

    vault: Respondent
    answers: list[Answer] = field(default_factory=list)

    @property
    def points_per_unit(self) -> int:
        """As the vault says."""
        return self.vault.points_per_unit

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Ask, keep and return."""
        answer = self.vault.count(cells, share)
        self.answers.append(answer)
        return answer

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Ask, keep and return."""
        answer = self.vault.scatter(regions, wanted, share, max_uses=max_uses)
        self.answers.append(answer)
        return answer


@dataclass
class Replay:
    """Answers from a recording: holds no points, and spends nothing."""

    answers: Sequence[Answer]
    asked: int = 0

    @property
    def points_per_unit(self) -> int:
        """As it was recorded."""
        return self.answers[0].points_per_unit

    def count(self, cells: Cells, share: Share) -> NoisyCounts:
        """Return the recorded counts."""
        answer = self._next(share)
        if not isinstance(answer, NoisyCounts) or len(answer.values) != len(cells):
            raise ValueError(f"the recorded answer '{share.purpose}' does not fit the question")
        return answer

    def scatter(self, regions: Sites, wanted: NDArray[np.int64], share: Share, *, max_uses: int = 1) -> NoisyPoints:
        """Return the recorded points."""
        del regions, wanted, max_uses  # the recording knows
        answer = self._next(share)
        if not isinstance(answer, NoisyPoints):
            raise TypeError(f"the recorded answer '{share.purpose}' does not fit the question")
        return answer

    def _next(self, share: Share) -> Answer:
        if self.asked >= len(self.answers) or self.answers[self.asked].purpose != share.purpose:
            raise ValueError(f"the recording has no answer to '{share.purpose}'")
        self.asked += 1
        return self.answers[self.asked - 1]


def _describe(answer: Answer) -> dict[str, Any]:
    return {
        "kind": type(answer).__name__,
        "purpose": answer.purpose,
        "epsilon": str(answer.epsilon),
        "points_per_unit": answer.points_per_unit,
    }


def _arrays(answer: Answer) -> dict[str, NDArray[np.int64]]:
    if isinstance(answer, NoisyCounts):
        return {"values": answer.values}
    return {"region": answer.region, "site": answer.site}


def _restore(archive: zipfile.ZipFile, number: int, description: dict[str, Any]) -> Answer:
    paid = (description["purpose"], Fraction(description["epsilon"]), int(description["points_per_unit"]))

    def load(name: str) -> NDArray[np.int64]:
        content = io.BytesIO(archive.read(f"answers/{number}-{name}.npy"))
        return np.asarray(np.load(content, allow_pickle=False), dtype=np.int64)

    if description["kind"] == "NoisyCounts":
        return NoisyCounts(load("values"), *paid)
    return NoisyPoints(load("region"), load("site"), *paid)


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member without the time it was made."""
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)


def _array_bytes(values: NDArray[np.int64]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def _world_bytes(world: World) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "world.gpkg"
        world.write(path)
        return path.read_bytes()


def _world_from(content: bytes) -> World:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "world.gpkg"
        path.write_bytes(content)
        return World.read(path)
