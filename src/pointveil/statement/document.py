"""What is promised about a release, as a document that can be read, shown and checked."""

import hashlib
import json
import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from pointveil.errors import VerificationError
from pointveil.statement.signing import SigningKey, check_signature
from pointveil.version import __version__

FIRST_SCHEMA: Final = "pointveil-statement-1"
SCHEMA: Final = "pointveil-statement-2"
ONE_POINT = "one point"
REHEARSAL = "rehearsal: not private"
NOT_PROMISED = (
    "Timing, memory and other side channels of the machine that held the data.",
    "Malice in the same process, or an operator who publishes something else about the same people.",
    "Facts about places: a release may show that a street is busy, and so where people like someone tend to be.",
    "Correlated records: what one person's points say about another's (a family, a convoy) is not hidden.",
)
NOT_CHARGED = (
    "A sum below a cap: nothing was charged to a ledger for this release, so nobody keeps account of what other "
    "releases of the same data cost."
)


class Part(BaseModel):
    """A part of the statement: no unknown fields, no change after it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Guarantee(Part):
    """The promise itself."""

    definition: Literal["pure differential privacy", "none: a rehearsal"] = "pure differential privacy"
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
    """What was written; the hash of the points is over whole lattice steps, `steps_per_unit` to a unit of the CRS."""

    rows: int
    columns: tuple[str, ...]
    x: str | None
    y: str | None
    crs: str
    steps_per_unit: Annotated[int, Field(ge=1, le=10**9)] | None = None
    points_sha256: str
    files: tuple[OutputFile, ...] = ()


class Signature(Part):
    """Who signed the statement."""

    algorithm: Literal["Ed25519"] = "Ed25519"
    public_key: str
    value: str


class Statement(Part):
    """Everything a reviewer needs to know about one release; nothing in it tells about a person.

    Attributes
    ----------
    guarantee, questions
        Epsilon, as an exact text such as "1/3", with the protected unit; and what each answer cost of it.
    domain
        The public world: CRS, bounds in its units, and a SHA-256.
    method, output
        How the points were made, and what was written; None before that.
    in_plain_words, not_promised
        The promise in one sentence, and its limits.
    rehearsal
        Set when the noise could be repeated, so that nothing is private.

    Examples
    --------
    >>> vault = pv.Vault.open("people.parquet", pv.World.read("helsinki.gpkg"), epsilon=1)
    >>> pv.survey(vault, "ugrid-uni").statement
    <Statement: epsilon 1, protects one point; ugrid-uni, 2 questions>
    """

    schema_name: Literal["pointveil-statement-1", "pointveil-statement-2"] = Field(default=SCHEMA, alias="schema")
    release: str
    made: str
    software: dict[str, str]
    rehearsal: str | None
    guarantee: Guarantee
    domain: Domain
    method: MethodUsed | None
    edition: dict[str, str] | None = None
    questions: tuple[Question, ...]
    post_processing: tuple[str, ...]
    unprotected: tuple[str, ...] = ()
    randomness: dict[str, str]
    numerics: str = (
        "each record is placed by itself, on a lattice; counts, noise and weights are integers and exact fractions"
    )
    ledger: LedgerEntry | None
    not_promised: tuple[str, ...]
    in_plain_words: str
    output: Output | None = None
    signature: Signature | None = None

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def to_json(self) -> str:
        """Return the canonical text, with its own digest as the last field."""
        content = self._content()
        content["digest"] = _digest(content)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def with_output(self, output: Output) -> "Statement":
        """Return the same statement, not signed yet, about a release that has been written."""
        return self.model_copy(update={"output": output, "signature": None})

    def signed(self, key: SigningKey | None) -> "Statement":
        """Return the same statement with a signature; without a key, as it is."""
        if key is None:
            return self
        value = key.sign(self._signed_text())
        return self.model_copy(update={"signature": Signature(public_key=key.public, value=value)})

    def check_signature(self, public_key: str | None = None) -> None:
        """Raise VerificationError unless the statement was signed: by this key, or by the one it names itself."""
        if self.signature is None:
            raise VerificationError("The statement is not signed.")
        if public_key is not None and self.signature.public_key != public_key:
            raise VerificationError(f"The statement was signed by another key: {self.signature.public_key}.")
        check_signature(self.signature.public_key, self.signature.value, self._signed_text())

    def _content(self) -> dict[str, Any]:
        """Return the fields of this schema; a statement that is not signed has none for a signature."""
        content = self.model_dump(mode="json", by_alias=True)
        if self.signature is None:
            del content["signature"]
        if self.schema_name == FIRST_SCHEMA:
            del content["edition"]
            (content["output"] or {}).pop("steps_per_unit", None)
        return content

    def _signed_text(self) -> bytes:
        content = self._content()
        content.pop("signature", None)
        return _canonical(content)

    @property
    def in_short(self) -> str:
        """Epsilon and the protected unit, for one line of text."""
        return f"epsilon {self.guarantee.epsilon}, {self.rehearsal or f'protects {self.guarantee.unit}'}"

    def __repr__(self) -> str:
        used = "no method yet" if self.method is None else self.method.name
        return f"<Statement: {self.in_short}; {used}, {len(self.questions)} questions>"

    def __str__(self) -> str:
        lines = [
            self.in_plain_words,
            *(f"  {question.epsilon:>12}  {question.purpose} ({question.question})" for question in self.questions),
            f"  {self.guarantee.epsilon:>12}  in all",
        ]
        if self.rehearsal:
            lines.insert(0, f"*** {self.rehearsal.upper()} ***")
        elif self.ledger is None:
            lines.append("Nothing was charged to a ledger.")
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
    return hashlib.sha256(_canonical(content)).hexdigest()


def _canonical(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def statement_schema() -> dict[str, Any]:
    """Return the JSON Schema of a statement as it stands in a file."""
    schema = Statement.model_json_schema(by_alias=True, mode="serialization")
    schema["description"] = schema["description"].splitlines()[0]  # the rest is for users of Python
    schema["properties"]["schema"] = {"const": SCHEMA, "type": "string"}
    schema["properties"]["signature"] = {"$ref": "#/$defs/Signature"}
    schema["properties"]["digest"] = {
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "SHA-256 of all other fields, as JSON with sorted keys and no spaces.",
    }
    schema["required"] = [name for name in schema["properties"] if name != "signature"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Pointveil statement"}


def today() -> str:
    """Return the day, and no more: the time of a release is nobody's business."""
    return datetime.now(tz=UTC).date().isoformat()


def software() -> dict[str, str]:
    """Return what made the release."""
    return {"name": "pointveil", "version": __version__}


def explain(statement: Statement) -> str:
    """Return what the promise means for one person, in several sentences for people who never heard of epsilon."""
    epsilon = float(Fraction(statement.guarantee.epsilon))
    unit = statement.guarantee.unit
    what = "point" if unit == ONE_POINT else "person"
    lines = [
        statement.in_plain_words,
        "",
        f"Protected is: {unit}.",
        f"Suppose somebody suspects that a certain {what} is in the data, and thinks the chances are",
        *(
            f"  {before:>4.0%}: however long they study this release, at most {raised(before, epsilon):.1%}, "
            f"and at least {raised(before, -epsilon):.1%}."
            for before in (0.01, 0.1, 0.5)
        ),
        "This holds whatever else they know, now or later, and however they compute.",
    ]
    if statement.guarantee.unit == ONE_POINT:
        lines.append(
            "It holds for each point by itself. Somebody with ten points in the data is protected less: "
            f"then 50% may become {raised(0.5, 10 * epsilon):.1%}. A release made with a person column protects people."
        )
    lines += ["", "Not promised:", *(f"  - {limit}" for limit in statement.not_promised)]
    if statement.rehearsal:
        lines.insert(0, f"*** {statement.rehearsal.upper()}: nothing of this holds ***")
    return "\n".join(lines)


def raised(chance: float, epsilon: float) -> float:
    """Return what a chance may become when its odds change by a factor of e^epsilon."""
    odds = chance / (1 - chance) * math.exp(min(epsilon, 500.0))
    return odds / (1 + odds)


def plain_words(epsilon: float, unit: str) -> str:
    """Return what epsilon means for one unit, in a sentence."""
    odds = math.exp(epsilon)
    factor = f"{odds:.3g}" if odds < 1000 else f"{odds:.1e}"
    return (
        f"Whether {unit} is in the data or not changes the odds of anything that can be concluded "
        f"from this release by a factor of at most {factor} (epsilon = {epsilon:g})."
    )
