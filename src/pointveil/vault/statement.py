"""What is promised about a release, as a document that can be read, shown and checked."""

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pointveil.version import __version__

SCHEMA = "pointveil-statement-1"
REHEARSAL = "rehearsal: not private"
NOT_PROMISED = (
    "Timing, memory and other side channels of the machine that held the data.",
    "Malice in the same process, or an operator who publishes something else about the same people.",
    "Facts about places: a release may show that a street is busy, and so where people like someone tend to be.",
    "Correlated records: what one person's points say about another's (a family, a convoy) is not hidden.",
)


class Part(BaseModel):
    """A part of the statement: no unknown fields, no change after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Guarantee(Part):
    """The promise itself."""

    definition: Literal["pure differential privacy"] = "pure differential privacy"
    epsilon: str
    delta: Literal["0"] = "0"
    adjacency: Literal["add or remove one unit"] = "add or remove one unit"
    unit: str
    points_per_unit: int
    model: Literal["central"] = "central"


class Domain(Part):
    """The public knowledge that was used."""

    crs: str
    bounds: tuple[float, float, float, float]
    lattice: float
    world_sha256: str
    roads: bool
    origin: Literal["given by the user, not taken from the data"] = "given by the user, not taken from the data"


class MethodUsed(Part):
    """How the points were made."""

    name: str
    parameters: dict[str, Any]
    split: dict[str, str]


class Question(Part):
    """One noisy answer that was paid for."""

    purpose: str
    question: Literal["count", "scatter"]
    theorem: str
    cells: int
    sensitivity: int
    epsilon: str
    sampler: str
    reads: Literal["private"] = "private"


class LedgerEntry(Part):
    """Where the charge stands in the owner's ledger."""

    entry: int
    chain_sha256: str
    spent_before: str
    spent_after: str


class OutputFile(Part):
    """One file of the release."""

    name: str
    sha256: str
    bytes: int


class Output(Part):
    """What was written."""

    rows: int
    columns: tuple[str, ...]
    x: str | None
    y: str | None
    crs: str
    points_sha256: str
    files: tuple[OutputFile, ...] = ()


class Statement(Part):
    """Everything a reviewer needs to know about one release; nothing in it tells about a person."""

    schema_name: str = Field(default=SCHEMA, alias="schema")
    release: str
    made: str
    software: dict[str, str]
    rehearsal: str | None
    guarantee: Guarantee
    domain: Domain
    method: MethodUsed | None
    questions: tuple[Question, ...]
    post_processing: tuple[str, ...]
    unprotected: tuple[str, ...] = ()
    randomness: dict[str, str]
    numerics: str = "integers and exact fractions in every step that reads private points"
    ledger: LedgerEntry | None
    not_promised: tuple[str, ...]
    in_plain_words: str
    output: Output | None = None

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def to_json(self) -> str:
        """Return the canonical text, with its own digest as the last field."""
        content = self.model_dump(mode="json", by_alias=True)
        content["digest"] = _digest(content)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def with_output(self, output: Output) -> "Statement":
        """Return the same statement about a release that has been written."""
        return self.model_copy(update={"output": output})

    def __str__(self) -> str:
        lines = [
            self.in_plain_words,
            *(f"  {question.epsilon:>12}  {question.purpose} ({question.question})" for question in self.questions),
            f"  {self.guarantee.epsilon:>12}  in all",
        ]
        if self.rehearsal:
            lines.insert(0, f"*** {self.rehearsal.upper()} ***")
        return "\n".join(lines)


def parse_statement(text: str) -> Statement:
    """Return the statement in `text`; raises ValueError if even one character is not as it was written."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise TypeError("not an object")
    claimed = content.pop("digest", None)
    if claimed != _digest(content):
        raise ValueError("its digest does not fit its content")
    statement = Statement.model_validate(content)
    if statement.to_json() != text:
        raise ValueError("it is not in its canonical form")
    return statement


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def today() -> str:
    """Return the day, and no more: the time of a release is nobody's business."""
    return datetime.now(tz=UTC).date().isoformat()


def software() -> dict[str, str]:
    """Return what made the release."""
    return {"name": "pointveil", "version": __version__}


def plain_words(epsilon: float, unit: str) -> str:
    """Return what epsilon means for one unit, in a sentence."""
    odds = math.exp(epsilon)
    factor = f"{odds:.3g}" if odds < 1000 else f"{odds:.1e}"
    return (
        f"Whether {unit} is in the data or not changes the odds of anything that can be concluded "
        f"from this release by a factor of at most {factor} (epsilon = {epsilon:g})."
    )
